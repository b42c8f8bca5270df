import { appendAudit, changesBetween } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'

interface Registered {
  person: { id: string; email: string; firstName: string; lastName: string }
  tenantId: string
  /** An operator created the person. */
  bySystem: boolean
  requestInfo: RequestInfo
  at: number
}

/** Appends the event `identity.user_created` and the audit row of a new person, in the transaction that inserts them. */
export async function recordRegistered(
  tx: Tx,
  { person, tenantId, bySystem, requestInfo, at }: Registered,
): Promise<void> {
  const { id, email, firstName, lastName } = person
  await appendEvent(tx, {
    type: 'identity.user_created',
    tenantId,
    subject: id,
    data: { user_id: id, email },
    actorId: bySystem ? null : id,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: bySystem ? null : person,
    requestInfo,
    action: 'user:register',
    target: { type: 'user', id },
    changes: changesBetween(null, { email, first_name: firstName, last_name: lastName }),
    at,
  })
}
