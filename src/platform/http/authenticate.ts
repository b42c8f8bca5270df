import { randomUUIDv7 } from 'node:crypto'
import type { Context } from 'koa'
import { ApiError, insufficientAuthentication, notFound, sessionRevoked, tokenNotValid } from '../errors.ts'
import { isUuid } from '../uuid.ts'
import type { AuthContext, Caller } from './caller.ts'
import { evaluate, resourceIn } from './decide.ts'
import type { DecidedRoute, PathDeps, RequestContext } from './request-context.ts'
import type { Route } from './route.ts'
import { viewRows } from './row-view.ts'
import type { Claims } from './verify-token.ts'

/** Counts the calls of people and tenants. */
export interface CallBudget {
  /** Throws 429 `throttled` where nothing is left; counts nothing. */
  assertLeft(caller: { userId: string; tenantId: string }): void
  /** Counts a call; gives headers that tell what is left (none where nothing is limited); throws 429 `throttled`. */
  spend(caller: { userId: string; tenantId: string }): Record<string, string>
}

/**
 * Reads what the database says about the caller, and the policies in force for them. Throws 401; 429; and for the path
 * of another tenant 403 `tenant_mismatch` or 404.
 */
export async function authenticate(
  deps: PathDeps,
  http: Context,
  route: DecidedRoute,
  claims: Claims,
): Promise<RequestContext> {
  const tenantId = scopeOf(route, claims.tenantId, http.params)
  const auth = await deps.loadAuthContext({ ...claims, tenantId })
  assertAlive(claims.token, auth)
  if (auth.session.overHere && tenantId === claims.tenantId) throw sessionRevoked()
  // Only now: the token of an ended session must not spend what its owner has left.
  http.set(deps.budget.spend(claims))
  if (route.scope !== 'token') assertInside(route, claims.tenantId, tenantId, auth)
  if (tenantId !== claims.tenantId) assertMayReachIn(route, auth)

  const decisionId = randomUUIDv7()
  Object.assign(http.state, { userId: claims.userId, tenantId, decisionId })
  const may: Caller['may'] = (resource) =>
    evaluate(deps, request, 'resource', resourceIn(request, resource)).decision.effect === 'allow'
  const { requestInfo } = http.state
  const viewOfRows = () => viewRows(deps, request)
  const caller: Caller = {
    ...claims,
    tokenTenantId: claims.tenantId,
    tenantId,
    auth,
    requestInfo,
    decisionId,
    may,
    viewOfRows,
  }
  const { tenant } = auth
  const loading = tenant && deps.loadPolicies(caller, tenant.policyRevision)
  const policies = loading instanceof Promise ? await loading : loading
  const request: RequestContext = { http, route, caller, policies, now: deps.clock(), decided: null }
  return request
}

/** A temporary token that was used, or ended with the sessions of its person, is a token no longer. */
function assertAlive(token: Caller['token'], auth: AuthContext | null): asserts auth is AuthContext {
  if (auth && !auth.user.isActive) throw sessionRevoked()
  if (auth && !auth.session.over) return
  throw token === 'otp_pending' ? tokenNotValid() : sessionRevoked()
}

/** A malformed id in a path is an unknown one. Gives it in lower case. */
export function pathId(text: string | undefined): string {
  const id = (text ?? '').toLowerCase()
  if (!isUuid(id)) throw notFound()
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

/** 401: the session was ended in a tenant and lives on elsewhere; a new login leads in again. */
export const sessionsEnded = () =>
  insufficientAuthentication('aal1', null, 'Your session was ended in this tenant. Log in again.')

/** Whoever changes a tenant without having entered it shows what entering it takes, else that would protect nothing. */
function assertMayReachIn({ method }: Route, { tenant, session }: AuthContext) {
  if (session.overHere) throw sessionsEnded()
  if (method === 'GET' || !tenant?.requireMfa || session.acr === 'aal2') return
  throw insufficientAuthentication(
    'aal2',
    null,
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/ first.',
  )
}
