import type { GuardedCall } from './change/approvals.ts'
import type { RequestContext } from './request-context.ts'
import type { AnyInput } from './route.ts'

/** What of a change its approval is about. */
interface Guarded extends Pick<GuardedCall, 'stored' | 'later'> {
  input: Pick<AnyInput, 'params' | 'query' | 'body'>
}

/** A password proves who calls. It is no part of the change, and a digest of it would help to guess it. */
export function withoutPassword<Body>(body: Body): Body {
  if (typeof body !== 'object' || body === null || !('current_password' in body)) return body
  const { current_password: _password, ...change } = body
  return change as Body
}

/** The call that an approval is bound to. */
export function guardedCall(
  { http, route, caller, now }: RequestContext,
  { input: { params, query, body }, stored, later }: Guarded,
): GuardedCall {
  const { tenantId, userId, auth, requestInfo, decisionId } = caller
  const change = route.body ? withoutPassword(body) : null
  return {
    tenantId,
    userId,
    email: auth.user.email,
    callerType: auth.user.type,
    callerName: auth.user.email || auth.user.firstName,
    requestInfo,
    action: route.action,
    method: route.method,
    // The console serves the same routes under a path of its own.
    path: http.path.replace(/^\/console\/api\//, '/api/v1/'),
    route: route.path,
    params,
    query: query ?? null,
    body: change,
    shownBody: change === null ? null : (route.shownBody?.(change) ?? change),
    decisionId,
    now,
    httpStatus: route.status,
    stored,
    later,
  }
}
