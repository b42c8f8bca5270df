import { randomUUIDv7 } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from 'koa'
import { isUuid } from '../crypto/uuid.ts'
import { type Read, readInTenant } from '../database/executor/read.ts'
import { ApiError, insufficientAuthentication, notFound, sessionRevoked, tokenNotValid } from '../errors.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { reasonSentence } from '../policy-engine/evaluate/reasons.ts'
import { detailReader, viewRows } from './answer/row-view.ts'
import type { AuthContext, Caller, Claims } from './caller.ts'
import { decidersOf, evaluate, resourceIn } from './decide.ts'
import type { Loading } from './load-request.ts'
import type { DecidedRoute, PathDeps, RequestContext } from './request-context.ts'
import type { Route } from './route.ts'
import { spenderOf } from './verify-token.ts'

/** Limits the calls of users and tenants. */
export interface CallBudget {
  /** Throws 429 `throttled` when no calls are left. Does not count. */
  assertLeft(caller: { userId: string; tenantId: string }): void
  /** Counts a call and gives the headers with the remaining calls (none without limits). Throws 429 `throttled`. */
  spend(caller: { userId: string; tenantId: string }): Record<string, string>
}

/**
 * Judges the caller's auth context, and gives it with the tenant's policies. Throws 401 and 429, and for the path of
 * another tenant 403 `tenant_mismatch` or 404.
 */
export async function authenticate(
  deps: PathDeps,
  http: Context,
  route: DecidedRoute,
  claims: Claims,
  { tenantId, auth: loading }: Pick<Loading, 'tenantId' | 'auth'>,
): Promise<RequestContext> {
  const auth = await loading
  assertAlive(claims.token, auth)
  if (claims.token === 'key' || claims.token === 'impersonation') assertOpenTo(route, claims, tenantId)
  assertNotEndedHere(auth, claims, tenantId)
  // Count only now: the token of an ended session must not use up its owner's calls.
  http.set(deps.budget.spend(spenderOf(claims)))
  const readAuth = (read: Read) => deps.loadAuthContext(read, { ...claims, tenantId })
  return enter(deps, http, route, { claims, tenantId, auth, readAuth })
}

/**
 * Enters the tenant of a request with a live auth context, and gives it with the tenant's policies. Throws 401, and for
 * the path of another tenant 403 `tenant_mismatch` or 404.
 */
export async function enter(
  deps: PathDeps,
  http: RequestContext['http'],
  route: DecidedRoute,
  { claims, tenantId, auth, readAuth }: Entered,
): Promise<RequestContext> {
  assertEnterable(route, claims.tenantId, tenantId, auth)
  const decisionId = randomUUIDv7()
  const impersonator = auth.impersonator && { id: auth.impersonator.id, email: auth.impersonator.email }
  Object.assign(http.state, { userId: claims.userId, impersonatorId: impersonator?.id, tenantId, decisionId })
  const may: Caller['may'] = (resource) =>
    decidersOf(request).every(
      (one) => evaluate(deps, one, 'resource', resourceIn(one, resource)).decision.effect === 'allow',
    )
  const readerBy: Caller['readerBy'] = (action) => detailReader(deps, request, action)
  const requestInfo = http.state.requestInfo as RequestInfo
  const viewOfRows = () => viewRows(deps, request)
  const caller: Caller = {
    ...claims,
    tokenTenantId: claims.tenantId,
    tenantId,
    impersonator,
    auth,
    requestInfo,
    decisionId,
    may,
    readerBy,
    viewOfRows,
  }
  const policies = await policiesOf(deps, caller)
  const request: RequestContext = {
    http,
    route,
    caller,
    readAuth,
    policies,
    reading: null,
    now: deps.clock(),
    decided: null,
    isLogged: false,
  }
  if (route.readAction) request.reading = { ...request, route: { ...route, action: route.readAction } }
  return request
}

interface Entered {
  claims: Claims
  tenantId: string
  auth: AuthContext
  readAuth: RequestContext['readAuth']
}

/**
 * Reads the caller's rights and the policies again, after work that took long. True if anything changed: the request must
 * then be decided again. Throws what the request would answer now.
 */
export async function refreshCaller(deps: PathDeps, request: RequestContext): Promise<boolean> {
  const { caller, route } = request
  const { tenantId, tokenTenantId } = caller
  const auth = await readInTenant(deps.db, caller, request.readAuth)
  assertAlive(caller.token, auth)
  assertNotEndedHere(auth, { tenantId: tokenTenantId }, tenantId)
  if (isDeepStrictEqual(auth, caller.auth)) return false
  assertEnterable(route, tokenTenantId, tenantId, auth)
  request.caller = { ...caller, auth }
  request.policies = await policiesOf(deps, request.caller)
  return true
}

function policiesOf({ policyCache }: PathDeps, caller: Caller) {
  const { tenant } = caller.auth
  return tenant && policyCache.load(caller, tenant.policyRevision)
}

/** 401: the session was ended in the tenant of the token. */
export function assertNotEndedHere(
  auth: AuthContext,
  claims: Pick<Claims, 'tenantId'>,
  tenantId: string,
): void {
  if (auth.session.overHere && tenantId === claims.tenantId) throw sessionRevoked()
}

/** A temporary token is invalid after it was used, or when the sessions of its user ended. */
export function assertAlive(token: Caller['token'], auth: AuthContext | null): asserts auth is AuthContext {
  if (auth && !auth.user.isActive) throw token === 'key' ? tokenNotValid() : sessionRevoked()
  if (auth && !auth.session.over) return
  throw token === 'access' ? sessionRevoked() : tokenNotValid()
}

/**
 * Throws 404 for the path of another tenant than that of the key or impersonation, and 403 where the route takes a
 * session of the person.
 */
function assertOpenTo({ sessionOnly }: Route, { token, tenantId: own }: Claims, tenantId: string): void {
  if (tenantId !== own) throw notFound()
  const code = token === 'key' ? 'key_not_allowed' : 'impersonation_not_allowed'
  if (sessionOnly) throw new ApiError(403, code, reasonSentence(code))
}

/** The id in lower case. A malformed id is 404, like an unknown one. */
export function pathId(text: string | undefined): string {
  const id = (text ?? '').toLowerCase()
  if (!isUuid(id)) throw notFound()
  return id
}

function assertEnterable(route: Route, tokenTenantId: string, tenantId: string, auth: AuthContext): void {
  if (route.scope !== 'token') assertInside(route, tokenTenantId, tenantId, auth)
  if (tenantId !== tokenTenantId) assertAllowedFromOutside(route, auth)
}

function assertInside(route: Route, tokenTenantId: string, tenantId: string, auth: AuthContext) {
  // A caller who left the tenant of the token gets the engine's denial, as on every other route.
  if (route.scope === 'inside' && tenantId === tokenTenantId) return
  if (auth.membership?.status !== 'active') throw notFound()
  if (route.scope === 'inside')
    throw new ApiError(
      403,
      'tenant_mismatch',
      'Your token is for another tenant: POST /api/v1/auth/switch-tenant/ first.',
    )
}

/** 401: the session was ended in this tenant only. A new login gives access again. */
export const sessionsEnded = () =>
  insufficientAuthentication('aal1', null, 'Your session was ended in this tenant. Log in again.')

/** Writing to a tenant from outside needs the tenant's second factor. */
function assertAllowedFromOutside({ method }: Route, { tenant, session }: AuthContext) {
  if (session.overHere) throw sessionsEnded()
  if (method === 'GET' || !tenant?.requireMfa || session.acr === 'aal2') return
  throw insufficientAuthentication(
    'aal2',
    null,
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/ first.',
  )
}
