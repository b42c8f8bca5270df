import { rfc3339 } from '../../platform/http/schemas.ts'
import type { AuditLogRow } from './store.ts'

/** A row of the audit log as callers read it. */
export const showEntry = (row: AuditLogRow) => ({
  id: row.id,
  at: rfc3339(row.at),
  actor: { id: row.actor_id, email: row.actor_email, type: row.actor_type },
  action: row.action,
  target: { type: row.target_type, id: row.target_id },
  ip: row.ip,
  user_agent: row.user_agent,
  request_id: row.request_id,
  decision_id: row.decision_id,
  changes: row.changes,
})
