import { randomBytes, randomInt } from 'node:crypto'
import type { Sealer } from '../../crypto/seal.ts'

/** The person that a mailed code is bound to, and the address it was sent to. */
interface Holder {
  userId: string
  email: string
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A code of 6 digits, to send by mail. */
export const makeEmailCode = (): string => String(randomInt(1_000_000)).padStart(6, '0')

/** A recovery code of 120 random bits, `[A-Z2-7]{24}`: from 112 bits on, a fast hash is enough (ASVS v5.0.0-6.5.2). */
export const makeRecoveryCode = (): string =>
  Array.from(randomBytes(24), (byte) => alphabet[byte & 31]).join('')

/** The keyed hashes that a mailed code can be stored under, newest key first. */
export const emailCodeHashes = (sealer: Sealer, holder: Holder, code: string): Buffer[] =>
  sealer.macs('email-code', `second-factor\n${holder.userId}\n${holder.email}\n${code}`)

/** The keyed hashes that a recovery code can be stored under, newest key first. */
export const recoveryCodeHashes = (sealer: Sealer, userId: string, code: string): Buffer[] =>
  sealer.macs('recovery-code', `${userId}\n${code}`)
