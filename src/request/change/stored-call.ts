import { type Read, readInTenant } from '../../database/executor/read.ts'
import { enter } from '../authenticate.ts'
import { parsed } from '../body/field-errors.ts'
import { parseText } from '../body/read-body.ts'
import type { AuthContext, Caller } from '../caller.ts'
import { assertAlive, assertNotEndedHere } from '../check-session.ts'
import { decideRoute, logDecision } from '../decide.ts'
import type { DecidedRoute, Input, PathDeps, RequestContext } from '../request-context.ts'
import type { Route } from '../route.ts'
import type { StoredCall } from './approvals.ts'
import { runChange } from './run-change.ts'

/**
 * Whether a call of this route can be stored: a change inside one tenant, without secrets in its body or its answer.
 * A stored body is read again by the same schema.
 */
export const isStorable = ({ kind, secret, shownBody, query, ...route }: Route): boolean =>
  kind === 'change' && !secret && !shownBody && !query && !('into' in route && route.into)

/** The call of a request, to be stored. Null if its route or its credentials cannot be used later. */
export function storedCallOf({ http, route, caller }: RequestContext, input: Input): StoredCall | null {
  const { userId, sessionId, familyId, tokenTenantId: tenantId, jti, token, subjectType } = caller
  if (!input.respondAsync || token !== 'access' || caller.impersonator || !isStorable(route)) return null
  const claims = { userId, sessionId, familyId, tenantId, jti, token, subjectType }
  const { method, path } = route
  const { params, ifMatch, requestInfo } = input
  return { method, route: path, path: http.path, params, body: input.text(), ifMatch, claims, requestInfo }
}

/** What carrying out needs from the process. */
export interface StoredDeps extends PathDeps {
  /**
   * As `loadAuthContext`; a session that its person or time has ended is enough, because the person asked before. But not
   * if all sessions of the person were ended since `storedAt`.
   */
  loadRequester(
    read: Read,
    bearer: Pick<Caller, 'userId' | 'sessionId' | 'familyId' | 'tenantId'> & { storedAt: number },
  ): Promise<AuthContext | null>
}

/**
 * Carries out a stored call as its requester, decided anew by the policies of this moment. The approval is consumed in
 * the transaction of the effect. Throws what the call would answer.
 */
export async function runStoredCall(
  deps: StoredDeps,
  route: Route,
  call: StoredCall,
  { tenantId, approvalId }: { tenantId: string; approvalId: string },
): Promise<void> {
  const { claims, requestInfo, params, ifMatch, storedAt = 0 } = call
  const scope = { ...claims, tenantId, storedAt }
  const readAuth = async (read: Read) => {
    const loaded = await deps.loadRequester(read, scope)
    return loaded && withoutLaterMembership(loaded, storedAt)
  }
  const auth = await readInTenant(deps.db, scope, readAuth)
  assertAlive(claims.token, auth)
  assertNotEndedHere(auth, claims, tenantId)
  const http = { path: call.path, state: { requestInfo }, set: () => undefined }
  const request = await enter(deps, http, route as DecidedRoute, { claims, tenantId, auth, readAuth })
  try {
    decideRoute(deps, request)
    const input = {
      params,
      body: route.method === 'GET' ? undefined : parsed(route.body, parseText(call.body)),
      query: undefined,
      ifMatch,
      approvalId,
      idempotencyKey: null,
      respondAsync: true,
      text: () => call.body,
      bearer: noBearer,
      requestInfo,
      caller: request.caller,
    }
    if (route.kind !== 'change') throw new Error('A stored call changes nothing')
    const asked = { approvalId, asksApproval: true, repeatable: null, stored: call, later: true }
    await runChange(deps, request, { route, input, ...asked })
  } finally {
    await logDecision(deps, request)
  }
}

/** A requester who left the tenant and joined it again is not the member who asked. */
const withoutLaterMembership = (auth: AuthContext, storedAt: number): AuthContext =>
  (auth.membership?.joinedAt ?? 0) > storedAt ? { ...auth, membership: null } : auth

function noBearer(): never {
  throw new Error('A stored call has no token')
}
