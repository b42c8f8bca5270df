import { hash } from 'node:crypto'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { callOutside, type FederationSettings } from '../../federation/call-upstream.ts'
import { assertionAlgorithms } from '../clients/public-keys.ts'
import type { UsableClient } from '../clients/store.ts'
import { mismatch } from './match-claims.ts'

type Terms = NonNullable<UsableClient['trust']>

/** A JWT is no assertion if it is longer: no platform writes such ones. */
const maxLength = 16 * 1024
/** It ends within a day. In s. */
const longest = 86_400
const clockTolerance = 60
const limits = { ms: 5_000, bytes: 64 * 1024 }
const maxIssuers = 500
/** How long what an issuer says of itself counts. In ms. */
const discoveryMs = 3_600_000

/** An assertion that says what a trust asks for. */
export interface Proven {
  subject: string
  /** What no other assertion of the issuer has. */
  id: string
  /** s since 1970 */
  endsAt: number
}

/** What a JWT says, unverified; null for a text that is none. */
export function unverified(text: string): JWTPayload | null {
  try {
    return text.length > maxLength ? null : decodeJwt(text)
  } catch {
    return null
  }
}

/** Checks assertions against the keys of their issuers, which are read once for all, and again when they rotate. */
export function assertionChecker(settings: FederationSettings) {
  const issuers = new Map<string, { keys: Promise<JWTVerifyGetKey>; at: number }>()

  const keysOf = ({ issuer, jwks }: Terms, now: number): Promise<JWTVerifyGetKey> => {
    if (jwks) return Promise.resolve(createLocalJWKSet(jwks as never))
    const known = issuers.get(issuer)
    if (known && known.at > now - discoveryMs) return known.keys
    const oldest = issuers.size >= maxIssuers && issuers.keys().next()
    if (oldest && !oldest.done) issuers.delete(oldest.value)
    const keys = readIssuer(settings, issuer)
    issuers.set(issuer, { keys, at: now })
    // The next assertion asks again.
    keys.catch(() => issuers.delete(issuer))
    return keys
  }

  /**
   * RFC 7523 §3: signature, issuer, audience, times, and the claims of the trust. Rejects with an error whose message is for the
   * workload. `now` in ms since 1970.
   */
  return async (terms: Terms, text: string, now: number): Promise<Proven> => {
    if (text.length > maxLength) throw new Error('The assertion is too long')
    const keys = await keysOf(terms, now).catch(() => {
      throw new Error('The keys of the issuer cannot be read')
    })
    const { payload, protectedHeader } = await jwtVerify(text, keys, {
      issuer: terms.issuer,
      audience: terms.audience,
      algorithms: [...assertionAlgorithms],
      requiredClaims: ['sub', 'exp'],
      currentDate: new Date(now),
      clockTolerance,
    }).catch((error) => {
      throw new Error(
        error instanceof errors.JOSEError
          ? `The assertion is not valid: ${error.message}`
          : 'The keys of the issuer cannot be read',
      )
    })
    // An access token, and others that name their kind, are no assertions (RFC 8725 §3.11).
    if (!/^(application\/)?jwt$/i.test(protectedHeader.typ ?? 'jwt'))
      throw new Error('The JWT is of another kind')
    const wrong = mismatch(terms.claims, payload)
    if (wrong !== undefined) throw new Error(`The trust asks for another ${wrong}`)
    const { sub, exp, jti } = payload
    if (exp! > now / 1000 + longest) throw new Error('An assertion ends within a day')
    // Without a jti the signed part is what is used once: one signature has several spellings.
    return {
      subject: sub!,
      id: hash('sha256', `${terms.issuer} ${jti ?? text.slice(0, text.lastIndexOf('.'))}`, 'base64url'),
      endsAt: exp!,
    }
  }
}

async function readIssuer(settings: FederationSettings, issuer: string): Promise<JWTVerifyGetKey> {
  const call = (url: string) =>
    callOutside(settings, url, { headers: { Accept: 'application/json' } }, limits)
  const answer = await call(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const { issuer: named, jwks_uri: uri } = (await answer.json()) as Record<string, unknown>
  if (named !== issuer || typeof uri !== 'string')
    throw new Error('The discovery document is of another issuer')
  return createRemoteJWKSet(new URL(uri), { [customFetch]: (url: string) => call(url) })
}
