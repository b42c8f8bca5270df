import type { Deps } from '../../deps.ts'
import type { Slice, SlicePolicy } from '../../platform/access/compiled-policy.ts'
import { AuthorizationUnavailable } from '../../platform/access/engine.ts'
import { buildSlice, concerns, emptySlice } from '../../platform/access/slice.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { LoadPolicies, PoliciesInForce } from '../../platform/http/policies-in-force.ts'
import { listActivePolicies, type PolicyInStore } from './store.ts'

const maxBytes = 64 * 1024 * 1024

/** The policies of one tenant at one revision, with the slices that were asked for. */
interface Kept extends PoliciesInForce {
  bytes: number
}

/**
 * Keeps the tenants' policies in memory, 64 MB at most, the least recently used leaving first. What is kept counts
 * for exactly the revision that the standing of the request names; anything else is read again, once for all who
 * ask at the same time.
 */
export function policyLoader({ db }: Pick<Deps, 'db'>, limit = maxBytes): LoadPolicies {
  const kept = new Map<string, Kept>()
  const loading = new Map<string, Promise<PoliciesInForce>>()
  let bytes = 0

  const keep = (tenantId: string, policies: Kept) => {
    bytes -= kept.get(tenantId)?.bytes ?? 0
    kept.delete(tenantId)
    kept.set(tenantId, policies)
    bytes += policies.bytes
    for (const [oldest, { bytes: freed }] of kept) {
      if (bytes <= limit || oldest === tenantId) break
      kept.delete(oldest)
      bytes -= freed
    }
  }
  const grown = (policies: Kept, by: number) => {
    policies.bytes += by
    if (kept.get(policies.tenantId) === policies) bytes += by
  }
  const load = async (scope: { tenantId: string; userId: string }, revision: number) => {
    const read = await inTenant(db, scope, (tx) => listActivePolicies(tx, scope.tenantId))
    // A later revision is as good: it was committed before this request is decided.
    if (read.revision < revision) throw new AuthorizationUnavailable(new Error('policies of the past'))
    const policies = policiesInForce(scope.tenantId, read.revision, read.policies, grown)
    keep(scope.tenantId, policies)
    return policies
  }

  return (scope, revision) => {
    const known = kept.get(scope.tenantId)
    if (known?.revision === revision) {
      kept.delete(scope.tenantId)
      kept.set(scope.tenantId, known)
      return known
    }
    const key = `${scope.tenantId} ${revision}`
    const under = loading.get(key)
    if (under) return under
    const begun = load(scope, revision).finally(() => loading.delete(key))
    loading.set(key, begun)
    return begun
  }
}

/** A slice holds from `since` until the next moment at which one of its policies comes into force or ends. */
interface Dated {
  slice: Slice
  since: number
  until: number
}

/** Cuts slices out of a tenant's active policies; `grown` learns of the memory that each new one takes. */
export function policiesInForce(
  tenantId: string,
  revision: number,
  stored: readonly PolicyInStore[],
  grown: (policies: Kept, by: number) => void = () => undefined,
): Kept {
  const enforced = stored.filter((policy) => policy.mode === 'enforce')
  const slices = new Map<string, Dated>()
  const policies: Kept = {
    tenantId,
    revision,
    bytes: 1_000 + stored.reduce((sum, policy) => sum + 2 * policy.bytes, 0),
    slice(resourceType, action, now) {
      if (enforced.length === 0) return emptySlice(tenantId, revision)
      const key = `${action} ${resourceType}`
      const known = slices.get(key)
      if (known && now >= known.since && now < known.until) return known.slice
      const cut = cutSlice(enforced, { tenantId, revision, resourceType, action, now })
      slices.set(key, cut)
      if (!known) grown(policies, key.length + 2 * cut.slice.text.length)
      return cut.slice
    },
  }
  return policies
}

function cutSlice(
  stored: readonly PolicyInStore[],
  asked: { tenantId: string; revision: number; resourceType: string; action: string; now: number },
): Dated {
  const { tenantId, revision, resourceType, action, now } = asked
  const concerned = stored.filter(({ compiled }) => concerns(compiled, action, resourceType))
  const bounds = concerned.flatMap(({ valid_from, valid_until }) => [
    valid_from ?? 0,
    valid_until ?? Infinity,
  ])
  const inForce = concerned.filter((policy) => isInForce(policy, now))
  const slice =
    inForce.length === 0
      ? emptySlice(tenantId, revision)
      : buildSlice(tenantId, revision, inForce satisfies readonly SlicePolicy[])
  return {
    slice,
    since: Math.max(0, ...bounds.filter((at) => at <= now)),
    until: Math.min(Infinity, ...bounds.filter((at) => at > now)),
  }
}

/** From `valid_from` on, and before `valid_until`. */
const isInForce = (policy: PolicyInStore, now: number): boolean =>
  (policy.valid_from ?? 0) <= now && now < (policy.valid_until ?? Infinity)
