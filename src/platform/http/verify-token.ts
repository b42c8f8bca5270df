import type { Context } from 'koa'
import type { TokenSigner } from '../crypto/token-signer.ts'
import { tokenNotValid, unauthorized } from '../errors.ts'
import type { CallBudget } from './authenticate.ts'
import type { Caller } from './caller.ts'

/** The claims of a token, before its session is read. */
export type Claims = Pick<Caller, 'userId' | 'sessionId' | 'familyId' | 'tenantId' | 'jti' | 'token'>

interface VerifyDeps {
  signer: TokenSigner
  budget: CallBudget
  clock: () => number
}

/** The claims of the request's token. Throws 401, and 429 when the user or tenant has no calls left. */
export async function verifyToken({ signer, clock, budget }: VerifyDeps, http: Context): Promise<Claims> {
  const token = bearerToken(http)
  // The unverified header only selects the rules, which then require this kind in the header, the claims and the
  // signature.
  const kind = tokenType(token) === 'otp+jwt' ? 'otp_pending' : 'access'
  const claims = await signer.verify(kind, token, clock())
  const caller = { userId: claims.sub, tenantId: claims.tenant_id }
  budget.assertLeft(caller)
  const familyId = 'fid' in claims && typeof claims.fid === 'string' ? claims.fid : null
  return { ...caller, sessionId: claims.sid, familyId, jti: claims.jti, token: kind }
}

function tokenType(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).typ
  } catch {
    return undefined
  }
}

/** RFC 6750 §2.1; the scheme in any case. */
function bearerToken(http: Context): string {
  const [, token] = /^bearer +([\w.~+/=-]+)$/i.exec(http.get('authorization').trim()) ?? []
  if (token) return token
  throw http.get('authorization') === ''
    ? unauthorized('not_authenticated', 'Send an access token: Authorization: Bearer <token>.')
    : tokenNotValid('The Authorization header must be: Bearer <token>.')
}
