import { hash } from 'node:crypto'
import { CompactSign, type CryptoKey, decodeJwt, errors, type JSONWebKeySet, type JWK, jwtVerify } from 'jose'
import type { ZodType } from 'zod'
import { tokenExpired, tokenNotValid } from '../errors.ts'
import { type ClaimsOf, claimsSchema, type TokenKind } from './token-claims.ts'

const headerType: Record<TokenKind, string> = {
  access: 'at+jwt',
  refresh: 'rt+jwt',
  otp_pending: 'otp+jwt',
  oauth: 'at+jwt',
  machine: 'at+jwt',
}

const whenExpired: Record<TokenKind, string> = {
  access: 'The access token has expired. Refresh it, or sign in again.',
  refresh: 'The refresh token has expired. Sign in again.',
  otp_pending: 'The temporary token has expired. Sign in again.',
  oauth: 'The access token has expired. Refresh it, or authorize again.',
  machine: 'The access token has expired. Get another one.',
}

/** A signing key, with its public part for verifiers. */
export interface SigningKey {
  kid: string
  algorithm: 'ES256' | 'EdDSA' | 'RS256'
  privateKey: CryptoKey
  publicKey: CryptoKey
  publicJwk: JWK
  privateJwk: JWK
}

/** The current keys: the first signs, all verify. A rotation replaces the whole ring. */
export interface KeyRing {
  readonly issuer: string
  /** Whether this installation issued tokens by that name before, which stay valid until they expire. */
  isEarlierIssuer(issuer: string): boolean
  /** The audience of access tokens only. */
  audience: string
  keys: readonly SigningKey[]
  /** The keys of ID tokens, in the same order; none until the first client needs one. They verify no token of the API. */
  idTokenKeys: readonly SigningKey[]
}

/** The kinds that the service gives its own clients. */
type OwnKind = Exclude<TokenKind, 'oauth' | 'machine'>

/** The audience of tokens that applications get for this API (RFC 8707), by its issuer: never that of a person's own. */
export const apiAudience = (issuer: string): string => `${issuer}/api/v1`

export interface TokenSigner {
  sign<Kind extends OwnKind>(kind: Kind, claims: ClaimsOf<Kind>): Promise<string>
  /**
   * Gives the claims of a token of exactly this kind; throws 401 `token_not_valid` for any other, with `reason` for an
   * expired one. `now` is in ms.
   */
  verify<Kind extends TokenKind>(kind: Kind, token: string, now: number): Promise<ClaimsOf<Kind>>
  jwks(): JSONWebKeySet
  /** The issuer and the audience of access tokens, which applications check. */
  names(): { issuer: string; audience: string }
}

/**
 * Only access tokens have applications as audience. Refresh and temporary tokens have this service as audience, so that
 * an application that checks signature, issuer and audience refuses them (RFC 7519 §4.1.3).
 */
const audienceOf = (kind: OwnKind, { issuer, audience }: KeyRing) => (kind === 'access' ? audience : issuer)

/**
 * Refresh and temporary tokens of release 0.1 have the audience of access tokens; they are accepted until they expire.
 */
function acceptedAudiences(kind: TokenKind, { audience }: KeyRing, issuer: string) {
  if (kind === 'machine') return {}
  if (kind === 'oauth') return { audience: apiAudience(issuer) }
  return { audience: kind === 'access' ? audience : [issuer, audience] }
}

/** The issuer that a token has to name. */
function expectedIssuer(token: string, { issuer, isEarlierIssuer }: KeyRing): string {
  const { iss = issuer } = decodeJwt(token)
  return isEarlierIssuer(iss) ? iss : issuer
}

/** Signs claims as a JWT of a type. */
export function signClaims(
  { algorithm: alg, kid, privateKey }: SigningKey,
  typ: string,
  claims: object,
): Promise<string> {
  // A JWT is a JWS of its claims (RFC 7519 §7.1). jose's SignJWT is the same, but copies the claims first, which takes longer
  // than to write them.
  return new CompactSign(Buffer.from(JSON.stringify(claims)))
    .setProtectedHeader({ alg, kid, typ })
    .sign(privateKey)
}

