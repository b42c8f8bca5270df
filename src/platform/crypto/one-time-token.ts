import { createHash, randomBytes } from 'node:crypto'

/** A secret of 256 bits for a link: the text goes into the mail, only the SHA-256 is kept. */
export function makeOneTimeToken(): { token: string; hash: Buffer } {
  const token = randomBytes(32).toString('base64url')
  return { token, hash: hashOneTimeToken(token) }
}

/** What is compared with the kept hash; for any text, also one that was never a token. */
export const hashOneTimeToken = (token: string): Buffer => createHash('sha256').update(token).digest()
