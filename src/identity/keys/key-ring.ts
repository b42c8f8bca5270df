import { createPrivateKey, createPublicKey } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import type { KeyRing, SigningKey } from '../../crypto/token-signer.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Config } from '../../settings/config.ts'
import { developmentUrl } from '../../settings/loopback.ts'
import { insertKey, type KeyRow, type KeyUse, listKeys, lockKeys, type NewKey } from './store.ts'

type KeyDeps = Pick<Deps, 'db' | 'sealer' | 'clock' | 'config' | 'publicUrl'>

/** A new key is published this long (ms) before it signs, so that every process and verifier knows it by then. */
export const publishedMs = 90_000

/**
 * Reads the current keys, the signing key first: those of JWT_PRIVATE_KEYS if that is set, else those in Postgres, where
 * the first call creates a key. ID tokens have keys of their own, so that no key signs both: {@link ensureIdTokenKey}
 * makes the first.
 */
export async function loadKeyRing(deps: KeyDeps): Promise<KeyRing> {
  const { config } = deps
  const keys = config.JWT_PRIVATE_KEYS
    ? await Promise.all(ownKeys(config.JWT_PRIVATE_KEYS).map((jwk) => signingKey(jwk, algorithmOf(jwk))))
    : await storedKeys(deps, 'tokens')
  return {
    // In development it is known once the service listens.
    get issuer() {
      return config.JWT_ISSUER ?? deps.publicUrl()
    },
    isEarlierIssuer: (issuer) => !config.production && earlierIssuers.test(issuer),
    audience: config.JWT_AUDIENCE,
    keys,
    idTokenKeys: config.JWT_PRIVATE_KEYS
      ? keys.filter(({ algorithm }) => algorithm === 'RS256')
      : await storedKeys(deps, 'id_tokens'),
  }
}

/** Creates the first key that signs ID tokens, if none exists. With JWT_PRIVATE_KEYS it does nothing. */
export async function ensureIdTokenKey(deps: KeyDeps): Promise<void> {
  if (!deps.config.JWT_PRIVATE_KEYS) await ensureKey(deps, 'id_tokens')
}

async function storedKeys(deps: KeyDeps, use: KeyUse): Promise<SigningKey[]> {
  const now = deps.clock()
  const found = await readKeys(deps, use, now)
  const rows = found.length > 0 || use === 'id_tokens' ? found : await ensureKey(deps, use)
  return Promise.all(signerFirst(rows, now).map((row) => opened(deps, row)))
}

const readKeys = (deps: KeyDeps, use: KeyUse, now: number, fresh?: NewKey) =>
  asSystem(deps.db, 'keys belong to no tenant', async (tx) => {
    await lockKeys(tx)
    const rows = await listKeys(tx, use, now)
    if (rows.length > 0 || !fresh) return rows
    await insertKey(tx, use, fresh)
    return listKeys(tx, use, now)
  })

/** Generating a key takes up to seconds, so it happens outside of a transaction. */
async function ensureKey(deps: KeyDeps, use: KeyUse): Promise<readonly KeyRow[]> {
  const now = deps.clock()
  const found = await readKeys(deps, use, now)
  return found.length > 0 ? found : readKeys(deps, use, now, await makeKey(deps, use, now))
}

/** In development the port can change from start to start, and releases before 0.3 made up an id. */
const earlierIssuers = new RegExp(`^urn:bailiwick:[0-9a-f-]{36}$|${developmentUrl.source}`)

/** The newest key that was published long enough ago signs; the others only verify. */
export function signerFirst(newestFirst: readonly KeyRow[], now: number): KeyRow[] {
  const signer = newestFirst.find((key) => key.created_at <= now - publishedMs) ?? newestFirst.at(-1)
  return signer ? [signer, ...newestFirst.filter((key) => key !== signer)] : []
}

/**
 * A new key, sealed, with its RFC 7638 thumbprint as `kid`: of JWT_ALGORITHM for tokens, of RS256 for ID tokens, because
 * clients take no other algorithm unless they are told to (OpenID Connect Core §3.1.3.7).
 */
