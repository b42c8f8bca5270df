import { randomUUIDv7 } from 'node:crypto'
import type { Context } from 'koa'
import type { Read } from '../database/executor/read.ts'
import { ApiError, notFound } from '../errors.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { TokenKind } from '../policy-engine/catalogue/actions.ts'
import { reasonSentence } from '../policy-engine/evaluate/reasons.ts'
import { detailReader, viewRows } from './answer/row-view.ts'
import { type AuthContext, boundKinds, type Caller, type Claims, countedFor } from './caller.ts'
import { assertAlive, assertEnterable, assertNotEndedHere, assertWithinConnection } from './check-session.ts'
import { decidersOf, deniedByPolicy, evaluate, resourceIn } from './decide.ts'
import { policiesOf } from './policies-in-force.ts'
import type { DecidedRoute, Loading, PathDeps, RequestContext } from './request-context.ts'
import type { Route } from './route.ts'

/**
 * Judges the caller's auth context, and gives it with the tenant's policies. Throws 401 and 429, and for the path of
 * another tenant 403 `tenant_mismatch` or 404. A call that `isCounted`
 * is not counted again.
 */
export async function authenticate(
  deps: PathDeps,
  http: Context,
  route: DecidedRoute,
  claims: Claims,
  { tenantId, auth: loading, isCounted }: Pick<Loading, 'tenantId' | 'auth'> & { isCounted: boolean },
): Promise<RequestContext> {
  const auth = await loading
  assertAlive(claims.token, auth)
  const bound = boundKinds[claims.token]
  if (bound) assertOpenTo(route, claims, tenantId, bound)
  assertNotEndedHere(auth, claims, tenantId)
  // Count only now: the token of an ended session must not use up its owner's calls.
  if (!isCounted) http.set(deps.callLimits.count(countedFor(claims)))
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
  const publicUrl = deps.publicUrl()
  assertWithinConnection(route, tenantId, auth, publicUrl)
  assertEnterable(route, claims.tenantId, tenantId, auth, publicUrl)
  const decisionId = randomUUIDv7()
  const impersonator = auth.impersonator && { id: auth.impersonator.id, email: auth.impersonator.email }
  Object.assign(http.state, { userId: claims.userId, impersonatorId: impersonator?.id, tenantId, decisionId })
  const may: Caller['may'] = (resource) =>
    decidersOf(request).every(
      (one) => evaluate(deps, one, 'resource', resourceIn(one, resource)).decision.effect === 'allow',
    )
  const denies: Caller['denies'] = (action, resource) => deniedByPolicy(deps, request, action, resource)
  const readerBy: Caller['readerBy'] = (action) => detailReader(deps, request, action)
  const requestInfo = http.state.requestInfo as RequestInfo
  const viewOfRows = () => viewRows(deps, request)
  const caller: Caller = {
    ...claims,
    ...(auth.keyMakerId && { keyMakerId: auth.keyMakerId }),
    tokenTenantId: claims.tenantId,
    tenantId,
    impersonator,
    auth,
    requestInfo,
    decisionId,
    may,
    denies,
    readerBy,
    viewOfRows,
  }
  const policies = await policiesOf(deps.policyCache, caller)
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
 * Throws 404 for the path of another tenant than that of the key, impersonation or application, and 403 with this code where
 * the route takes a session of the person.
 */
function assertOpenTo(
  { sessionOnly }: Route,
  { tenantId: own }: Claims,
  tenantId: string,
  code: NonNullable<(typeof boundKinds)[TokenKind]>,
): void {
  if (tenantId !== own) throw notFound()
  if (sessionOnly) throw new ApiError(403, code, reasonSentence(code))
}
