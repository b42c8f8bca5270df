import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import type { PoliciesInForce, PolicyCache } from '../../platform/http/policies-in-force.ts'
import { AuthorizationUnavailable } from '../../policy-engine/evaluate/engine.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { withModules } from './module-store.ts'
import { type SlicedPolicies, slicePolicies } from './slice-policies.ts'
import { readTenantPolicies, type TenantPolicies } from './store.ts'

const maxBytes = 64 * 1024 * 1024

interface Scope {
  tenantId: string
  userId: string
}

/**
 * Caches the policies of tenants with their slices: at most 64 MB, evicting the least recently used tenant. A cached
 * entry is used only for the policy revision in the request's auth context. Other revisions are read again, once for
 * simultaneous requests.
 */
export function policyCache({ db, access }: Pick<Deps, 'db' | 'access'>, limit = maxBytes): PolicyCache {
  const kept = createLruCache<SlicedPolicies>(limit)
  /** What is asked for with an auth context; null if it could not be read. */
  const asked = new Map<string, Promise<SlicedPolicies | null>>()
  const loading = new Map<string, { revision: number; policies: Promise<PoliciesInForce> }>()

  const keep = async (scope: Scope, reading: Promise<TenantPolicies>) => {
    const read = await reading
    const complete = await withModules(db, scope, read)
    if (complete !== read) await access.warmModules()
    const { tenantId } = scope
    const policies: SlicedPolicies = slicePolicies(complete, () => {
      if (kept.get(tenantId) === policies) kept.set(tenantId, policies, policies.bytes())
    })
    kept.set(tenantId, policies, policies.bytes())
    return policies
  }

  const read = async (scope: Scope, revision: number) => {
    const { tenantId } = scope
    const found = await asked.get(tenantId)
    if (found && found.revision >= revision) return found
    const policies = await keep(
      scope,
      readInTenant(db, scope, (together) => readTenantPolicies(together, tenantId)),
    )
    // A later revision is correct too: it was committed before this request is decided.
    if (policies.revision < revision)
      throw new AuthorizationUnavailable(new Error('the policies are out of date'))
    return policies
  }

  return {
    load(scope, revision) {
      const { tenantId } = scope
      const known = kept.get(tenantId)
      if (known?.revision === revision) return known
      const pending = loading.get(tenantId)
      if (pending && pending.revision >= revision) return pending.policies
      const started = {
        revision,
        policies: read(scope, revision).finally(() => {
          if (loading.get(tenantId) === started) loading.delete(tenantId)
        }),
      }
      loading.set(tenantId, started)
      return started.policies
    },
    ask(together, scope) {
      const { tenantId } = scope
      if (kept.get(tenantId) || asked.has(tenantId) || loading.has(tenantId)) return false
      const answer = keep(scope, readTenantPolicies(together, tenantId))
        .catch(() => null) // The answers of this auth context all failed. Who shares it reads the policies again.
        .finally(() => asked.delete(tenantId))
      asked.set(tenantId, answer)
      return true
    },
    forget: kept.delete,
  }
}
