import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { endTokens } from '../../messages/links/link-store.ts'
import type { Caller } from '../../request/caller.ts'
import { checkCurrentPassword } from '../auth/check-password.ts'
import {
  assertFreshSecondFactor,
  assertRecentSignIn,
  hasFreshSecondFactor,
} from '../sessions/fresh-authentication.ts'
import type { DeviceType } from './channels.ts'
import { enrolmentSeconds } from './enrolment.ts'
import { recordDeleted } from './record-device.ts'
import { deleteDevice, findDevice, hasOtherFactor, lockDevices } from './store.ts'

const lastFactor = () =>
  new ApiError(
    409,
    'last_factor',
    'A second factor is required here, and this is your last one. Add another first.',
  )

const auditedDelete = ({ id, type }: { id: string; type: DeviceType }) =>
  type === 'passkey'
    ? ({ action: 'passkey:delete', target: { type: 'passkey', id } } as const)
    : ({ action: 'otp_device:delete', target: { type: 'otp_device', id } } as const)

/**
 * Deletes one of the caller's devices, or only one of a type, with its codes. 401 if MFA is on and needs a step-up, or if recovery
 * codes need a recent sign-in or the password, 404 for any other id, 409
 * `last_factor` for the last passkey or confirmed TOTP device while the token's tenant or the service requires a second factor.
 */
export async function removeDevice(
  deps: Deps,
  caller: Caller,
  id: string,
  { only, currentPassword }: { only?: DeviceType; currentPassword?: string | undefined } = {},
): Promise<undefined> {
  const { config, db, clock } = deps
  const { userId, auth } = caller
  const at = clock()
  if (config.OTP_ENABLED) assertFreshSecondFactor(caller, at)
  else assertRecentSignIn(caller, at)
  if (currentPassword !== undefined) await checkCurrentPassword(deps, caller, currentPassword)
  const required = config.OTP_ENABLED && (config.OTP_REQUIRED_FOR_LOGIN || (auth.tenant?.requireMfa ?? false))
  await inTenant(db, caller, async (tx) => {
    await lockDevices(tx, userId)
    const device = await findDevice(tx, userId, id)
    if (!device || (only && device.type !== only)) throw notFound()
    // As for making them. They are the way in of a person who lost all else, also where MFA is off.
    if (device.type === 'static' && currentPassword === undefined && !hasFreshSecondFactor(caller, at))
      assertRecentSignIn(caller, at, enrolmentSeconds)
    const confirmed = device.confirmed_at !== null
    const turnsMfaOn = device.type === 'passkey' || (device.type === 'totp' && confirmed)
    if (required && turnsMfaOn && !(await hasOtherFactor(tx, userId, id))) throw lastFactor()
    await deleteDevice(tx, userId, id)
    await endTokens(tx, { purpose: 'factor_undo', userId, targetId: id, at })
    if (confirmed) await recordDeleted(deps, tx, caller, device, at)
    await appendAudit(tx, {
      ...doneBy(caller, at),
      ...auditedDelete(device),
      changes: changesBetween({ type: device.type, name: device.name, is_confirmed: confirmed }, null),
    })
  })
}
