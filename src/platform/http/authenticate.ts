import type { Context } from 'koa'
import type { TokenSigner } from '../crypto/token-signer.ts'
import {
  ApiError,
  insufficientAuthentication,
  notFound,
  sessionRevoked,
  tokenNotValid,
  unauthorized,
} from '../errors.ts'
import type { Turnstile } from '../turnstile.ts'
import type { AuthContext, LoadAuthContext } from './caller.ts'
import type { Route } from './route.ts'

/** A token whose signature, kind and session were checked, and the tenant the request is scoped to. */
export interface Bearer {
  userId: string
  sessionId: string
  /** The refresh family that the token came with; null where it names none. */
  familyId: string | null
  tokenTenantId: string
  tenantId: string
  token: 'access' | 'otp_pending'
  jti: string
  auth: AuthContext
}

export interface AuthenticateDeps {
  signer: TokenSigner
  loadAuthContext: LoadAuthContext
  budget: CallBudget
  turns: { ofTenant: Turnstile }
  clock: () => number
}

/** Counts the calls of people and tenants. */
export interface CallBudget {
  /** Throws 429 `throttled` where nothing is left; counts nothing. */
  assertLeft(caller: { userId: string; tenantId: string }): void
  /** Counts a call; gives headers that tell what is left (none where nothing is limited); throws 429 `throttled`. */
  spend(caller: { userId: string; tenantId: string }): Record<string, string>
}

/**
 * Gives the bearer of a request, whose token says `claims`; throws 401, and for another tenant's path 403
 * `tenant_mismatch` or 404.
 */
export async function authenticate(
  deps: AuthenticateDeps,
  ctx: Context,
  route: Route,
  claims: Claims,
): Promise<Bearer> {
  const tenantId = scopeOf(route, claims.tenantId, ctx.params)
  const auth = await deps.loadAuthContext({ ...claims, tenantId })
  assertAlive(claims.token, auth)
  // Only now: whoever keeps a token of an ended session could else spend what its owner has.
  ctx.set(deps.budget.spend(claims))
  if (route.scope !== 'token') assertInside(route, claims.tenantId, tenantId, auth)
  if (tenantId !== claims.tenantId) assertMayReachIn(route, auth)
  return { ...claims, tokenTenantId: claims.tenantId, tenantId, auth }
}

/** A temporary token that was used, or ended with the sessions of its person, is a token no longer. */
function assertAlive(token: Bearer['token'], auth: AuthContext | null): asserts auth is AuthContext {
  if (auth && !auth.user.isActive) throw sessionRevoked()
  if (auth && !auth.session.over) return
  throw token === 'otp_pending' ? tokenNotValid() : sessionRevoked()
}

/** RFC 6750 §2.1; the scheme in any case. */
function bearerToken(ctx: Context): string {
  const [, token] = /^bearer +([\w.~+/=-]+)$/i.exec(ctx.get('authorization').trim()) ?? []
  if (token) return token
  throw ctx.get('authorization') === ''
    ? unauthorized('not_authenticated', 'Send an access token: Authorization: Bearer <token>.')
    : tokenNotValid('The Authorization header has to be: Bearer <token>.')
}

/** What a token says of whom it was issued to, before anything is known of their session. */
export type Claims = Pick<Bearer, 'userId' | 'sessionId' | 'familyId' | 'tenantId' | 'jti' | 'token'>

/** The claims of the token that a request bears; throws 401, and 429 where its person or tenant has no calls left. */
export async function readClaims({ signer, clock, budget }: AuthenticateDeps, ctx: Context): Promise<Claims> {
  const token = bearerToken(ctx)
  // The kind is read from the header to choose the rules, which then demand it of header, claims and signature.
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

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A malformed id in a path is an unknown one. Gives it in lower case. */
export function pathId(text: string | undefined): string {
  const id = (text ?? '').toLowerCase()
  if (!uuidForm.test(id)) throw notFound()
  return id
}

const scopeOf = (route: Route, tokenTenantId: string, params: Record<string, string>) =>
  route.scope === 'token' ? tokenTenantId : pathId(params.id)

function assertInside(route: Route, tokenTenantId: string, tenantId: string, auth: AuthContext) {
  // Whoever belongs no more to the tenant of their token is told so by the engine, as on every other route.
  if (route.scope === 'inside' && tenantId === tokenTenantId) return
  if (auth.membership?.status !== 'active') throw notFound()
  if (route.scope === 'inside')
    throw new ApiError(
      403,
      'tenant_mismatch',
      'Your token is for another tenant: POST /api/v1/auth/switch-tenant/ first.',
    )
}

/** Whoever changes a tenant without having entered it shows what entering it takes, else that would protect nothing. */
function assertMayReachIn({ method }: Route, { tenant, session }: AuthContext) {
  if (method === 'GET' || !tenant?.requireMfa || session.acr === 'aal2') return
  throw insufficientAuthentication(
    'aal2',
    null,
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/ first.',
  )
}
