import { createHash } from 'node:crypto'
import { type CryptoKey, errors, type JSONWebKeySet, type JWK, jwtVerify, SignJWT } from 'jose'
import { tokenNotValid } from '../errors.ts'

/** The kinds of signed tokens; `typ` and `token_type` both say which, and no consumer takes another (RFC 8725 §3.11). */
export type TokenKind = 'access' | 'refresh' | 'otp_pending'

const headerType: Record<TokenKind, string> = { access: 'at+jwt', refresh: 'rt+jwt', otp_pending: 'otp+jwt' }

/** A key that signs, and what verifiers need of it. */
export interface SigningKey {
  kid: string
  algorithm: 'ES256' | 'EdDSA' | 'RS256'
  privateKey: CryptoKey
  publicKey: CryptoKey
  publicJwk: JWK
}

/** The keys in force: the first signs, all verify. Replaced as a whole when keys rotate. */
export interface KeyRing {
  issuer: string
  audience: string
  keys: readonly SigningKey[]
}

/** Claims of any token of ours; times are whole seconds (RFC 7519 §2). */
export interface Claims {
  sub: string
  sid: string
  jti: string
  iat: number
  exp: number
  [claim: string]: unknown
}

export interface TokenSigner {
  sign(kind: TokenKind, claims: Claims): Promise<string>
  /** Gives the claims of a token of exactly this kind; throws 401 `token_not_valid` for anything else. `now` in ms. */
  verify(kind: TokenKind, token: string, now: number): Promise<Claims>
  jwks(): JSONWebKeySet
}

const clockTolerance = 5
const longestToken = 8_192
const cacheSize = 10_000

/**
 * Signs and verifies with jose. Verified access tokens are remembered by digest until they expire: the signature
 * of a token does not change, and everything that can (session, membership, state) is read on each request. A token
 * that names an unknown key is tried once more after `lookAgain`, which may read the keys anew.
 */
export function createTokenSigner(
  ring: () => KeyRing,
  lookAgain: () => Promise<void> = async () => undefined,
): TokenSigner {
  const verified = new Map<string, { kid: string | undefined; claims: Claims }>()

  const check = async (kind: TokenKind, token: string, now: number) => {
    const { issuer, audience, keys } = ring()
    const { payload, protectedHeader } = await jwtVerify(
      token,
      ({ kid, alg }) => {
        const key = keys.find((k) => k.kid === kid && k.algorithm === alg)
        if (!key) throw new errors.JWKSNoMatchingKey()
        return key.publicKey
      },
      {
        issuer,
        audience,
        typ: headerType[kind],
        algorithms: [...new Set(keys.map((k) => k.algorithm))],
        requiredClaims: ['sub', 'sid', 'jti', 'iat', 'exp'],
        currentDate: new Date(now),
        clockTolerance,
      },
    )
    if (payload.token_type !== kind || typeof payload.sub !== 'string') throw tokenNotValid()
    return { kid: protectedHeader.kid, claims: payload as Claims }
  }

  const remember = (digest: string, found: { kid: string | undefined; claims: Claims }) => {
    const oldest = verified.size >= cacheSize && verified.keys().next()
    if (oldest && !oldest.done) verified.delete(oldest.value)
    verified.set(digest, found)
  }

  return {
    sign(kind, claims) {
      const { issuer, audience, keys } = ring()
      const key = keys[0]
      if (!key) throw new Error('There is no signing key')
      return new SignJWT({ ...claims, iss: issuer, aud: audience, token_type: kind })
        .setProtectedHeader({ alg: key.algorithm, kid: key.kid, typ: headerType[kind] })
        .sign(key.privateKey)
    },
    async verify(kind, token, now) {
      if (token.length > longestToken) throw tokenNotValid()
      const digest = createHash('sha256').update(`${kind}.${token}`).digest('base64')
      const known = verified.get(digest)
      if (known && known.claims.exp * 1000 > now && ring().keys.some((k) => k.kid === known.kid))
        return known.claims
      try {
        const found = await check(kind, token, now).catch(async (error) => {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
          await lookAgain()
          return check(kind, token, now)
        })
        if (kind === 'access') remember(digest, found)
        return found.claims
      } catch {
        throw tokenNotValid()
      }
    },
    jwks: () => ({ keys: ring().keys.map((key) => key.publicJwk) }),
  }
}
