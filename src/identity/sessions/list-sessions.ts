import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { countSessionsOf, type ListedSession, listSessionsOf, sessionList } from './store.ts'

/** A session as its person sees it. */
export const sessionSchema = z
  .object({
    id: z.uuid().meta({ description: 'Claim `sid` of its tokens' }),
    user_agent: z.string(),
    ip: z.string(),
    created_at: timestamp,
    last_used_at: timestamp,
    expires_at: timestamp,
    current: z.boolean().meta({ description: 'The session that asks' }),
    tenant_id: z.uuid().meta({ description: 'The tenant in which it began' }),
    acr: z.enum(['aal1', 'aal2']),
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

/** A page of the caller's live sessions, oldest first. */
export function listSessions(deps: Deps, caller: Caller, query: ListQuery) {
  const { userId, sessionId } = caller
  const now = deps.clock()
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listSessionsOf(tx, userId, now, page),
      count: await countSessionsOf(tx, userId, now, page),
    }))
  const listed = { path: '/api/v1/auth/sessions', query }
  return answerPage(deps, caller, sessionList, listed, load, (row) => toJsonSession(row, sessionId))
}
