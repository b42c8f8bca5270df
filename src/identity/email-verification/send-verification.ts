import { inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { linkUrl } from '../../messages/links/mailed-links.ts'
import { makeLinkToken } from '../../messages/links/one-time-link.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import type { Caller } from '../../request/caller.ts'
import { mailUses } from '../rate-limits/limits.ts'
import { type AddressOrigin, findAddressOrigin } from '../users/address-store.ts'

interface Recipient {
  userId: string
  email: string
  origin: AddressOrigin
  tenantId: string
  requestInfo: RequestInfo
  at: number
}

/**
 * Makes a verification token and mails the links that confirm and reject the address, in a transaction that has the
 * person as its scope. The mail repeats no text from the registration, because its reader might be a stranger.
 */
export async function mailVerificationLink(deps: Deps, tx: Tx, recipient: Recipient): Promise<void> {
  const { userId, email, origin, tenantId, requestInfo, at } = recipient
  const lifeMs = deps.config.EMAIL_VERIFICATION_VALIDITY_SECONDS * 1000
  const purpose = 'email_verification'
  const token = await makeLinkToken(tx, { purpose, userId, tenantId, email, at, lifeMs })
  const query = { [origin.how]: String(origin.at) }
  await sendMail(tx, deps.sealer, {
    tenantId,
    to: email,
    template: 'email_verification',
    variables: {
      link: linkUrl(deps, purpose, token, query),
      reject: linkUrl(deps, 'email_rejection', token, query),
      origin,
      minutes: Math.max(1, Math.floor(lifeMs / 60_000)),
    },
    requestInfo,
    at,
  })
}

/** Mails the caller another link, unless their address is verified. Both cases have the same answer and use up limits. */
export async function sendVerification(
  deps: Deps,
  caller: Caller,
): Promise<{ message: 'Verification email sent' }> {
  const { userId, tenantId, requestInfo } = caller
  const { email, emailVerified } = caller.auth.user
  await deps.limiters.take(mailUses('verification', email))
  if (!emailVerified)
    await inTenant(deps.db, caller, async (tx) => {
      const origin = await findAddressOrigin(tx, userId)
      await mailVerificationLink(deps, tx, { userId, email, origin, tenantId, requestInfo, at: deps.clock() })
    })
  return { message: 'Verification email sent' }
}
