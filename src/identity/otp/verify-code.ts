import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { applySecondFactor } from '../sessions/complete-sign-in.ts'
import { issueTokens } from '../sessions/issue-tokens.ts'
import { markEmailVerified } from '../users/store.ts'
import { acceptCode, compareCode, type ShownFactor } from './accept-code.ts'
import { admitAttempt } from './admit-attempt.ts'
import {
  channelDisabled,
  channelsOfForm,
  channelsOn,
  type DeviceType,
  otpInvalid,
  readCode,
} from './channels.ts'
import { forgiveAttempt } from './code-store.ts'
import { proveFactors } from './young-factors.ts'

/**
 * Checks a code against the caller's devices, in the order TOTP, e-mail, recovery codes, and raises the session to
 * `aal2`; with a temporary token completes the sign-in and returns its tokens. A right code of a factor that does not
 * count yet returns `counts_from` and leaves the session `aal1`; a temporary token then gets tokens only if no factor
 * that counts is demanded. 400 `otp_invalid`, 403 `channel_disabled`, 429 `account_locked`.
 */
export async function verifyCode(
  deps: Deps,
  caller: Caller,
  body: { code: string; deviceType: DeviceType | undefined },
) {
  const { userId, sessionId: signInId } = caller
  const at = deps.clock()
  const code = readCode(body.code)
  const channels = channelsOfForm(code, channelsToTry(deps, body.deviceType))
  if (channels.length === 0) throw otpInvalid('verified')
  const { devices, mailbox } = await admitAttempt(deps, { userId, at, field: 'verified' })
  const person = { userId, signInId, mailbox, at }
  const comparison = compareCode(deps, person, code, channels, devices)
  const outcome = await asSystem(deps.db, 'a right code may begin a session', async (tx) => {
    const accepted = await acceptCode(tx, comparison)
    if (!accepted) return null
    const shown = await proveFactors(tx, caller, accepted, at)
    await forgiveAttempt(tx, { userId, at })
    await recordUse(tx, caller, shown, mailbox.address, at)
    const counts = shown.countsFrom === null
    return { shown, grant: await applySecondFactor(deps, tx, caller, { type: shown.type, counts }, at) }
  })
  if (!outcome) throw otpInvalid('verified')
  const { shown, grant } = outcome
  const pair = grant && (await issueTokens(deps, grant, at))
  const { type: device_type, deviceId: device_id, countsFrom } = shown
  const counts_from = countsFrom === null ? null : rfc3339(countsFrom)
  return { verified: true as const, device_type, device_id, counts_from, ...pair }
}

function channelsToTry({ config }: Deps, named: DeviceType | undefined): readonly DeviceType[] {
  const channels = channelsOn(config).filter((type) => named === undefined || type === named)
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
  if (shown.type === 'email' && (await markEmailVerified(tx, { id: userId, email, at })))
    await recordVerified(tx, { userId, email, tenantId, requestInfo, decisionId, at })
}
