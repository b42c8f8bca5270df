import type { Config } from '../../config.ts'
import { channelsOn, type DeviceType } from './channels.ts'
import type { findFactors } from './store.ts'

export type Factors = Awaited<ReturnType<typeof findFactors>>

/** Whether MFA is on by a factor that counts: then a young one does not stand in for it at login. */
export const enrolledOneThatCounts = (factors: Factors): boolean => factors.totp_counts

/**
 * The channels by which a person can show a second factor now. E-mail is one for everybody, verified or not, for a
 * right code verifies, unless a reset by mail was just now; recovery codes while some are left. Where one that counts
 * is `demanded`, young ones are left out, unless there is nothing else.
 */
export function usableMethods(config: Config, factors: Factors, demanded: boolean): DeviceType[] {
  const on = channelsOn(config)
  const has = {
    totp: factors.totp,
    email: factors.mailed_codes_count,
    static: factors.recovery_codes > 0,
  }
  const counts = { totp: factors.totp_counts, email: has.email, static: has.static && factors.recovery_count }
  const counting = on.filter((type) => counts[type])
  return demanded && counting.length > 0 ? counting : on.filter((type) => has[type])
}

/** Whether a person may set up TOTP between password and second factor: while no other channel can serve. */
export function canEnrolFirst(config: Config, factors: Factors): boolean {
  const on = channelsOn(config)
  const mailed = on.includes('email') && factors.address_proven
  return !factors.totp && !mailed && factors.recovery_codes === 0 && on.includes('totp')
}
