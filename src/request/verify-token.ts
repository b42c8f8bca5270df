import type { Context } from 'koa'
import { uuidOfBase62 } from '../crypto/base62.ts'
import type { TokenSigner } from '../crypto/token-signer.ts'
import { tokenNotValid } from '../errors.ts'
import { presentedToken } from '../http/bearer-token.ts'
import { WithCredentials } from './answer/with-credentials.ts'
import { type Claims, countedFor } from './caller.ts'
import { proofChecker } from './dpop-proof.ts'
import type { ApiKeys, CallLimits } from './ports.ts'

export interface VerifyDeps {
  signer: TokenSigner
  apiKeys: ApiKeys
  callLimits: CallLimits
  clock: () => number
  /** What proofs of possession name: see {@link proofChecker}. */
  publicUrl: () => string
  /** Signs what a feature opened, for a client that holds tokens. Returns the whole body. */
  tokensOf(answer: WithCredentials): Promise<unknown>
}

/** How requests name their caller, and how their client keeps what it signs in with. */
export interface Credentials {
  arePresent(http: Context): boolean
  /** Throws 401, and 429 when the user or tenant has no calls left. */
  verify(http: Context): Promise<Claims>
  /** The body for the client. Throws 401 where it has to show a second factor first. */
  handOut(http: Context, answer: WithCredentials): Promise<unknown>
}

/** The tokens and keys of `Authorization: Bearer`, and tokens that are bound to a key. */
export function bearerTokens(deps: VerifyDeps): Credentials {
  const checkProof = proofChecker(deps)
  return {
    arePresent: (http) => http.get('authorization') !== '',
    verify: (http) => verifyToken({ ...deps, checkProof }, http),
    handOut: (_http, answer) => deps.tokensOf(answer),
  }
}

/** The answer as the client of these credentials receives it. */
export const inFormOf = async (credentials: Credentials, http: Context, answer: unknown): Promise<unknown> =>
  answer instanceof WithCredentials ? credentials.handOut(http, answer) : answer

/** The claims of the request's token. Throws 401, and 429 when the user or tenant has no calls left. */
async function verifyToken(
  deps: VerifyDeps & { checkProof: ReturnType<typeof proofChecker> },
  http: Context,
): Promise<Claims> {
  const { signer, clock, callLimits, apiKeys, checkProof } = deps
  const { token, isProven } = presentedToken(http)
  if (apiKeys.isKeyLike(token) && !isProven) return claimsOfKey(deps, token)
  // The unverified token only selects the rules, which then require this kind in the header, the claims and the
  // signature.
  const claims =
    'client_id' in partOf(token, 1)
      ? await claimsOfApplication(signer, token, clock())
      : await claimsOf(signer, partOf(token, 0).typ === 'otp+jwt' ? 'otp_pending' : 'access', token, clock())
  callLimits.assertLeft(countedFor(claims))
  await checkProof({ http, token, isProven, jkt: claims.application?.jkt })
  return claims
}

async function claimsOfKey({ apiKeys, callLimits }: VerifyDeps, key: string): Promise<Claims> {
  const claims = await apiKeys.claimsOf(key)
  if (!claims) throw tokenNotValid()
  callLimits.assertLeft(claims)
  return claims
}

/** The claims of a token of this kind. Throws 401 `token_not_valid`. `now` in ms. */
export async function claimsOf(
  signer: TokenSigner,
  kind: 'access' | 'otp_pending',
  token: string,
  now: number,
): Promise<Claims> {
  const claims = await signer.verify(kind, token, now)
  const familyId = 'fid' in claims && typeof claims.fid === 'string' ? claims.fid : null
  const { sub: userId, tenant_id: tenantId, sid: sessionId, jti } = claims
  const claimed = { userId, tenantId, sessionId, familyId, jti, subjectType: 'user' } as const
  const act = 'act' in claims ? (claims.act as { sub: string } | undefined) : undefined
  return act ? { ...claimed, token: 'impersonation', impersonatorId: act.sub } : { ...claimed, token: kind }
}

/** The claims of a token that an application got for this API. Throws 401 `token_not_valid`. */
async function claimsOfApplication(signer: TokenSigner, token: string, now: number): Promise<Claims> {
  const { sub, tenant_id, client_id, gid, jti, cnf, ...claims } = await signer.verify('oauth', token, now)
  // The id of a client names its tenant and its row.
  const [ofTenant, clientId] = [client_id.slice(4, 26), client_id.slice(26)].map(uuidOfBase62)
  if (ofTenant !== tenant_id || !clientId) throw tokenNotValid()
  const { scope, acr = 'aal1', amr = [], auth_time: authTime = 0 } = claims
  return {
    userId: sub,
    tenantId: tenant_id,
    sessionId: gid ?? clientId,
    familyId: null,
    jti,
    token: 'oauth',
    subjectType: gid ? 'user' : 'service_account',
    application: { clientId, scopes: scope.split(' ').filter(Boolean), acr, amr, authTime, jkt: cnf?.jkt },
  }
}

/** A part of a token, not verified: an empty object for what is none. */
function partOf(token: string, part: 0 | 1): { typ?: unknown; client_id?: unknown } {
  try {
    const read = JSON.parse(Buffer.from(token.split('.')[part] ?? '', 'base64url').toString())
    return typeof read === 'object' && read !== null ? read : {}
  } catch {
    return {}
  }
}
