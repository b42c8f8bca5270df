import { hash, randomBytes } from 'node:crypto'

/** A secret of 256 bits for a link. The text goes into the mail; only its SHA-256 is stored. */
export function makeOneTimeToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString('base64url')
  return { token, hash: hashOneTimeToken(token) }
}

/** The hash to compare with the stored one. Takes any text. */
export const hashOneTimeToken = (token: string): Buffer => hash('sha256', token, 'buffer')
