import { readInTenant } from '../../database/executor/read.ts'
import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { greeted } from '../../messages/mail/free-text.ts'
import { sendMail } from '../../messages/mail/send-mail.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { mailUses } from '../rate-limits/limits.ts'
import { findMailbox } from '../users/address-store.ts'
import { assertChannelOn, beganByMail, mailboxShownAlready } from './channels.ts'
import { insertEmailCode, putEmailDevice } from './code-store.ts'
import { emailCodeHashes, makeEmailCode } from './codes.ts'

/**
 * Mails the caller a code of 6 digits that is valid for this sign-in only, even to an unverified address. For a day after
 * a change of address the code goes to the proven address before it. Earlier unexpired codes stay valid. Only the mail
 * contains the code. 403 `channel_disabled`, 429 `throttled`.
 */
export async function sendEmailCode({ db, config, sealer, clock, limiters }: Deps, caller: Caller) {
  assertChannelOn(config, 'email')
  if (beganByMail(caller.auth.session.amr)) throw mailboxShownAlready()
  const { userId, tenantId, sessionId: signInId, requestInfo, auth } = caller
  const { address: email, proven } = await readInTenant(db, caller, (read) =>
    findMailbox(read, userId, clock()),
  )
  await limiters.take(mailUses('code', email))
  const validity = config.OTP_EMAIL_TOKEN_VALIDITY_SECONDS
  const at = clock()
  const code = makeEmailCode()
  const firstName = greeted({ firstName: auth.user.firstName, emailVerified: proven })
  const hash = emailCodeHashes(sealer, { userId, email }, code)[0]!
  await inTenant(db, caller, async (tx) => {
    const deviceId = await putEmailDevice(tx, { userId, id: timeOrderedId(at), at })
    const expiresAt = at + validity * 1000
    await insertEmailCode(tx, { userId, id: timeOrderedId(at), deviceId, signInId, hash, at, expiresAt })
    await sendMail(tx, sealer, {
      tenantId,
      to: email,
      template: 'second_factor_code',
      variables: { code, firstName, minutes: Math.max(1, Math.floor(validity / 60)) },
      requestInfo,
      at,
    })
  })
  return { message: 'OTP code sent' as const, expires_in: validity }
}
