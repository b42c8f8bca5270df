import { readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { AuthorizationUnavailable } from '../../policy-engine/evaluate/engine.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import type { PolicyCache } from '../../request/policies-in-force.ts'
import { readTenantPolicies, withCompiled, withModules } from './active-store.ts'
import { type SlicedPolicies, slicePolicies } from './slice-policies.ts'

const maxBytes = 64 * 1024 * 1024

interface Scope {
  tenantId: string
  userId: string
}

interface Kept {
  policies: SlicedPolicies
  /** False once they may have changed. What did not change is not read again. */
  isCurrent: boolean
}

/**
 * Caches the policies of tenants with their slices: at most 64 MB, evicting the least recently used tenant. A cached
 * entry is used only for the policy revision in the request's auth context. For other revisions the policies that have
 * changed are read, once for simultaneous requests.
 */
export function policyCache({ db }: Pick<Deps, 'db'>, limit = maxBytes): PolicyCache<SlicedPolicies> {
  const kept = createLruCache<Kept>(limit)
  /** What is asked for with an auth context; null if it could not be read. */
  const asked = new Map<string, Promise<SlicedPolicies | null>>()
  const loading = new Map<string, { revision: number; policies: Promise<SlicedPolicies> }>()

  const readAndKeep = async (
    scope: Scope,
    reading: (known: Known) => ReturnType<typeof readTenantPolicies>,
  ) => {
    const { tenantId } = scope
    const known = kept.get(tenantId)?.policies.active.policies ?? []
    const read = await withCompiled(await reading(known), known)
    const complete = await withModules(db, scope, read)
    const keep = () => kept.set(tenantId, entry, policies.bytes())
    const policies: SlicedPolicies = slicePolicies(complete, () => {
      if (kept.get(tenantId) === entry) keep()
    })
    const entry = { policies, isCurrent: true }
    keep()
    return policies
  }

  const read = async (scope: Scope, revision: number) => {
    const { tenantId } = scope
    const found = await asked.get(tenantId)
    if (found && found.revision >= revision) return found
    const policies = await readAndKeep(scope, (known) =>
      readInTenant(db, scope, (together) => readTenantPolicies(together, tenantId, known)),
    )
    // A later revision is correct too: it was committed before this request is decided.
    if (policies.revision < revision)
      throw new AuthorizationUnavailable(new Error('the policies are out of date'))
    return policies
  }

  return {
    load(scope, revision) {
      const { tenantId } = scope
      const known = kept.get(tenantId)?.policies
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
      if (kept.get(tenantId)?.isCurrent || asked.has(tenantId) || loading.has(tenantId)) return false
      const answer = readAndKeep(scope, (known) => readTenantPolicies(together, tenantId, known))
        .catch(() => null) // The answers of this auth context all failed. Who shares it reads the policies again.
        .finally(() => asked.delete(tenantId))
      asked.set(tenantId, answer)
      return true
    },
    forget(tenantId) {
      const entry = kept.get(tenantId)
      if (entry) entry.isCurrent = false
    },
  }
}

type Known = Parameters<typeof readTenantPolicies>[2]
