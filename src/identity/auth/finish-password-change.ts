import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { accountLinks, endTokensOf } from '../../platform/links/link-store.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { endSessions } from '../sessions/end-session.ts'

interface PasswordChange {
  userId: string
  email: string
  firstName: string
  /** The tenant that gets the events and the mail. */
  tenantId: string
  /** The session that does not end. */
  keepSession: string | null
  /** The account has no password now. */
  cleared?: boolean
  /** An operator set the password, so the events have no actor. */
  bySystem?: boolean
  requestInfo: RequestInfo
  at: number
}

/**
 * Ends the other sessions and the links that open the account, appends the events and mails the owner, in the transaction that
 * sets the password. As the system role.
 */
export async function finishPasswordChange(
  deps: Pick<Deps, 'sealer'>,
  tx: Tx,
  changed: PasswordChange,
): Promise<void> {
  const { userId, email, firstName, tenantId, keepSession, bySystem, cleared, requestInfo, at } = changed
  const { requestId } = requestInfo
  const actorId = bySystem ? null : userId
  await endTokensOf(tx, { userId, purposes: accountLinks, at })
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
  const template = cleared ? 'password_cleared' : 'password_changed'
  await sendMail(tx, deps.sealer, { tenantId, to: email, template, variables: { firstName }, requestId, at })
}
