import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { byId, byText, defineList, type ListPage } from '../../lists/list.ts'

const auditRow = z.object({
  id: z.uuid(),
  at: z.number(),
  actor_type: z.enum(['user', 'service_account', 'system']),
  actor_id: z.uuid().nullable(),
  actor_email: z.string().nullable(),
  impersonator_id: z.uuid().nullable(),
  impersonator_email: z.string().nullable(),
  action: z.string(),
  target_type: z.string(),
  target_id: z.uuid(),
  ip: z.string(),
  user_agent: z.string(),
  request_id: z.string(),
  decision_id: z.uuid().nullable(),
  changes: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
})

export type AuditLogRow = z.infer<typeof auditRow>

const columns = sql.fragment`
  a.id, a.at, a.actor_type, a.actor_id, a.actor_email, a.impersonator_id, a.impersonator_email, a.action, a.target_type, a.target_id, a.ip, a.user_agent,
  a.request_id, a.decision_id, a.changes`

const actionName = z
  .string()
  .regex(/^[a-z][a-z0-9_.-]{0,62}:[a-z][a-z0-9_.-]{0,62}$/, 'An action has the form resource:verb.')

/** The audit log of a tenant, newest first. */
export const auditList = defineList({
  id: { column: sql.fragment`a.id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`a.at`, field: 'at', reveals: ['at'] } },
  filters: {
    action: byText(sql.fragment`a.action`, actionName),
    actor_id: byId(sql.fragment`a.actor_id`, 'actor.id'),
    impersonator_id: byId(sql.fragment`a.impersonator_id`, 'impersonator.id'),
    target_id: byId(sql.fragment`a.target_id`, 'target.id'),
  },
  newestFirst: true,
})

/** A page of the tenant's audit log. */
export function listAuditLog(tx: Read, tenantId: string, page: ListPage): Promise<readonly AuditLogRow[]> {
  return tx.any(sql.type(auditRow)`
    select ${columns} from audit_log a where a.tenant_id = ${tenantId} ${page.tail}`)
}

/** One row of the tenant's audit log, or null. */
export function findAuditEntry(tx: Read, tenantId: string, id: string): Promise<AuditLogRow | null> {
  return tx.maybeOne(sql.type(auditRow)`
    select ${columns} from audit_log a where a.tenant_id = ${tenantId} and a.id = ${id}`)
}
