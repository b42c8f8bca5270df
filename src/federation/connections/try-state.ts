import { timingSafeEqual } from 'node:crypto'
import { openToken, sealToken } from '../../crypto/sealed-token.ts'
import type { Deps } from '../../deps.ts'

/** Who tries which version of a connection, and what the check of the answer needs. */
export interface TryState {
  userId: string
  version: number
  kept: Record<string, string>
  /** ms since 1970 */
  expiresAt: number
}

type StateDeps = Pick<Deps, 'sealer'>

const contextOf = (id: string) => `test.${id}`

/** A state of OpenID Connect: sealed, because it holds the verifier of PKCE. */
export const sealState = ({ sealer }: StateDeps, id: string, state: TryState): string =>
  sealToken(sealer, 'connection', JSON.stringify(state), contextOf(id))

/** Null for a state that {@link sealState} did not give for this connection. */
export function openState({ sealer }: StateDeps, id: string, state: string): TryState | null {
  try {
    return openToken(sealer, 'connection', state, contextOf(id)) as TryState
  } catch {
    return null
  }
}

// A RelayState has at most 80 bytes (SAML bindings §3.4.3), which have no room for a key id and a nonce. Nothing in it is secret, so it
// is packed and authenticated: user (16 bytes), request (20), version (4), end in s (4), MAC (16).
const sizes = { body: 44, mac: 16 }

const macsOf = ({ sealer }: StateDeps, id: string, body: Buffer): Buffer[] =>
  sealer
    .macs('connection', `${contextOf(id)}.${body.toString('base64url')}`)
    .map((mac) => mac.subarray(0, sizes.mac))

/** A RelayState of SAML, in 80 characters. */
export function packRelayState(
  deps: StateDeps,
  id: string,
  { userId, version, kept, expiresAt }: TryState,
): string {
  const numbers = Buffer.alloc(8)
  numbers.writeUInt32BE(version, 0)
  numbers.writeUInt32BE(Math.floor(expiresAt / 1_000), 4)
  const ids = Buffer.from(userId.replaceAll('-', '') + kept.requestId!.slice(1), 'hex')
  const body = Buffer.concat([ids, numbers])
  return Buffer.concat([body, macsOf(deps, id, body)[0]!]).toString('base64url')
}

/** Null for a RelayState that {@link packRelayState} did not give for this connection. */
export function unpackRelayState(deps: StateDeps, id: string, state: string): TryState | null {
  const packed = Buffer.from(state, 'base64url')
  if (packed.length !== sizes.body + sizes.mac || packed.toString('base64url') !== state) return null
  const [body, mac] = [packed.subarray(0, sizes.body), packed.subarray(sizes.body)]
  if (!macsOf(deps, id, body).some((own) => timingSafeEqual(own, mac))) return null
  return {
    userId: body.toString('hex', 0, 16).replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    kept: { requestId: `_${body.toString('hex', 16, 36)}` },
    version: body.readUInt32BE(36),
    expiresAt: body.readUInt32BE(40) * 1_000,
  }
}
