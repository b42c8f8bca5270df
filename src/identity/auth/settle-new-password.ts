import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { endTokens } from '../../platform/links/link-store.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { endSessions } from '../sessions/end-session.ts'

/** Whose password is another now, and where the event belongs. */
export interface NewPassword {
  userId: string
  email: string
  firstName: string
  tenantId: string
  /** The session that lives on. */
  keepSession: string | null
  /** An operator set it: the deed is the service's own. */
  bySystem?: boolean
  requestInfo: RequestInfo
  at: number
}

/**
 * What follows from a new password, in the transaction that sets it: other sessions and open reset tokens end, the
 * owner is told by mail, events. As the system role.
 */
export async function settleNewPassword(
  deps: Pick<Deps, 'sealer'>,
  tx: Tx,
  changed: NewPassword,
): Promise<void> {
  const { userId, email, firstName, tenantId, keepSession, bySystem, requestInfo, at } = changed
  const { requestId } = requestInfo
  const actorId = bySystem ? null : userId
  await endTokens(tx, { purpose: 'password_reset', userId, targetId: null, at })
  await endSessions(tx, {
    userId,
    exceptId: keepSession,
    reason: 'password',
    tenantId,
    actorId,
    requestId,
    at,
  })
  await appendEvent(tx, {
    type: 'identity.password_changed',
    tenantId,
    subject: userId,
    data: { user_id: userId },
    actorId,
    requestId,
    at,
  })
  const template = 'password_changed'
  await sendMail(tx, deps.sealer, { tenantId, to: email, template, variables: { firstName }, requestId, at })
}
