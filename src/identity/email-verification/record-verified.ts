import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditedActor, appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'

interface Verified {
  userId: string
  email: string
  /** The tenant in which the verification began. */
  tenantId: string
  /** An operator vouches for the address, so the event has no actor; or `voucher` does. */
  bySystem?: boolean
  voucher?: AuditedActor | undefined
  requestInfo: RequestInfo
  decisionId?: string
  at: number
}

/** Appends the event and the audit row of a verified address, in the transaction that verified it. */
export async function recordVerified(
  tx: Tx,
  { userId, email, bySystem, voucher, ...verified }: Verified,
): Promise<void> {
  const { tenantId, requestInfo, at } = verified
  const actor = bySystem ? (voucher ?? null) : { id: userId, email }
  await appendEvent(tx, {
    type: 'identity.email_verified',
    tenantId,
    subject: userId,
    data: { user_id: userId, email },
    actorId: actor?.id ?? null,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    ...verified,
    actor,
    action: 'email_verification:confirm',
    target: { type: 'user', id: userId },
    changes: { email_verified: { before: false, after: true } },
  })
}