const clockTolerance = 5 // seconds
const maxTokenLength = 8_192
const cacheSize = 10_000

/**
 * Whether a part of a token is as RFC 7515 §2 writes it: jose also takes padding, and other bits after the last octet.
 */
const isBase64url = (part: string) => Buffer.from(part, 'base64url').toString('base64url') === part

interface Verified<Kind extends TokenKind> {
  kid: string | undefined
  claims: ClaimsOf<Kind>
}

/**
 * Signs and verifies with jose. Verified access tokens are cached by digest until they expire: a signature does not
 * change, and everything that can change (session, membership, state) is read on each request. A token that names an
 * unknown key is verified again after `lookAgain`, which can read the keys again.
 */
export function createTokenSigner(
  ring: () => KeyRing,
  lookAgain: () => Promise<void> = async () => undefined,
): TokenSigner {
  const verified = new Map<string, Verified<TokenKind>>()

  const check = async <Kind extends TokenKind>(
    kind: Kind,
    token: string,
    now: number,
  ): Promise<Verified<Kind>> => {
    if (!token.split('.').every(isBase64url)) throw new errors.JWTInvalid('The token is not in base64url')
    const inForce = ring()
    const { keys } = inForce
    const issuer = expectedIssuer(token, inForce)
    const { payload, protectedHeader } = await jwtVerify(
      token,
      ({ kid, alg }) => {
        const key = keys.find((k) => k.kid === kid && k.algorithm === alg)
        if (!key) throw new errors.JWKSNoMatchingKey()
        return key.publicKey
      },
      {
        issuer,
        ...acceptedAudiences(kind, inForce, issuer),
        typ: headerType[kind],
        algorithms: [...new Set(keys.map((k) => k.algorithm))],
        currentDate: new Date(now),
        clockTolerance,
      },
    )
    const schema: ZodType = claimsSchema[kind]
    return { kid: protectedHeader.kid, claims: schema.parse(payload) as ClaimsOf<Kind> }
  }

  const remember = (digest: string, found: Verified<TokenKind>) => {
    const oldest = verified.size >= cacheSize && verified.keys().next()
    if (oldest && !oldest.done) verified.delete(oldest.value)
    verified.set(digest, found)
  }

  return {
    sign(kind, claims) {
      const inForce = ring()
      const key = inForce.keys[0]
      if (!key) throw new Error('There is no signing key')
      const aud = audienceOf(kind, inForce)
      return signClaims(key, headerType[kind], { ...claims, iss: inForce.issuer, aud, token_type: kind })
    },
    async verify<Kind extends TokenKind>(kind: Kind, token: string, now: number) {
      if (token.length > maxTokenLength) throw tokenNotValid()
      const digest = hash('sha256', `${kind}.${token}`, 'base64')
      const known = verified.get(digest)
      if (known && known.claims.exp * 1000 > now && ring().keys.some((k) => k.kid === known.kid))
        return known.claims as ClaimsOf<Kind>
      try {
        const found = await check(kind, token, now).catch(async (error) => {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
          await lookAgain()
          return check(kind, token, now)
        })
        if (kind === 'access' || kind === 'oauth') remember(digest, found)
        return found.claims
      } catch (error) {
        // Thrown for a token with a valid signature, of this kind, issuer and audience.
        throw error instanceof errors.JWTExpired ? tokenExpired(whenExpired[kind]) : tokenNotValid()
      }
    },
    jwks() {
      const { keys, idTokenKeys } = ring()
      return { keys: [...new Set([...keys, ...idTokenKeys])].map((key) => key.publicJwk) }
    },
    names() {
      const { issuer, audience } = ring()
      return { issuer, audience }
    },
  }
}
