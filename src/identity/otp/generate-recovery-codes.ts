import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { assertFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import { assertChannelOn } from './channels.ts'
import { putRecoverySet, replaceRecoveryCodes } from './code-store.ts'
import { makeRecoveryCode, recoveryCodeHashes } from './codes.ts'

/**
 * Makes a new set of recovery codes and voids the old one; of sets made at once only one is left. The codes are told
 * here and never again. 401 step-up where MFA is on, 403 `channel_disabled`.
 */
export async function generateRecoveryCodes({ db, config, sealer, clock }: Deps, caller: Caller) {
  assertChannelOn(config, 'static')
  const at = clock()
  assertFreshSecondFactor(caller, at)
  const { userId, tokenTenantId: tenantId, auth, requestInfo } = caller
  const { requestId } = requestInfo
  const codes = Array.from({ length: config.OTP_STATIC_TOKEN_COUNT }, makeRecoveryCode)
  const hashes = codes.map((code) => recoveryCodeHashes(sealer, userId, code)[0]!)
  const deviceId = await inTenant(db, caller, async (tx) => {
    const deviceId = await putRecoverySet(tx, { userId, id: timeOrderedId(at), at })
    await replaceRecoveryCodes(tx, { userId, deviceId, hashes })
    const event = { tenantId, subject: userId, actorId: userId, requestId, at }
    const type = 'identity.recovery_codes_generated'
    await appendEvent(tx, { ...event, type, data: { user_id: userId } })
    const deed = { ...doneBy(caller, at), action: 'otp_device:generate' } as const
    await appendAudit(tx, { ...deed, target: { type: 'otp_device', id: deviceId } })
    const { email: to, firstName } = auth.user
    const variables = { device: 'static', firstName } as const
    await sendMail(tx, sealer, { tenantId, to, template: 'second_factor_added', variables, requestId, at })
    return deviceId
  })
  return { device_id: deviceId, codes, count: codes.length }
}
