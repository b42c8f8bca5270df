import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage, uncountedPageOf } from '../../platform/http/lists.ts'
import { type Route, route } from '../../platform/http/route.ts'
import { auditEntry, showEntry } from './audit-schemas.ts'
import { auditList, listAuditLog } from './store.ts'

function pageOfAuditLog(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({ rows: await listAuditLog(tx, tenantId, page) }))
  return answerPage(deps, caller, auditList, { path: '/api/v1/audit-log', query }, load, showEntry)
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
