import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditedActor, appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'

interface Registered {
  person: { id: string; email: string; firstName: string; lastName: string }
  tenantId: string
  /** An operator created the person, or `voucher` did. */
  bySystem: boolean
  voucher?: AuditedActor
  requestInfo: RequestInfo
  at: number
}

/** Appends the event `identity.user_created` and the audit row of a new person, in the transaction that inserts them. */
export async function recordRegistered(
  tx: Tx,
  { person, tenantId, bySystem, voucher, requestInfo, at }: Registered,
): Promise<void> {
  const { id, email, firstName, lastName } = person
  const actor = bySystem ? (voucher ?? null) : person
  await appendEvent(tx, {
    type: 'identity.user_created',
    tenantId,
    subject: id,
    data: { user_id: id, email },
    actorId: actor?.id ?? null,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor,
    requestInfo,
    action: 'user:register',
    target: { type: 'user', id },
    changes: changesBetween(null, { email, first_name: firstName, last_name: lastName }),
    at,
  })
}
