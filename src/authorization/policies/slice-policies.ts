import type { PoliciesInForce } from '../../platform/http/policies-in-force.ts'
import type { Slice } from '../../policy-engine/compile/compiled-policy.ts'
import { buildSlice, concerns, emptySlice } from '../../policy-engine/compile/slice.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { namedByPolicies } from './named-words.ts'
import type { PolicyInStore } from './store.ts'

/** The most that the slices kept for one tenant may take, in bytes. */
const maxBytes = 8 * 1024 * 1024

/** Which policies a kind of question meets, from `since` until one of them comes into force or ends. */
interface Cut {
  met: readonly PolicyInStore[]
  /** the same text for the same policies */
  key: string
  since: number
  until: number
}

/** A tenant's policies at one revision, and the slices that were asked for last. */
export interface SlicedPolicies extends PoliciesInForce {
  /** memory taken, in bytes */
  bytes(): number
}

/**
 * Cuts slices out of a tenant's active policies. Questions that meet the same policies share a slice, whatever their
 * actions and types are; those used longest ago make room for new ones. `grown` is called when `bytes` changed.
 */
export function slicePolicies(
  tenantId: string,
  revision: number,
  stored: readonly PolicyInStore[],
  grown: () => void = () => undefined,
): SlicedPolicies {
  const enforced = stored.filter((policy) => policy.mode === 'enforce')
  const kindOf = questionKinds(enforced)
  const cuts = createLruCache<Cut>(maxBytes / 8)
  const slices = createLruCache<Slice>(maxBytes)
  let names: SlicedPolicies['names'] | undefined
  const base = 1_000 + stored.reduce((sum, policy) => sum + 2 * policy.bytes, 0)

  const cutOf = (resourceType: string, action: string, now: number): Cut => {
    const kind = kindOf(resourceType, action)
    const known = cuts.get(kind.key)
    if (known && now >= known.since && now < known.until) return known
    const cut = cutAt(enforced, kind, now)
    cuts.set(kind.key, cut, 200 + 2 * kind.key.length + 2 * cut.key.length + 8 * cut.met.length)
    grown()
    return cut
  }

  return {
    tenantId,
    revision,
    bytes: () => base + cuts.size() + slices.size(),
    slice(resourceType, action, now) {
      if (enforced.length === 0) return emptySlice(tenantId, revision)
      const { met, key } = cutOf(resourceType, action, now)
      if (met.length === 0) return emptySlice(tenantId, revision)
      const known = slices.get(key)
      if (known) return known
      const slice = buildSlice(tenantId, revision, met)
      slices.set(key, slice, 1_000 + 2 * slice.text.length)
      grown()
      return slice
    },
    names(action, resourceType) {
      names ??= namedByPolicies(stored.map(({ compiled }) => compiled))
      return names(action, resourceType)
    },
  }
}

/** Questions that meet the same policies, whatever these are about besides. */
interface QuestionKind {
  action: string
  resourceType: string
  key: string
}

/** Gives the kind of a question. What no policy names is one kind, however many actions and types callers make up. */
function questionKinds(policies: readonly PolicyInStore[]) {
  const actions = new Set(policies.flatMap(({ compiled }) => compiled.actions))
  const types = new Set(policies.flatMap(({ compiled }) => compiled.resourceTypes))
  return (resourceType: string, asked: string): QuestionKind => {
    const wildcard = `${asked.slice(0, asked.indexOf(':'))}:*`
    const action = actions.has(asked) ? asked : actions.has(wildcard) ? wildcard : '*'
    const type = types.has(resourceType) ? resourceType : ''
    return { action, resourceType: type, key: `${action} ${type}` }
  }
}

function cutAt(enforced: readonly PolicyInStore[], { action, resourceType }: QuestionKind, now: number): Cut {
  const concerned = enforced.filter(({ compiled }) => concerns(compiled, action, resourceType))
  const bounds = concerned.flatMap(({ valid_from, valid_until }) => [
    valid_from ?? 0,
    valid_until ?? Infinity,
  ])
  const met = concerned.filter((policy) => isInForce(policy, now))
  return {
    met,
    key: met.map(({ id }) => id).join(),
    since: Math.max(0, ...bounds.filter((at) => at <= now)),
    until: Math.min(Infinity, ...bounds.filter((at) => at > now)),
  }
}

/** From `valid_from` on, and before `valid_until`. */
const isInForce = (policy: PolicyInStore, now: number): boolean =>
  (policy.valid_from ?? 0) <= now && now < (policy.valid_until ?? Infinity)
