import { inTenant } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionRevoked, unauthorized } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { checkCurrentPassword } from '../auth/check-password.ts'
import {
  assertFreshSecondFactor,
  assertRecentSignIn,
  hasFreshSecondFactor,
} from '../sessions/fresh-authentication.ts'
import { canEnrolFirst } from './channels.ts'
import { findFactors } from './store.ts'

/** How long after a sign-in, or the set-up of an app, the person can enrol a factor; in seconds. */
export const enrolmentSeconds = 600

interface Enrolment {
  now: number
  /** Sent instead of a recent sign-in; 400 if it is wrong. */
  currentPassword: string | undefined
  /** This session began the set-up within the last 10 minutes, and authenticated for it then. */
  begun?: boolean
}

/**
 * Throws 401 unless the caller can add a factor. If MFA is on, this takes `aal2` in the last 10 minutes; else a sign-in
 * or a second factor in the last 10 minutes, or the password. With a temporary token the person must have no other
 * channel.
 */
export async function assertCanEnrol(deps: Deps, caller: Caller, enrolment: Enrolment): Promise<void> {
  const { now, currentPassword, begun = false } = enrolment
  if (caller.token === 'otp_pending') return assertCanEnrolFirst(deps, caller, now)
  assertFreshSecondFactor(caller, now)
  if (currentPassword !== undefined) await checkCurrentPassword(deps, caller, currentPassword)
  else if (!begun && !hasFreshSecondFactor(caller, now)) assertRecentSignIn(caller, now, enrolmentSeconds)
}

/** Otherwise the password alone would open an account that has another channel. */
async function assertCanEnrolFirst({ db, config }: Deps, caller: Caller, now: number): Promise<void> {
  const factors = await inTenant(db, caller, (tx) => findFactors(tx, caller.userId, now))
  if (!factors) throw sessionRevoked()
  if (!canEnrolFirst(config, factors))
    throw unauthorized(
      'otp_required',
      'First show a code of another channel, by e-mail or from a device you have: POST /api/v1/auth/otp/verify/.',
    )
}
