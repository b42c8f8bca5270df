import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { closePage, type ListContext, type listQuery, openPage } from '../../platform/http/lists.ts'
import { rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { countSessionsOf, type ListedSession, listSessionsOf } from './store.ts'

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

const showSession = (row: ListedSession, current: string) => ({
  ...row,
  created_at: rfc3339(row.created_at),
  last_used_at: rfc3339(row.last_used_at),
  expires_at: rfc3339(row.expires_at),
  current: row.id === current,
})

/** A page of the caller's sessions that are not over, oldest first. */
export async function listSessions(deps: Deps, actor: Actor, query: z.output<typeof listQuery>) {
  const { userId, tenantId, sessionId } = actor
  const list: ListContext = {
    sealer: deps.sealer,
    publicUrl: deps.publicUrl(),
    path: '/api/v1/auth/sessions',
    tenantId,
    query,
  }
  const page = openPage(list)
  const now = deps.clock()
  const [rows, count] = await inTenant(deps.db, actor, async (tx) => [
    await listSessionsOf(tx, userId, now, page),
    await countSessionsOf(tx, userId, now),
  ])
  const keyOf = (row: ListedSession) => ({ at: row.created_at, id: row.id })
  return closePage(list, page, rows, count, keyOf, (row) => showSession(row, sessionId))
}
