import { generateSecret, ScureBase32Plugin, verifySync } from 'otplib'

const stepSeconds = 30

/** A random TOTP secret of 160 bits (RFC 4226 §4): 32 characters of base32. */
export const makeTotpSecret = (): string => generateSecret({ length: 20 })

/** Bytes in base32 (RFC 4648 §6) without padding, as a secret is written. */
export const base32 = (bytes: Uint8Array): string => new ScureBase32Plugin().encode(bytes)

/**
 * `otpauth://totp/<issuer>:<account>?secret=<base32>&issuer=<issuer>`. Apps assume SHA-1, 6 digits and 30 s. A colon in
 * the issuer is escaped here; otplib's own function would leave it bare, like the separator.
 */
export function provisioningUri(issuer: string, account: string, secret: string): string {
  const named = encodeURIComponent(issuer)
  return `otpauth://totp/${named}:${encodeURIComponent(account)}?secret=${secret}&issuer=${named}`
}

/**
 * The time step (RFC 6238 §4.2) whose code for `secret` is `code` (6 digits): the step at `now` (ms) or one that is at most
 * `drift` steps from it, but later than `lastStep`. Null when there is none. The caller must make sure that a step is
 * accepted only once.
 */
export function matchTotp(
  secret: string,
  code: string,
  now: number,
  lastStep: number | null,
  drift = 1,
): number | null {
  const epoch = Math.floor(now / 1000)
  const latest = Math.floor(epoch / stepSeconds) + drift
  if (lastStep !== null && lastStep >= latest) return null // otplib would throw for a later one
  const found = verifySync({
    secret,
    token: code,
    epoch,
    epochTolerance: drift * stepSeconds,
    ...(lastStep !== null && { afterTimeStep: lastStep }),
  })
  return found.valid && 'timeStep' in found ? found.timeStep : null
}
