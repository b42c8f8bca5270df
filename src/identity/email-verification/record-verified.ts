import { appendAudit } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'

interface Verified {
  userId: string
  email: string
  /** Where the flow began that proved it. */
  tenantId: string
  /** An operator vouches for it: the deed is the service's own. */
  bySystem?: boolean
  requestInfo: RequestInfo
  decisionId?: string
  at: number
}

/** Tells that an address was verified just now, by event and audit log, in the transaction that did it. */
export async function recordVerified(
  tx: Tx,
  { userId, email, bySystem, ...verified }: Verified,
): Promise<void> {
  const { tenantId, requestInfo, at } = verified
  await appendEvent(tx, {
    type: 'identity.email_verified',
    tenantId,
    subject: userId,
    data: { user_id: userId, email },
    actorId: bySystem ? null : userId,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    ...verified,
    actor: bySystem ? null : { id: userId, email },
    action: 'email_verification:confirm',
    target: { type: 'user', id: userId },
    changes: { email_verified: { before: false, after: true } },
  })
}
