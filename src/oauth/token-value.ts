import { hash, randomBytes } from 'node:crypto'
import { uuidOfHex } from '../crypto/base62.ts'
import type { Sealer } from '../crypto/seal.ts'
import type { ClientKey } from './clients/client-id.ts'

// The value of a code, an access token and a refresh token contains whose it is, so that one round trip reads all that its use
// needs, and a used refresh token is known for one of ours when its row is gone. A mask keeps the ids out of the addresses and
// logs that values get into. It proves nothing: a value is good when its row is there.
//
// nonce (16 bytes) ‖ tag (32) ‖ ids (64), the ids masked with the SHA-512 of nonce and tag. The tag of a refresh token is a MAC
// under SECRET_KEYS; that of others is random, because APIs and addresses get to see them.

/** Whose a code or token is. */
export interface Holder {
  client: ClientKey
  userId: string
  /** The library's id of the grant, a UUID. */
  grantId: string
}

const headLength = 48
const length = headLength + 64

/** A new code or access token. */
export const newValue = (holder: Holder): string => withHead(randomBytes(headLength), bytesOf(holder))

/** A new refresh token. */
export const newRefreshToken = (sealer: Sealer, holder: Holder): string =>
  refreshTokens(sealer, holder, () => randomBytes(16))[0]!

/**
 * The values that replace a used refresh token, under each key of SECRET_KEYS, the newest first. They are derived from its
 * value: so a client that lost an answer gets the same token again, and never two that work.
 */
export function successorsOf(sealer: Sealer, used: string): string[] {
  const holder = holderIn(used)
  const nonces = sealer.macs('oauth-refresh', used).map((mac) => mac.subarray(0, 16))
  return holder ? refreshTokens(sealer, holder, (key) => nonces[key]!) : []
}

/** Whose a value says that it is; null for what is no value. */
export function holderIn(value: string): Holder | null {
  if (value.length !== Math.ceil((length * 4) / 3)) return null
  const bytes = Buffer.from(value, 'base64url')
  return bytes.length === length ? holderOf(idsIn(bytes)) : null
}

/** Whether this service made a value for a refresh token, under one of the present keys. */
export function isRefreshToken(sealer: Sealer, value: string): boolean {
  const bytes = Buffer.from(value, 'base64url')
  const tag = bytes.subarray(16, headLength)
  return sealer
    .macs('oauth-token', signed(bytes.subarray(0, 16), idsIn(bytes)))
    .some((mac) => mac.equals(tag))
}

/** A refresh token for each key, with the nonce for that key. */
function refreshTokens(sealer: Sealer, holder: Holder, nonceOf: (key: number) => Buffer): string[] {
  const ids = bytesOf(holder)
  return sealer.keyIds.map((_id, key) => {
    const nonce = nonceOf(key)
    const tag = sealer.macs('oauth-token', signed(nonce, ids))[key]!
    return withHead(Buffer.concat([nonce, tag]), ids)
  })
}

const withHead = (head: Buffer, ids: Buffer) => Buffer.concat([head, masked(ids, head)]).toString('base64url')

const signed = (nonce: Buffer, ids: Buffer) => Buffer.concat([nonce, ids]).toString('base64url')

const idsIn = (bytes: Buffer) => masked(bytes.subarray(headLength), bytes.subarray(0, headLength))

function masked(ids: Buffer, head: Buffer): Buffer {
  const bytes = hash('sha512', head, 'buffer')
  for (let at = 0; at < bytes.length; at++) bytes[at]! ^= ids[at]!
  return bytes
}

const bytesOf = ({ client, userId, grantId }: Holder): Buffer =>
  Buffer.from([client.tenantId, client.id, userId, grantId].join('').replaceAll('-', ''), 'hex')

function holderOf(ids: Buffer): Holder {
  const hex = ids.toString('hex')
  const client = { tenantId: uuidOfHex(hex), id: uuidOfHex(hex, 32) }
  return { client, userId: uuidOfHex(hex, 64), grantId: uuidOfHex(hex, 96) }
}
