import type { Deps } from '../../deps.ts'
import { matchTotp } from '../../platform/crypto/totp.ts'
import type { TotpRow } from './store.ts'

/** A device whose code was shown, as it has to be still when the step is burned. */
export interface TotpMatch {
  id: string
  step: number
  sealed: Buffer
  resealed: Buffer
}

/** A sealed secret opens for its own person and device alone. */
export const totpContext = (userId: string, deviceId: string) => `${userId}.${deviceId}`

/**
 * Those of a person's devices for which `code` is right now (`at` in ms). Secrets sealed by an older key come sealed
 * anew; one that no key of SECRET_KEYS opens matches nothing.
 */
export function matchingDevices(
  deps: Pick<Deps, 'sealer' | 'log'>,
  { userId, code, at }: { userId: string; code: string; at: number },
  devices: readonly TotpRow[],
): TotpMatch[] {
  return devices.flatMap(({ id, secret_sealed: sealed, last_step }) => {
    const secret = openSecret(deps, userId, id, sealed)
    const step = secret === null ? null : matchTotp(secret, code, at, last_step)
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
