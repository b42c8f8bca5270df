import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import type { LoadPolicies, PoliciesInForce, PolicyCache } from '../../platform/http/policies-in-force.ts'
import { AuthorizationUnavailable } from '../../policy-engine/evaluate/engine.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { withModules } from './module-store.ts'
import { type SlicedPolicies, slicePolicies } from './slice-policies.ts'
import { readTenantPolicies, type TenantPolicies } from './store.ts'

const maxBytes = 64 * 1024 * 1024

/**
 * Caches the policies of tenants with their slices: at most 64 MB, evicting the least recently used tenant. A cached
 * entry is used only for the policy revision in the request's auth context. Other revisions are read again, once for
 * simultaneous requests.
 */
export function policyCache({ db, access }: Pick<Deps, 'db' | 'access'>, limit = maxBytes): PolicyCache {
  const kept = createLruCache<SlicedPolicies>(limit)
  const loading = new Map<string, Promise<PoliciesInForce>>()
  const asked = new Set<string>()

  const slice = async (scope: Scope, revision: number, read: TenantPolicies) => {
    // A later revision is correct too: it was committed before this request is decided.
    if (read.revision < revision)
      throw new AuthorizationUnavailable(new Error('the policies are out of date'))
    const complete = await withModules(db, scope, read)
    if (complete !== read) await access.warmModules()
    const { tenantId } = scope
    const policies: SlicedPolicies = slicePolicies(complete, () => {
      if (kept.get(tenantId) === policies) kept.set(tenantId, policies, policies.bytes())
    })
    kept.set(tenantId, policies, policies.bytes())
    return policies
  }

  const loadBy =
    (read: (scope: Scope) => Promise<TenantPolicies>): LoadPolicies =>
    (scope, revision) => {
      const known = kept.get(scope.tenantId)
      if (known?.revision === revision) return known
      const key = `${scope.tenantId} ${revision}`
      const pending = loading.get(key)
      if (pending) return pending
      const started = read(scope)
        .then((policies) => slice(scope, revision, policies))
        .finally(() => loading.delete(key))
      loading.set(key, started)
      return started
    }

  return {
    load: loadBy((scope) => readInTenant(db, scope, (read) => readTenantPolicies(read, scope.tenantId))),
    ask(read, tenantId) {
      if (asked.has(tenantId) || kept.get(tenantId)) return null
      asked.add(tenantId)
      const answer = readTenantPolicies(read, tenantId).finally(() => asked.delete(tenantId))
      // A caller who is refused never loads it.
      answer.catch(() => undefined)
      return loadBy(() => answer)
    },
    forget: kept.delete,
  }
}

interface Scope {
  tenantId: string
  userId: string
}
