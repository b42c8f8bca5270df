import type { Deps } from '../../deps.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { mailUses } from '../rate-limits/limits.ts'

interface Recipient {
  userId: string
  email: string
  firstName: string
  tenantId: string
  requestInfo: RequestInfo
  at: number
}

/** Makes a verification token and mails its link, in the caller's transaction, whose scope must be the person. */
export async function mailVerificationLink(deps: Deps, tx: Tx, recipient: Recipient): Promise<void> {
  const { userId, email, firstName, tenantId, requestInfo, at } = recipient
  const lifeMs = deps.config.EMAIL_VERIFICATION_VALIDITY_SECONDS * 1000
  const purpose = 'email_verification'
  const link = await makeLink(tx, deps, { purpose, userId, tenantId, email, at, lifeMs })
  await sendMail(tx, deps.sealer, {
    tenantId,
    to: email,
    template: 'email_verification',
    variables: { link, firstName },
    requestId: requestInfo.requestId,
    at,
  })
}

/** Mails the caller another link, unless their address is verified already; the answer and what it counts are the same. */
export async function sendVerification(
  deps: Deps,
  caller: Caller,
): Promise<{ message: 'Verification email sent' }> {
  const { userId, tenantId, requestInfo } = caller
  const { email, firstName, emailVerified } = caller.auth.user
  await deps.limiters.take(mailUses('verification', email))
  if (!emailVerified)
    await inTenant(deps.db, caller, (tx) =>
      mailVerificationLink(deps, tx, { userId, email, firstName, tenantId, requestInfo, at: deps.clock() }),
    )
  return { message: 'Verification email sent' }
}
