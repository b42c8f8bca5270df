import type { JWK } from 'jose'
import type { KeyRing, SigningKey } from '../crypto/token-signer.ts'
import type { Deps } from '../deps.ts'
import { ensureIdTokenKey } from '../identity/keys/key-ring.ts'

/** The keys that sign ID tokens, the signing one of each algorithm first, and their algorithms, the usual one first. */
export interface ProviderKeys {
  jwks: { keys: JWK[] }
  /** The same, to sign by themselves. */
  signing: readonly SigningKey[]
  algorithms: string[]
  /** The key that signs access tokens: that of the API's own tokens. */
  accessTokens: { alg: string; kid: string }
  /** Other keys have another id. */
  id: string
  ring: KeyRing
}

/** The keys of the ring. The first request of an application makes the first key of RS256. */
export async function providerKeys(deps: Deps): Promise<ProviderKeys> {
  if (deps.keys.now().idTokenKeys.length === 0 && !deps.config.JWT_PRIVATE_KEYS) {
    await ensureIdTokenKey(deps)
    await deps.keys.readAgain()
  }
  const ring = deps.keys.now()
  const { keys, idTokenKeys } = ring
  const all = [...new Set([...idTokenKeys, ...keys])]
  const [{ algorithm: alg, kid }] = keys as [SigningKey]
  return {
    accessTokens: { alg, kid },
    jwks: { keys: all.map(({ privateJwk }) => privateJwk) },
    signing: all,
    algorithms: [...new Set(all.map(({ algorithm }) => algorithm))],
    id: all.map(({ kid }) => kid).join(),
    ring,
  }
}
