import {
  ApiError,
  insufficientAuthentication,
  notFound,
  sessionConfined,
  sessionRevoked,
  ssoRequired,
  tokenNotValid,
} from '../errors.ts'
import { actions } from '../policy-engine/catalogue/actions.ts'
import type { AuthContext, Caller, Claims } from './caller.ts'
import type { DecidedRoute } from './request-context.ts'
import type { Route } from './route.ts'

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

/** Throws 403 `session_confined`, and 404 for the path of another tenant, where a session by a connection is beyond its tenant. */
export function assertWithinConnection(
  { action, ofPerson = !actions[action].confined }: DecidedRoute,
  tenantId: string,
  { session: { connection } }: AuthContext,
  publicUrl: string,
): void {
  if (connection === null) return
  if (connection.tenantId !== tenantId) throw notFound()
  if (ofPerson) throw sessionConfined(publicUrl)
}

/** Throws 401, 403 and 404 where a caller may not enter the tenant of the path from the one of their token. */
export function assertEnterable(
  route: Route,
  tokenTenantId: string,
  tenantId: string,
  auth: AuthContext,
  publicUrl: string,
): void {
  if (route.scope !== 'token') assertInside(route, tokenTenantId, tenantId, auth)
  if (tenantId !== tokenTenantId) assertAllowedFromOutside(route, auth, publicUrl)
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
  insufficientAuthentication('aal1', null, 'Your session was ended in this tenant. Sign in again.')

/** Writing to a tenant from outside needs the tenant's second factor; and where it requires a connection, people have to enter it. */
function assertAllowedFromOutside({ method }: Route, { tenant, session }: AuthContext, publicUrl: string) {
  if (session.overHere) throw sessionsEnded()
  if (method !== 'GET' && tenant?.requireSso)
    throw ssoRequired(`${publicUrl}/sign-in/?organization=${tenant.id}`)
  if (method === 'GET' || !tenant?.requireMfa || session.acr === 'aal2') return
  throw insufficientAuthentication(
    'aal2',
    null,
    'This tenant requires a second factor: POST /api/v1/auth/otp/verify/ first.',
  )
}
