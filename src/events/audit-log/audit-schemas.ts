import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { AuditLogRow } from './store.ts'

export const auditEntry = z
  .object({
    id: z.uuid(),
    at: timestamp,
    actor: z.object({
      id: z.uuid().nullable(),
      email: z.string().nullable(),
      type: z.enum(['user', 'service_account', 'system']),
    }),
    impersonator: z
      .object({ id: z.uuid(), email: z.string().nullable() })
      .nullable()
      .meta({ description: 'Who acted as the actor' }),
    action: z.string(),
    target: z.object({ type: z.string(), id: z.uuid() }),
    ip: z.string(),
    user_agent: z.string(),
    request_id: z.string(),
    decision_id: z.uuid().nullable(),
    changes: z.record(z.string(), z.object({ before: z.unknown(), after: z.unknown() })),
  })
  .meta({ id: 'AuditEntry' })

export const showEntry = (row: AuditLogRow) => ({
  id: row.id,
  at: rfc3339(row.at),
  actor: { id: row.actor_id, email: row.actor_email, type: row.actor_type },
  impersonator:
    row.impersonator_id === null ? null : { id: row.impersonator_id, email: row.impersonator_email },
  action: row.action,
  target: { type: row.target_type, id: row.target_id },
  ip: row.ip,
  user_agent: row.user_agent,
  request_id: row.request_id,
  decision_id: row.decision_id,
  changes: row.changes,
})
