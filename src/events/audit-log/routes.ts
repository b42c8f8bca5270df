import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage, uncountedPageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { timestamp } from '../../platform/http/schemas.ts'
import { showEntry } from './show-entry.ts'
import { auditList, listAuditLog } from './store.ts'

const auditEntry = z
  .object({
    id: z.uuid(),
    at: timestamp,
    actor: z.object({
      id: z.uuid().nullable(),
      email: z.string().nullable(),
      type: z.enum(['user', 'system']),
    }),
    action: z.string(),
    target: z.object({ type: z.string(), id: z.uuid() }),
    ip: z.string(),
    user_agent: z.string(),
    request_id: z.string(),
    decision_id: z.uuid().nullable(),
    changes: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
  })
  .meta({ id: 'AuditEntry' })

function pageOfAuditLog(deps: Deps, actor: Caller, query: ListQuery) {
  const { tenantId } = actor
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => ({ rows: await listAuditLog(tx, tenantId, page) }))
  return answerPage(deps, actor, auditList, { path: '/api/v1/audit-log', query }, load, showEntry)
}

export const auditLogRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    path: '/api/v1/audit-log',
    action: 'audit:list',
    tag: 'Audit log',
    summary: 'Read who did what in your tenant, newest first',
    query: auditList.query,
    status: 200,
    answer: uncountedPageOf(auditEntry),
    handle: ({ caller, query }) => pageOfAuditLog(deps, caller, query),
  }),
]
