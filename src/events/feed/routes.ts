import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { listQuery } from '../../lists/list.ts'
import { uncountedPageOf } from '../../lists/lists.ts'
import { type Route, route } from '../../request/route.ts'
import { cloudEvent } from '../envelope-schema.ts'
import { loadFeed, showFeed } from './read-feed.ts'

const badAfter = 'after must be a whole number from 0: the sequence of the last event you have seen.'

const feedQuery = z.object({
  after: z
    .string()
    .regex(/^\d{1,16}$/, badAfter)
    .transform(Number)
    .refine(Number.isSafeInteger, badAfter)
    .optional()
    .meta({
      description: 'Events with a sequence above this; without it, from the oldest that is kept',
      override: { type: 'integer', pattern: undefined, minimum: 0 },
    }),
  newest: z
    .enum(['true', 'false'], 'newest must be true or false.')
    .transform((text) => text === 'true')
    .optional()
    .meta({
      description: 'true: begins with the newest page. `after` goes before it',
      override: { type: 'boolean', enum: undefined },
    }),
  page_size: listQuery.shape.page_size,
})

export const feedRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/events',
    action: 'event:list',
    fromReplica: true,
    tag: 'Events',
    summary: 'Read the events of your tenant in order',
    description:
      'Follow `next` until it is null (or begin with `newest=true` if older events do not matter), keep the sequence of the last event, and send it as `after` in your next request. Events are kept for `EVENT_RETENTION_DAYS` (90). If events after your `after` were deleted, the answer is 410 `gone`, with the lowest valid `after` in `oldest`.',
    query: feedQuery,
    status: 200,
    answer: uncountedPageOf(cloudEvent),
    refusals: [410],
    load: (read, { caller, query }) => loadFeed(read, caller.tenantId, query),
    handle: ({ query }, loaded) => showFeed(deps, query, loaded),
  }),
]
