import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { DeviceType, PresentedCode } from './channels.ts'
import { matchingDevices, type TotpMatch } from './check-totp.ts'
import { consumeEmailCode, consumeRecoveryCode } from './code-store.ts'
import { emailCodeHashes, recoveryCodeHashes } from './codes.ts'
import { burnTotpStep, type TotpRow } from './store.ts'

/** A second factor that was shown just now. */
export interface ShownFactor {
  type: DeviceType
  deviceId: string
}

/** What a code is compared with, made before the transaction that uses it up. */
export interface Comparison {
  userId: string
  /** The session or the waiting sign-in in which it is shown. */
  signInId: string
  at: number
  totp: readonly TotpMatch[]
  email: readonly Buffer[]
  recovery: readonly Buffer[]
}

/** Compares with what needs no database: secrets are opened and hashes made, for the channels asked for alone. */
export function compareCode(
  deps: Deps,
  person: { userId: string; signInId: string; email: string; at: number },
  { digits, recovery }: PresentedCode,
  channels: readonly DeviceType[],
  devices: readonly TotpRow[],
): Comparison {
  const { userId, signInId, at } = person
  const of = <T>(type: DeviceType, code: string | null, hits: (code: string) => T[]): T[] =>
    code !== null && channels.includes(type) ? hits(code) : []
  const confirmed = devices.filter((device) => device.confirmed)
  return {
    userId,
    signInId,
    at,
    totp: of('totp', digits, (code) => matchingDevices(deps, { userId, code, at }, confirmed)),
    email: of('email', digits, (code) => emailCodeHashes(deps.sealer, person, code)),
    recovery: of('static', recovery, (code) => recoveryCodeHashes(deps.sealer, userId, code)),
  }
}

/** Uses a code up at the first device that takes it: TOTP, e-mail, recovery codes. Null where none does. */
export async function acceptCode(tx: Tx, comparison: Comparison): Promise<ShownFactor | null> {
  const { userId, signInId, at, totp, email, recovery } = comparison
  for (const match of totp)
    if (await burnTotpStep(tx, { userId, at, ...match })) return { type: 'totp', deviceId: match.id }
  const byMail = email.length > 0 ? await consumeEmailCode(tx, { userId, signInId, at, hashes: email }) : null
  if (byMail) return { type: 'email', deviceId: byMail }
  const set = recovery.length > 0 ? await consumeRecoveryCode(tx, { userId, at, hashes: recovery }) : null
  return set ? { type: 'static', deviceId: set } : null
}
