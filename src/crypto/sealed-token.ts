import type { Purpose, Sealer } from './seal.ts'

/** Encrypts a text into a token (base64url) that {@link openToken} decrypts with the same purpose and context only. */
export const sealToken = (sealer: Sealer, purpose: Purpose, text: string, context: string): string =>
  sealer.seal(purpose, text, context).toString('base64url')

/** The JSON value in a token. Throws for any other token, and for another spelling of this one. */
export function openToken(sealer: Sealer, purpose: Purpose, token: string, context: string) {
  const sealed = Buffer.from(token, 'base64url')
  if (sealed.toString('base64url') !== token) throw new Error('not canonical base64url')
  return JSON.parse(sealer.open(purpose, sealed, context))
}
