import { isDeepStrictEqual } from 'node:util'
import { readInTenant } from '../../database/executor/read.ts'
import { assertAlive, assertEnterable, assertNotEndedHere } from '../check-session.ts'
import { policiesOf } from '../policies-in-force.ts'
import type { PathDeps, RequestContext } from '../request-context.ts'

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
  assertEnterable(route, tokenTenantId, tenantId, auth, deps.publicUrl())
  request.caller = { ...caller, auth }
  request.policies = await policiesOf(deps.policyCache, request.caller)
  return true
}
