import type { Deps } from '../../deps.ts'
import { listing, uncounted, uncountedPageOf } from '../../lists/lists.ts'
import { type Route, route } from '../../request/route.ts'
import { auditEntry, showEntry } from './audit-schemas.ts'
import { auditList, listAuditLog } from './store.ts'

const auditLog = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/audit-log',
    list: auditList,
    rows: (read, { caller: { tenantId } }, page) => uncounted(listAuditLog(read, tenantId, page)),
    show: showEntry,
  })

export const auditLogRoutes = (deps: Deps): Route[] => [
  route({
    method: 'GET',
    action: 'audit:list',
    fromReplica: true,
    tag: 'Audit log',
    summary: 'Read who did what in your tenant, newest first',
    status: 200,
    answer: uncountedPageOf(auditEntry),
    ...auditLog(deps),
  }),
]
