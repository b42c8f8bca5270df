import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem, inTenant, type Tx } from '../../platform/db/transaction.ts'
import { invalidState, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { showSecondFactor } from '../sessions/complete-sign-in.ts'
import { issueTokens } from '../sessions/issue-tokens.ts'
import { admitAttempt } from './admit-attempt.ts'
import { forgiveAttempt } from './attempt-store.ts'
import { assertChannelOn, otpInvalid, readCode } from './channels.ts'
import { matchingDevices, type TotpMatch } from './check-totp.ts'
import { assertMayEnrol } from './enrolment.ts'
import { confirmTotpDevice, findDevice, listTotpDevices } from './store.ts'
import { tellOfDevice } from './tell-of-device.ts'

const nothingSetUp = () => notFound('No such app is being set up: POST /api/v1/auth/otp/totp/setup/ first.')
const alreadyConfirmed = () => invalidState('This device is confirmed already.', 'confirmed')

/**
 * Confirms the device being set up by its first code, once: from then on MFA is on, and this session is `aal2`. With
 * a temporary token it completes the sign-in, and only then the step is burned. 400 `otp_invalid`, 404 where nothing
 * is set up, 409 where it is confirmed, 429 `account_locked`.
 */
export async function confirmTotp(
  deps: Deps,
  caller: Caller,
  body: { code: string; deviceId: string | undefined },
) {
  assertChannelOn(deps.config, 'totp')
  const { userId } = caller
  const at = deps.clock()
  await assertMayEnrol(deps, caller, at)
  const deviceId = await findUnconfirmed(deps, caller, body.deviceId)
  const { digits } = readCode(body.code)
  if (digits === null) throw otpInvalid('confirmed')
  const devices = await admitAttempt(deps, { userId, at, field: 'confirmed' })
  const asked = devices.filter((device) => device.id === deviceId)
  const [match] = matchingDevices(deps, { userId, code: digits, at }, asked)
  if (!match) throw otpInvalid('confirmed')
  const grant = await asSystem(deps.db, 'a right code may begin a session', (tx) =>
    confirm(deps, tx, caller, match, at),
  )
  const device = await inTenant(deps.db, caller, (tx) => findDevice(tx, userId, deviceId))
  if (!device) throw notFound()
  return { confirmed: true as const, device, ...(grant && (await issueTokens(deps, grant, at))) }
}

async function confirm(deps: Deps, tx: Tx, caller: Caller, match: TotpMatch, at: number) {
  const { userId, token } = caller
  const step = token === 'otp_pending' ? match.step : null
  if (!(await confirmTotpDevice(tx, { userId, at, ...match, step }))) throw alreadyConfirmed()
  await forgiveAttempt(tx, { userId, at })
  await tellOfDevice(deps, tx, caller, 'confirmed', 'totp', at)
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'otp_device:confirm',
    target: { type: 'otp_device', id: match.id },
    changes: { is_confirmed: { before: false, after: true } },
  })
  return showSecondFactor(deps, tx, caller, 'totp', at)
}

/** The id of the device named, or else of the one being set up. */
async function findUnconfirmed({ db }: Deps, caller: Caller, named: string | undefined): Promise<string> {
  const devices = await inTenant(db, caller, (tx) => listTotpDevices(tx, caller.userId))
  const asked = devices.filter(({ id }) => named === undefined || id === named)
  const open = asked.find((device) => !device.confirmed)
  if (open) return open.id
  throw asked.length > 0 ? alreadyConfirmed() : nothingSetUp()
}
