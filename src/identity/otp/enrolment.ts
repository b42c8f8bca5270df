import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { unauthorized } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { checkCurrentPassword } from '../auth/check-password.ts'
import {
  assertFreshSecondFactor,
  assertRecentSignIn,
  hasFreshSecondFactor,
} from '../sessions/fresh-authentication.ts'
import { canEnrolFirst } from './factors.ts'
import { findFactors } from './store.ts'

/** How long a sign-in, and the set-up of an app, are good for enrolling a factor; in seconds. */
export const enrolmentSeconds = 600

interface Enrolment {
  now: number
  /** Sent along in place of a recent sign-in; 400 where it is wrong. */
  currentPassword: string | undefined
  /** The same session began it within the last 10 minutes, and was asked then. */
  begun?: boolean
}

/**
 * Throws 401 unless the caller may add a factor. With MFA on: `aal2` of the last 10 minutes. Else a sign-in or a second
 * factor of the last 10 minutes, or the password. With a temporary token: where no other channel can serve.
 */
export async function assertCanEnrol(deps: Deps, caller: Caller, enrolment: Enrolment): Promise<void> {
  const { now, currentPassword, begun = false } = enrolment
  if (caller.token === 'otp_pending') return assertCanEnrolFirst(deps, caller, now)
  assertFreshSecondFactor(caller, now)
  if (currentPassword !== undefined) await checkCurrentPassword(deps, caller, currentPassword)
  else if (!begun && !hasFreshSecondFactor(caller, now)) assertRecentSignIn(caller, now, enrolmentSeconds)
}

/** Else the password alone would open an account that has another channel. */
async function assertCanEnrolFirst({ db, config }: Deps, caller: Caller, now: number): Promise<void> {
  const factors = await inTenant(db, caller, (tx) => findFactors(tx, caller.userId, now))
  if (!canEnrolFirst(config, factors))
    throw unauthorized(
      'otp_required',
      'Show a code of another channel first, at POST /api/v1/auth/otp/verify/: by e-mail, or of a device you have.',
    )
}
