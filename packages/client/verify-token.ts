import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { NoAnswer } from './problem.ts'
import { rootOf } from './transport.ts'

/** The claims of an access token. Times are in s since 1970. */
export interface AccessClaims extends JWTPayload {
  /** Id of the person. */
  sub: string
  /** Id of the session. */
  sid: string
  tenant_id: string
  /** Absent if another member acts as this person. */
  email?: string
  /** Names of the roles in the tenant, when the token was issued. */
  roles: string[]
  acr: 'aal1' | 'aal2'
  amr: string[]
  auth_time: number
  /** Who acts as this person, if anyone does. Show it, and leave out what only the person may do. */
  act?: { sub: string }
  exp: number
}

/** The token is malformed, expired, of another kind, or not from this service for this audience. */
export class TokenNotValid extends Error {
  readonly isExpired: boolean

  constructor(cause: unknown) {
    const isExpired = cause instanceof errors.JWTExpired
    super(isExpired ? 'The access token has expired.' : 'The access token is not valid.', { cause })
    this.name = 'TokenNotValid'
    this.isExpired = isExpired
  }
}

export interface VerifierOptions {
  /** Address of the service. */
  url: string
  /** `JWT_ISSUER` of the service, or else its `PUBLIC_URL`: the `iss` of its tokens. */
  issuer: string
  /** `JWT_AUDIENCE` of the service, `bailiwick` if absent. */
  audience?: string
}

export interface VerifyToken {
  (token: string): Promise<AccessClaims>
  /** What the tokens have to name. A guard compares it with what the service says. */
  readonly expects?: { issuer: string; audience: string }
}

const algorithms = ['ES256', 'EdDSA', 'RS256']

/**
 * Makes a function that verifies access tokens without calling the service (RFC 9068 §4). The keys are fetched once, and
 * again when a token names an unknown one. It throws {@link TokenNotValid}, and `NoAnswer` if the keys cannot be fetched.
 * An ended session is noticed only when its token expires; `authorize` notices it at once.
 */
export function tokenVerifier({ url, issuer, audience = 'bailiwick' }: VerifierOptions): VerifyToken {
  const keys = createRemoteJWKSet(new URL(`${rootOf(url)}/.well-known/jwks.json`), { timeoutDuration: 3_000 })
  const verify = async (token: string) => {
    try {
      const required = ['sub', 'sid', 'tenant_id', 'exp', 'iat', 'jti']
      const options = { issuer, audience, typ: 'at+jwt', algorithms, requiredClaims: required }
      const { payload } = await jwtVerify<AccessClaims>(token, keys, options)
      return payload
    } catch (error) {
      throw isOfToken(error) ? new TokenNotValid(error) : new NoAnswer(error)
    }
  }
  return Object.assign(verify, { expects: { issuer, audience } })
}

/** An unknown key id is the token's fault, as everything in it; other errors are of the way to the keys. */
const isOfToken = (error: unknown): boolean =>
  error instanceof errors.JWTExpired ||
  error instanceof errors.JWTClaimValidationFailed ||
  error instanceof errors.JWTInvalid ||
  error instanceof errors.JWSInvalid ||
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JOSEAlgNotAllowed ||
  error instanceof errors.JOSENotSupported ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys
