import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import type { Caller } from '../../request/caller.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { markProven } from '../users/address-store.ts'
import { acceptCode, compareCode, type ShownFactor } from './accept-code.ts'
import { admitCode } from './admit-attempt.ts'
import {
  beganByMail,
  type CodeType,
  channelDisabled,
  channelsOfForm,
  channelsOn,
  codeTypes,
  mailboxShownAlready,
  otpInvalid,
  readCode,
} from './channels.ts'
import { useFactor } from './use-factor.ts'

/**
 * Checks a code against the caller's devices, in the order TOTP, e-mail, recovery codes, and applies it as {@link
 * useFactor} says. 400 `otp_invalid`, 403 `channel_disabled`, 429 `account_locked`.
 */
export async function verifyCode(
  deps: Deps,
  caller: Caller,
  body: { code: string; deviceType: CodeType | undefined },
) {
  const { userId, sessionId: signInId, requestInfo } = caller
  const at = deps.clock()
  const code = readCode(body.code)
  const channels = channelsOfForm(code, channelsToTry(deps, caller, body.deviceType))
  if (channels.length === 0) throw otpInvalid('verified')
  const { devices, mailbox } = await admitCode(deps, { userId, requestInfo, at, field: 'verified' })
  const person = { userId, signInId, mailbox, at }
  const comparison = compareCode(deps, person, code, channels, devices)
  const verified = await useFactor(deps, caller, at, {
    accept: (tx) => acceptCode(tx, comparison),
    record: (tx, shown) => recordUse(tx, caller, shown, mailbox.address, at),
  })
  if (!verified) throw otpInvalid('verified')
  return verified
}

function channelsToTry({ config }: Deps, { auth }: Caller, named: CodeType | undefined): readonly CodeType[] {
  const on = channelsOn(config)
  const byMail = beganByMail(auth.session.amr)
  if (byMail && named === 'email') throw mailboxShownAlready()
  const channels = codeTypes.filter(
    (type) => on.includes(type) && (named ?? type) === type && !(byMail && type === 'email'),
  )
  if (channels.length === 0) throw channelDisabled()
  return channels
}

/** Records the use of a factor. A code from a mail also verifies the address, if it is still the person's. */
async function recordUse(
  tx: Tx,
  caller: Caller,
  shown: ShownFactor,
  email: string,
  at: number,
): Promise<void> {
  const { userId, tokenTenantId: tenantId, requestInfo, decisionId } = caller
  const entry = { ...doneBy(caller, at), action: 'otp:verify' } as const
  await appendAudit(tx, { ...entry, target: { type: 'otp_device', id: shown.deviceId } })
  if (shown.type === 'static')
    await appendEvent(tx, {
      type: 'identity.recovery_code_used',
      tenantId,
      subject: userId,
      data: { user_id: userId },
      actorId: userId,
      requestId: requestInfo.requestId,
      at,
    })
  if (shown.type === 'email' && (await markProven(tx, { id: userId, email, at })))
    await recordVerified(tx, { userId, email, tenantId, requestInfo, decisionId, at })
}
