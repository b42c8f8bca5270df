import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { unauthorized } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertFreshSecondFactor } from '../sessions/fresh-authentication.ts'
import { mayEnrolFirst } from './factors.ts'
import { findFactors } from './store.ts'

/**
 * Throws 401 unless the caller may add a factor: with a temporary token only whoever has no device yet, or the
 * password alone would open an account that has one; else `aal2` of the last 10 minutes where MFA is on.
 */
export async function assertMayEnrol(deps: Deps, caller: Caller, now: number): Promise<void> {
  if (caller.token !== 'otp_pending') return assertFreshSecondFactor(caller, now)
  const factors = await inTenant(deps.db, caller, (tx) => findFactors(tx, caller.userId))
  if (!mayEnrolFirst(deps.config, factors))
    throw unauthorized('otp_required', 'You have a device: show it first, at POST /api/v1/auth/otp/verify/.')
}