export async function makeKey(
  { sealer, config }: Pick<Deps, 'sealer' | 'config'>,
  use: KeyUse,
  now: number,
): Promise<NewKey> {
  const algorithm = use === 'tokens' ? config.JWT_ALGORITHM : 'RS256'
  const pair = await generateKeyPair(algorithm, { extractable: true, modulusLength: 3072 })
  const privateJwk = await exportJWK(pair.privateKey)
  const kid = await calculateJwkThumbprint(privateJwk)
  return {
    kid,
    algorithm,
    public_jwk: publicPart({ ...privateJwk, kid, alg: algorithm }),
    private_jwk_sealed: sealer.seal('signing-key', JSON.stringify(privateJwk), kid),
    created_at: now,
  }
}

const opened = ({ sealer }: KeyDeps, row: KeyRow) =>
  signingKey(JSON.parse(sealer.open('signing-key', row.private_jwk_sealed, row.kid)), row.algorithm)

async function signingKey(privateJwk: JWK, algorithm: SigningKey['algorithm']): Promise<SigningKey> {
  const kid = privateJwk.kid ?? (await calculateJwkThumbprint(privateJwk))
  const publicJwk = publicPart({ ...privateJwk, kid, alg: algorithm })
  return {
    kid,
    algorithm,
    privateKey: (await importJWK(privateJwk, algorithm)) as CryptoKey,
    publicKey: (await importJWK(publicJwk, algorithm)) as CryptoKey,
    publicJwk,
    privateJwk: { ...privateJwk, ...publicJwk },
  }
}

/** The public members of a key (RFC 7517). */
function publicPart({ kty, crv, x, y, n, e, kid, alg }: JWK): JWK {
  const all = { kty, crv, x, y, n, e, kid, alg, use: 'sig' }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JWK
}

/** JWT_PRIVATE_KEYS as JWKs: a JWK set, or PKCS#8 PEM blocks one after another. Throws if it holds no private key. */
function ownKeys(text: NonNullable<Config['JWT_PRIVATE_KEYS']>): JWK[] {
  const keys = text.trimStart().startsWith('{') ? keysOfSet(text) : keysOfPem(text)
  if (keys.length > 0 && keys.every((key) => typeof key?.d === 'string')) return keys
  throw new Error('JWT_PRIVATE_KEYS must hold private keys: a JWK set {"keys":[…]}, or PKCS#8 PEM blocks')
}

function keysOfSet(text: string): JWK[] {
  try {
    const { keys } = JSON.parse(text)
    return Array.isArray(keys) ? keys : []
  } catch {
    return [] // the parser's message would quote the key
  }
}

function keysOfPem(text: string): JWK[] {
  const blocks = text.match(/-----BEGIN PRIVATE KEY-----[\s\S]+?-----END PRIVATE KEY-----/g) ?? []
  return blocks.map((pem) => createPrivateKey(pem).export({ format: 'jwk' }) as JWK)
}

const minRsaBits = 3_072

/** Throws for a key of fewer bits than the strength of the other two algorithms asks for (NIST SP 800-57). */
function longEnough(jwk: JWK): 'RS256' {
  const { modulusLength = 0 } = createPublicKey({ key: jwk, format: 'jwk' }).asymmetricKeyDetails ?? {}
  if (modulusLength >= minRsaBits) return 'RS256'
  throw new Error(
    `JWT_PRIVATE_KEYS holds an RSA key of ${modulusLength} bits. RSA needs at least ${minRsaBits}: make one with openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:${minRsaBits}`,
  )
}

function algorithmOf(jwk: JWK): SigningKey['algorithm'] {
  if (jwk.kty === 'EC' && jwk.crv === 'P-256') return 'ES256'
  if (jwk.kty === 'OKP' && jwk.crv === 'Ed25519') return 'EdDSA'
  if (jwk.kty === 'RSA') return longEnough(jwk)
  throw new Error('JWT_PRIVATE_KEYS can hold P-256, Ed25519 and RSA keys only')
}
