import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { cloudEvent } from '../../events/envelope-schema.ts'
import { listQuery } from '../../lists/list.ts'
import { type Route, route } from '../../request/route.ts'
import { applicationAuthenticator } from '../tokens/application-token.ts'
import { type FeedCursor, parseCursor, readAllEvents } from './read-all-events.ts'

const after = z
  .string()
  .transform((text, context): FeedCursor => {
    const cursor = parseCursor(text)
    if (cursor) return cursor
    context.addIssue({ code: 'custom', message: 'after must be the `after` of an earlier answer.' })
    return z.NEVER
  })
  .optional()
  .meta({
    description: 'The `after` of your last answer; without it, from the oldest event that is kept',
    override: { type: 'string' },
  })

const page = z
  .object({
    results: z.array(cloudEvent),
    after: z.string().meta({
      description: 'Store it with the effect of these events, and send it in your next request',
      example: '1042.17.1763717400000',
    }),
    has_more: z.boolean().meta({ description: 'Whether to read on at once' }),
  })
  .meta({ id: 'AllEventsPage' })

export function applicationFeedRoutes(deps: Deps): Route[] {
  const authenticate = applicationAuthenticator(deps)
  return [
    route({
      access: 'public',
      method: 'GET',
      path: '/api/v1/application/events',
      applicationToken: true,
      tag: 'Events',
      summary: 'Read the events of all tenants, as an application',
      description:
        'Needs the token of an application (`npm run cli -- app:token`), and answers the events that it reads: a page can have none although `has_more` is true. Events of one tenant are in the order of their sequence. If `after` is older than `EVENT_RETENTION_DAYS`, the answer is 410 `gone`.',
      query: z.object({ after, page_size: listQuery.shape.page_size }),
      status: 200,
      answer: page,
      refusals: [401, 410, 429],
      handle: async ({ bearer, query, requestInfo }) => {
        const token = await authenticate(bearer(), requestInfo.ip)
        // In turn with other requests of this token, as those of one tenant are.
        return deps.semaphores.perTenant(`application ${token.id}`, () =>
          readAllEvents(deps, token, query.after ?? null, query.page_size),
        )
      },
    }),
  ]
}
