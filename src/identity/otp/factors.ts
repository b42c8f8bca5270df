import type { Config } from '../../config.ts'
import { channelsOn, type DeviceType } from './channels.ts'
import type { findFactors } from './store.ts'

type Factors = Awaited<ReturnType<typeof findFactors>>

/**
 * The channels by which a person can show a second factor now. E-mail is one for everybody, verified or not, for a
 * right code verifies; recovery codes while some are left.
 */
export function usableMethods(config: Config, factors: Factors): DeviceType[] {
  const has = { totp: factors.totp, email: true, static: factors.recovery_codes > 0 }
  return channelsOn(config).filter((type) => has[type])
}

/** Whether a person may set up TOTP between password and second factor: while they have no device yet. */
export function mayEnrolFirst(config: Config, factors: Factors): boolean {
  const none = !factors.totp && !factors.verified && factors.recovery_codes === 0
  return none && channelsOn(config).includes('totp')
}
