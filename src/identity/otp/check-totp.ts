import { matchTotp } from '../../crypto/totp.ts'
import type { Deps } from '../../deps.ts'
import type { TotpRow } from './store.ts'

/** A device whose code matched. Its sealed secret must be unchanged when the time step is used up. */
export interface TotpMatch {
  id: string
  step: number
  sealed: Buffer
  resealed: Buffer
}

/** Binds a sealed secret to its person and device. */
export const totpContext = (userId: string, deviceId: string) => `${userId}.${deviceId}`

/**
 * The devices of a person whose current code (`at` in ms) is `code`. A secret sealed by an older key is sealed again
 * with the newest; one that no key of SECRET_KEYS opens never matches.
 */
export function matchingDevices(
  deps: Pick<Deps, 'sealer' | 'log' | 'config'>,
  { userId, code, at }: { userId: string; code: string; at: number },
  devices: readonly TotpRow[],
): TotpMatch[] {
  return devices.flatMap(({ id, secret_sealed: sealed, last_step }) => {
    const secret = openSecret(deps, userId, id, sealed)
    const step =
      secret === null ? null : matchTotp(secret, code, at, last_step, deps.config.OTP_TOTP_DRIFT_STEPS)
    if (secret === null || step === null) return []
    const resealed = deps.sealer.isStale(sealed)
      ? deps.sealer.seal('totp', secret, totpContext(userId, id))
      : sealed
    return [{ id, step, sealed, resealed }]
  })
}

function openSecret(
  { sealer, log }: Pick<Deps, 'sealer' | 'log'>,
  userId: string,
  id: string,
  sealed: Buffer,
) {
  try {
    return sealer.open('totp', sealed, totpContext(userId, id))
  } catch {
    log.error({ user_id: userId, device_id: id }, 'no key of SECRET_KEYS opens the secret of a TOTP device')
    return null
  }
}
