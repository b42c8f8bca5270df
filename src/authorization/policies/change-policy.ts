import { inTenant } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { draftOf } from './draft-of.ts'
import { permitPolicy } from './permit-policy.ts'
import type { Draft, NewPolicyBody, PolicyChange } from './policy-body.ts'
import { findVersion } from './version-store.ts'
import { type PolicyDeps, type Written, writePolicy } from './write-policy.ts'

/** Creates a policy, which counts from the next request on. 409 `limit_reached` beyond 500; 422 `policy_invalid`. */
export function createPolicy(
  deps: PolicyDeps,
  caller: Caller,
  { change_reason, ...body }: NewPolicyBody,
  text: () => string,
): Promise<Written> {
  const id = timeOrderedId(deps.clock())
  return writePolicy(deps, caller, { id: null, text }, () => ({ id, body, reason: change_reason }))
}

/** Writes the next version of a policy; what the change does not name stays as it is. 412 beside `ifMatch`. */
export function changePolicy(
  deps: PolicyDeps,
  caller: Caller,
  id: string,
  asked: { change: PolicyChange; ifMatch: Versions; text: () => string },
): Promise<Written> {
  const { change_reason, kind: _kind, ...change } = asked.change
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  return writePolicy(deps, caller, { id, text: asked.text }, (current, { roles }) => {
    permitPolicy(caller, current, roles)
    assertAmong(asked.ifMatch, current.version)
    return { id, body: { ...draftOf(current), ...given }, reason: change_reason }
  })
}

/** Writes an earlier version again, as the newest. 404 for a version that never was. */
export async function rollBackPolicy(
  deps: PolicyDeps,
  caller: Caller,
  id: string,
  version: number,
  reason: string,
  text: () => string,
): Promise<Written> {
  const earlier = await inTenant(deps.db, caller, (tx) => findVersion(tx, caller.tenantId, id, version))
  return writePolicy(deps, caller, { id, text }, (current, { roles }) => {
    permitPolicy(caller, current, roles)
    if (!earlier) throw notFound()
    const body: Draft = { ...earlier.source, kind: 'json' }
    return { id, body, reason: reason || `Back to version ${version}` }
  })
}
