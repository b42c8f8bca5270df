import { asSystem, inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState, notFound } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { applySecondFactor } from '../sign-in/complete-sign-in.ts'
import { admitCode } from './admit-attempt.ts'
import { assertChannelOn, otpInvalid, readCode } from './channels.ts'
import { matchingDevices, type TotpMatch } from './check-totp.ts'
import { forgiveAttempt } from './code-store.ts'
import { assertCanEnrol, enrolmentSeconds } from './enrolment.ts'
import { countEnrolment, notifyEnrolment } from './notify-enrolment.ts'
import { recordConfirmed } from './record-device.ts'
import { confirmTotpDevice, findDevice, listTotpDevices } from './store.ts'
import { countsFrom, signInOf } from './young-factors.ts'

const nothingSetUp = () => notFound('No such app is being set up: POST /api/v1/auth/otp/totp/setup/ first.')
const alreadyConfirmed = () => invalidState('This device is confirmed already.', 'confirmed')

/**
 * Confirms the device being set up by its first code, once. This switches MFA on and raises this session to `aal2`,
 * unless the device is young. With a temporary token it completes the sign-in; only then the code's time step is used
 * up. 400 `otp_invalid`, 401 as for the set-up, 404 if no device is being set up, 409 if it is confirmed already, 429
 * `account_locked` or `throttled`.
 */
export async function confirmTotp(
  deps: Deps,
  caller: Caller,
  body: { code: string; deviceId: string | undefined; currentPassword: string | undefined },
) {
  assertChannelOn(deps.config, 'totp')
  const { userId, requestInfo } = caller
  const at = deps.clock()
  const devices = await inTenant(deps.db, caller, (tx) => listTotpDevices(tx, userId))
  const begun = devices.some((device) => isBegunBy(caller, device, at))
  await assertCanEnrol(deps, caller, { now: at, currentPassword: body.currentPassword, begun })
  const deviceId = unconfirmedOf(devices, body.deviceId)
  const { digits } = readCode(body.code)
  if (digits === null) throw otpInvalid('confirmed')
  const admitted = await admitCode(deps, { userId, requestInfo, at, field: 'confirmed' })
  const asked = admitted.devices.filter((device) => device.id === deviceId)
  const [match] = matchingDevices(deps, { userId, code: digits, at }, asked)
  if (!match) throw otpInvalid('confirmed')
  await countConfirmation(deps, caller, at)
  const outcome = await asSystem(deps.db, 'a right code may begin a session', (tx) =>
    confirm(deps, tx, caller, match, at),
  )
  if (!outcome) throw alreadyConfirmed()
  const device = await inTenant(deps.db, caller, (tx) => findDevice(tx, userId, deviceId))
  if (!device) throw notFound()
  return { outcome, device }
}

/** If there were too many, the code was right all the same: what it counted as an attempt is taken back. */
async function countConfirmation(deps: Deps, caller: Caller, at: number): Promise<void> {
  try {
    await countEnrolment(deps, caller, at)
  } catch (error) {
    const { userId } = caller
    await asSystem(deps.db, 'a right code may begin a session', (tx) => forgiveAttempt(tx, { userId, at }))
    throw error
  }
}

async function confirm(deps: Deps, tx: Tx, caller: Caller, match: TotpMatch, at: number) {
  const { userId, token } = caller
  const step = token === 'otp_pending' ? match.step : null
  const from = await countsFrom(deps, tx, caller, at)
  const confirmed = { userId, signInId: signInOf(caller), at, ...match, step, countsFrom: from }
  if (!(await confirmTotpDevice(tx, confirmed))) return null
  await forgiveAttempt(tx, { userId, at })
  await recordConfirmed(tx, caller, 'totp', at)
  await notifyEnrolment(deps, tx, caller, { type: 'totp', id: match.id, countsFrom: from }, at)
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'otp_device:confirm',
    target: { type: 'otp_device', id: match.id },
    changes: { is_confirmed: { before: false, after: true } },
  })
  return applySecondFactor(deps, tx, caller, { type: 'totp', counts: from === null }, at)
}

type Devices = Awaited<ReturnType<typeof listTotpDevices>>

/** Whether this chain began the set-up recently: then the person has authenticated for it, and knows the secret. */
const isBegunBy = (caller: Caller, device: Devices[number], now: number) =>
  !device.confirmed &&
  device.shown_in === signInOf(caller) &&
  now - device.created_at <= enrolmentSeconds * 1000

/** The id of the named device, else of the one being set up. */
function unconfirmedOf(devices: Devices, named: string | undefined): string {
  const asked = devices.filter(({ id }) => named === undefined || id === named)
  const open = asked.find((device) => !device.confirmed)
  if (open) return open.id
  throw asked.length > 0 ? alreadyConfirmed() : nothingSetUp()
}
