import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { listing, pageAndCount } from '../../lists/lists.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { Caller } from '../../request/caller.ts'
import { countSessionsOf, type ListedSession, listSessionsOf, sessionList } from './store.ts'

/** A session as its person sees it. */
export const sessionSchema = z
  .object({
    id: z.uuid().meta({ description: 'Claim `sid` of its tokens' }),
    kind: z.enum(['token', 'browser', 'grant']).meta({
      description:
        'Whether its client has the tokens, a browser a cookie of the service, or an application acts while the person is away',
    }),
    user_agent: z.string(),
    ip: z.string(),
    created_at: timestamp,
    last_used_at: timestamp,
    expires_at: timestamp,
    current: z.boolean().meta({ description: 'The session that asks' }),
    tenant_id: z.uuid().meta({ description: 'The tenant in which it began' }),
    acr: z.enum(['aal1', 'aal2']).meta({
      description: 'For the session that asks, as its tokens are now; for others, as they signed in',
    }),
    amr: z.array(z.string()),
  })
  .meta({ id: 'Session' })

export const toJsonSession = (row: ListedSession, current: string) => ({
  ...row,
  created_at: rfc3339(row.created_at),
  last_used_at: rfc3339(row.last_used_at),
  expires_at: rfc3339(row.expires_at),
  current: row.id === current,
})

function showSession(row: ListedSession, { sessionId, auth: { session } }: Caller) {
  const shown = toJsonSession(row, sessionId)
  return shown.current ? { ...shown, acr: session.acr, amr: session.amr } : shown
}

/** A page of the caller's live sessions, oldest first. */
export const sessions = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/auth/sessions',
    list: sessionList,
    rows(read, { caller }, page) {
      const now = deps.clock()
      return pageAndCount(listSessionsOf(read, caller, now, page), countSessionsOf(read, caller, now, page))
    },
    show: showSession,
  })
