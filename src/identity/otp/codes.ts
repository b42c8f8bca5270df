import { randomBytes, randomInt } from 'node:crypto'
import type { Sealer } from '../../platform/crypto/seal.ts'

/** Whose code it is; one that was sent is bound to the address as well. */
interface Holder {
  userId: string
  email: string
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A code of 6 digits for a mail. */
export const makeEmailCode = (): string => String(randomInt(1_000_000)).padStart(6, '0')

/** A recovery code of 120 random bits, `[A-Z2-7]{24}`: past 112, a fast hash of it is enough (ASVS v5.0.0-6.5.2). */
export const makeRecoveryCode = (): string =>
  Array.from(randomBytes(24), (byte) => alphabet[byte & 31]).join('')

/** The keyed hashes under which a code that was sent may be kept, newest key first. */
export const emailCodeHashes = (sealer: Sealer, holder: Holder, code: string): Buffer[] =>
  sealer.macs('email-code', `second-factor\n${holder.userId}\n${holder.email}\n${code}`)

/** The keyed hashes under which a recovery code may be kept, newest key first. */
export const recoveryCodeHashes = (sealer: Sealer, userId: string, code: string): Buffer[] =>
  sealer.macs('recovery-code', `${userId}\n${code}`)
