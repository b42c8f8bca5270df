import { inTenant } from '../../database/executor/transaction.ts'
import { countLog } from '../../database/log-quota.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { holdSignIn } from '../sessions/store.ts'
import { assertChannelOn } from './channels.ts'
import { putRecoverySet, replaceRecoveryCodes } from './code-store.ts'
import { makeRecoveryCode, recoveryCodeHashes } from './codes.ts'
import { assertCanEnrol } from './enrolment.ts'
import { countEnrolment, notifyEnrolment } from './notify-enrolment.ts'
import { countsFrom, signInOf } from './young-factors.ts'

/**
 * Makes a new set of recovery codes and deletes the old set; of parallel calls only one set remains. Returns the codes,
 * which are never shown again. 401 unless the caller authenticated recently ({@link assertCanEnrol}), 403
 * `channel_disabled`, 429 `throttled`.
 */
export async function generateRecoveryCodes(deps: Deps, caller: Caller, currentPassword: string | undefined) {
  const { db, config, sealer, clock } = deps
  assertChannelOn(config, 'static')
  const at = clock()
  await assertCanEnrol(deps, caller, { now: at, currentPassword })
  await countEnrolment(deps, caller, at)
  const { userId, tokenTenantId: tenantId, requestInfo } = caller
  const { requestId } = requestInfo
  const codes = Array.from({ length: config.OTP_STATIC_TOKEN_COUNT }, makeRecoveryCode)
  const hashes = codes.map((code) => recoveryCodeHashes(sealer, userId, code)[0]!)
  const deviceId = await inTenant(db, caller, async (tx) => {
    countLog(tx, config, { caller, at, use: 'adds' })
    await holdSignIn(tx, caller)
    const from = await countsFrom(deps, tx, caller, at)
    const set = { userId, id: timeOrderedId(at), countsFrom: from, signInId: signInOf(caller), at }
    const deviceId = await putRecoverySet(tx, set)
    await replaceRecoveryCodes(tx, { userId, deviceId, hashes })
    const event = { tenantId, subject: userId, actorId: userId, requestId, at }
    const type = 'identity.recovery_codes_generated'
    await appendEvent(tx, { ...event, type, data: { user_id: userId } })
    const entry = { ...doneBy(caller, at), action: 'otp_device:generate' } as const
    await appendAudit(tx, { ...entry, target: { type: 'otp_device', id: deviceId } })
    await notifyEnrolment(deps, tx, caller, { type: 'static', id: deviceId, countsFrom: from }, at)
    return deviceId
  })
  return { device_id: deviceId, codes, count: codes.length }
}
