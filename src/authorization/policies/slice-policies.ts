import { isServiceAction, serviceResources, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { CompiledPolicy, Slice } from '../../policy-engine/compile/compiled-policy.ts'
import type { Departments } from '../../policy-engine/compile/departments.ts'
import { buildSliceWithShadows, concerns, emptySlice } from '../../policy-engine/compile/slice.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import type { PoliciesInForce } from '../../request/policies-in-force.ts'
import type { PolicyInStore, TenantPolicies } from './active-store.ts'

/** The limit for the cached slices of one tenant, in bytes. */
const maxBytes = 8 * 1024 * 1024

/** The policies for a kind of query, valid from `since` until one of them comes into force or ends. */
interface Selection {
  policies: readonly PolicyInStore[]
  /** policies in shadow mode */
  shadows: readonly PolicyInStore[]
  /** equal for the same policies */
  key: string
  since: number
  until: number
}

/** A tenant's policies at one revision, with a cache of their slices. */
export interface SlicedPolicies extends PoliciesInForce {
  /** what the slices are made of */
  readonly active: TenantPolicies
  /** memory use in bytes */
  bytes(): number
}

/**
 * Builds slices of a tenant's active policies. Queries with the same policies share one slice, also across actions and
 * types. The least recently used slices are evicted. `onGrowth` is called when `bytes` has changed.
 */
export function slicePolicies(
  active: TenantPolicies,
  onGrowth: () => void = () => undefined,
): SlicedPolicies {
  const { tenantId, revision, policies: stored, departments, callerKeys } = active
  const kindOf = queryKinds(stored)
  const selections = createLruCache<Selection>(maxBytes / 8)
  const slices = createLruCache<Slice>(maxBytes)
  let names: SlicedPolicies['names'] | undefined
  const base =
    1_000 +
    stored.reduce((sum, { bytes, wasm }) => sum + 2 * bytes + (wasm?.length ?? 0), 0) +
    bytesOf(departments)

  const select = (resourceType: string, action: string, now: number): Selection => {
    const kind = kindOf(resourceType, action)
    const known = selections.get(kind.key)
    if (known && now >= known.since && now < known.until) return known
    const selected = selectAt(stored, kind, now)
    const { key, policies, shadows } = selected
    const count = policies.length + shadows.length
    selections.set(kind.key, selected, 200 + 2 * kind.key.length + 2 * key.length + 8 * count)
    onGrowth()
    return selected
  }

  return {
    active,
    tenantId,
    revision,
    callerKeys,
    modules: modulesOf(stored),
    bytes: () => base + selections.size() + slices.size(),
    slice(resourceType, action, now) {
      if (stored.length === 0) return emptySlice(tenantId, revision, departments)
      const { policies, shadows, key } = select(resourceType, action, now)
      if (policies.length + shadows.length === 0) return emptySlice(tenantId, revision, departments)
      const known = slices.get(key)
      if (known) return known
      const slice = buildSliceWithShadows(tenantId, revision, policies, shadows, departments)
      const shadowBytes = shadows.reduce((sum, { bytes }) => sum + bytes, 0)
      slices.set(key, slice, 1_000 + 2 * (1 + slice.shadows.length) * (slice.text.length + shadowBytes))
      onGrowth()
      return slice
    },
    names(action, resourceType) {
      names ??= namedByPolicies(stored.map(({ compiled }) => compiled))
      return names(action, resourceType)
    },
    actionsOn: (resourceType) => actionsOn(resourceType, stored),
  }
}

/** A tenant's policies with one more, or with another form of one of them. */
export const withPolicy = (active: TenantPolicies, policy: PolicyInStore): TenantPolicies => ({
  ...active,
  policies: [...active.policies.filter(({ id }) => id !== policy.id), policy],
})

/** The modules of policies. */
export const modulesOf = (policies: readonly Pick<PolicyInStore, 'wasm'>[]) =>
  policies.flatMap(({ wasm }) => wasm ?? [])

const bytesOf = (departments: Departments) => 200 * departments.size

/** Queries to which the same policies can apply. */
interface QueryKind {
  action: string
  resourceType: string
  key: string
}

/** Returns the kind of a query. All actions, and all types, that no policy names are one kind, so the cache stays small. */
function queryKinds(policies: readonly PolicyInStore[]) {
  const actions = new Set(policies.flatMap(({ compiled }) => compiled.actions))
  const types = new Set(policies.flatMap(({ compiled }) => compiled.resourceTypes))
  return (resourceType: string, name: string): QueryKind => {
    const action = [name, wildcardOf(name)].find((each) => actions.has(each)) ?? '*'
    const type = types.has(resourceType) ? resourceType : ''
    return { action, resourceType: type, key: `${action} ${type}` }
  }
}

function selectAt(
  stored: readonly PolicyInStore[],
  { action, resourceType }: QueryKind,
  now: number,
): Selection {
  const concerned = stored.filter(({ compiled }) => concerns(compiled, action, resourceType))
  const bounds = concerned.flatMap(({ valid_from, valid_until }) => [
    valid_from ?? 0,
    valid_until ?? Infinity,
  ])
  const inForce = concerned.filter((policy) => isInForce(policy, now))
  const policies = inForce.filter(({ mode }) => mode === 'enforce')
  const shadows = inForce.filter(({ mode }) => mode === 'shadow')
  return {
    policies,
    shadows,
    key: [policies, shadows].map((each) => each.map(({ id }) => id).join()).join('|'),
    since: Math.max(0, ...bounds.filter((at) => at <= now)),
    until: Math.min(Infinity, ...bounds.filter((at) => at > now)),
  }
}

/** From `valid_from` on, and before `valid_until`. */
export const isInForce = (policy: PolicyInStore, now: number): boolean =>
  (policy.valid_from ?? 0) <= now && now < (policy.valid_until ?? Infinity)

/** Returns whether the policies name an action and a resource type. `*` does not count, so that misspellings are found. */
function namedByPolicies(policies: readonly Pick<CompiledPolicy, 'actions' | 'resourceTypes'>[]) {
  const actions = new Set(policies.flatMap((policy) => policy.actions))
  const types = new Set(policies.flatMap((policy) => policy.resourceTypes))
  for (const action of actions) if (action !== '*') types.add(action.slice(0, action.indexOf(':')))
  return (action: string, resourceType: string) => ({
    action: isServiceAction(action) || actions.has(action) || actions.has(wildcardOf(action)),
    resourceType: serviceResources.has(resourceType) || types.has(resourceType),
  })
}

/** Actions of the type itself, and those of policies that name the type in `resource_types`. */
const actionsOn = (resourceType: string, policies: readonly Pick<PolicyInStore, 'compiled'>[]): string[] => {
  const named = policies.flatMap(({ compiled: { actions, resourceTypes } }) =>
    resourceTypes.includes(resourceType)
      ? actions
      : actions.filter((name) => name.startsWith(`${resourceType}:`)),
  )
  return [...new Set(named)].filter((name) => !name.endsWith('*'))
}
