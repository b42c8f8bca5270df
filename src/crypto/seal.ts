import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** What a derived key is used for. Two purposes never share a key (RFC 5869 `info`). */
export type Purpose =
  | 'totp'
  | 'refresh-jti'
  | 'cursor'
  | 'promotion'
  | 'recovery-code'
  | 'webhook'
  | 'signing-key'
  | 'mail'
  | 'mail-recipient'
  | 'email-code'
  | 'magic-link'
  | 'sign-in-flow'
  | 'oauth-refresh'
  | 'oauth-token'
  | 'oauth-logout'
  | 'oauth-user-code'
  | 'oauth-nonce'
  | 'idempotency'
  | 'stored-call'
  | 'connection'
  | 'federation'

/** Encrypts and computes keyed hashes with keys derived from SECRET_KEYS. The first key encrypts; all keys decrypt. */
export interface Sealer {
  /** AES-256-GCM: key id (4 bytes), nonce (12), tag (16), ciphertext. {@link open} needs the same `context`. */
  seal(purpose: Purpose, text: string, context: string): Buffer
  /** Throws when no key fits, the bytes were changed, or purpose or context differ. */
  open(purpose: Purpose, sealed: Buffer, context: string): string
  /** The ids of the keys, with which everything that they sealed begins (4 bytes each). */
  readonly keyIds: readonly Buffer[]
  /** True when an older key sealed this, so it should be sealed again. */
  isStale(sealed: Buffer): boolean
  /** HMAC-SHA256 under the newest key. */
  mac(purpose: Purpose, text: string): Buffer
  /** HMAC-SHA256 under every key, newest first: for values written before a rotation. */
  macs(purpose: Purpose, text: string): Buffer[]
}

/** Makes a sealer from the keys (32 bytes each), the newest first. */
export function createSealer(keys: Buffer[]): Sealer {
  const ring = keys.map((key) => ({ id: createHash('sha256').update(key).digest().subarray(0, 4), key }))
  const newest = ring[0]
  if (!newest) throw new Error('A sealer needs a key')
  const derived = new Map<string, KeyObject>()
  const derive = (entry: { id: Buffer; key: Buffer }, purpose: Purpose) => {
    const name = `${entry.id.toString('hex')}:${purpose}`
    const known =
      derived.get(name) ??
      createSecretKey(Buffer.from(hkdfSync('sha256', entry.key, '', `bailiwick:${purpose}`, 32)))
    derived.set(name, known)
    return known
  }
  const mac = (entry: { id: Buffer; key: Buffer }, purpose: Purpose, text: string) =>
    createHmac('sha256', derive(entry, purpose)).update(text).digest()

  return {
    seal(purpose, text, context) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', derive(newest, purpose), nonce)
      cipher.setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([newest.id, nonce, cipher.getAuthTag(), body])
    },
    open(purpose, sealed, context) {
      const entry = ring.find(({ id }) => id.equals(sealed.subarray(0, 4)))
      if (!entry) throw new Error('Sealed by a key that is not in SECRET_KEYS')
      const decipher = createDecipheriv('aes-256-gcm', derive(entry, purpose), sealed.subarray(4, 16))
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(sealed.subarray(16, 32))
      return Buffer.concat([decipher.update(sealed.subarray(32)), decipher.final()]).toString('utf8')
    },
    keyIds: ring.map(({ id }) => id),
    isStale: (sealed) => !newest.id.equals(sealed.subarray(0, 4)),
    mac: (purpose, text) => mac(newest, purpose, text),
    macs: (purpose, text) => ring.map((entry) => mac(entry, purpose, text)),
  }
}
