import { generateSecret, verifySync } from 'otplib'

const stepSeconds = 30

/** A random TOTP secret of 160 bits (RFC 4226 §4): 32 characters of base32. */
export const makeTotpSecret = (): string => generateSecret({ length: 20 })

/**
 * `otpauth://totp/<issuer>:<account>?secret=<base32>&issuer=<issuer>`: SHA-1, 6 digits and 30 s are what apps assume.
 * The only bare colon is the one between the two: otplib's own leaves one in the issuer as it is.
 */
export function provisioningUri(issuer: string, account: string, secret: string): string {
  const named = encodeURIComponent(issuer)
  return `otpauth://totp/${named}:${encodeURIComponent(account)}?secret=${secret}&issuer=${named}`
}

/**
 * The step (RFC 6238 §4.2) at which `code`, of 6 digits, is that of `secret`: the one at `now` (ms) or a neighbour,
 * but none up to `lastStep`. Null when there is none. That no other check accepts it is for the caller to make sure.
 */
export function matchTotp(secret: string, code: string, now: number, lastStep: number | null): number | null {
  const epoch = Math.floor(now / 1000)
  const found = verifySync({
    secret,
    token: code,
    epoch,
    epochTolerance: stepSeconds,
    ...(lastStep !== null && lastStep <= epoch / stepSeconds + 1 && { afterTimeStep: lastStep }),
  })
  return found.valid && 'timeStep' in found ? found.timeStep : null
}
