import { wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { SlicePolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Fault } from '../../policy-engine/compile/policy-document.ts'
import { buildSlice } from '../../policy-engine/compile/slice.ts'
import {
  type SliceSize,
  sizeInSlice,
  sliceFault,
  sumOfSizes,
} from '../../policy-engine/compile/slice-size.ts'

/** An active policy of a tenant; `bytes` is the length of its compiled text. */
export type ActivePolicy = SlicePolicy & { bytes: number }

interface Sized {
  policy: SlicePolicy
  size: SliceSize
  types: ReadonlySet<string>
}

// Every process reads all active policies again after each change.
const maxTenantBytes = 2 * 1024 * 1024
// Limits for the work of measuring: comparisons (each query counts as eight), and slices built.
const maxComparisons = 1_000_000
const perQuery = 8
const maxBuilt = 32

/**
 * The fault if `policy`, together with the tenant's other `active` policies, exceeds a limit. Measures each slice that
 * would contain it, with policies of all periods of validity. A slice is built only if the sum of its parts exceeds a
 * limit. `scale` multiplies the limits.
 */
export function sizeFault(
  tenantId: string,
  policy: SlicePolicy,
  active: readonly ActivePolicy[],
  scale = 1,
): Fault | undefined {
  const others = active.filter(({ id }) => id !== policy.id)
  const total = JSON.stringify(policy.compiled).length + others.reduce((sum, { bytes }) => sum + bytes, 0)
  const maxBytes = maxTenantBytes * scale
  if (total > maxBytes) return tooLarge(`would take ${total} bytes; the limit is ${maxBytes}`)
  const built = new Set<string>()
  let comparisons = 0
  for (const { about, candidates, type } of queriesOf(policy, others)) {
    comparisons += perQuery + candidates.length
    if (comparisons > maxComparisons) return tooLarge('name too many actions and resource types')
    const matching = candidates.filter(({ types }) => types.size === 0 || types.has(type))
    const atMost = sliceFault(sumOfSizes(matching.map(({ size }) => size)), about, scale)
    const key = atMost && matching.map(({ policy }) => policy.id).join()
    if (!key || built.has(key)) continue
    if (built.size === maxBuilt) return atMost
    const slice = buildSlice(
      tenantId,
      0,
      matching.map(({ policy }) => policy),
    )
    const fault = sliceFault(slice, about, scale)
    if (fault) return fault
    built.add(key)
  }
  return undefined
}

/** The kinds of query to which `policy` can apply: an action, the policies about it, and a resource type. */
function* queriesOf(policy: SlicePolicy, others: readonly SlicePolicy[]) {
  const byAction = new Map<string, Sized[]>()
  for (const one of [...others, policy]) {
    const sized = sizedOf(one)
    for (const name of new Set(one.compiled.actions)) {
      const named = byAction.get(name)
      if (named) named.push(sized)
      else byAction.set(name, [sized])
    }
  }
  const mine = new Set(policy.compiled.actions)
  for (const action of byAction.keys()) {
    const names = patternsOf(action)
    if (!names.some((name) => mine.has(name))) continue
    const candidates = [...new Set(names.flatMap((name) => byAction.get(name) ?? []))]
    const own = policy.compiled.resourceTypes
    const types = own.length > 0 ? own : candidates.flatMap((one) => [...one.types])
    // An empty type stands for the types that no policy names.
    for (const type of new Set(types.length > 0 ? types : [''])) yield { about: action, candidates, type }
  }
}

/** The thread that measures keeps the policies of a tenant between queries. */
const known = new WeakMap<SlicePolicy, Sized>()

function sizedOf(policy: SlicePolicy): Sized {
  const sized = known.get(policy) ?? {
    policy,
    size: sizeInSlice(policy),
    types: new Set(policy.compiled.resourceTypes),
  }
  known.set(policy, sized)
  return sized
}

/** The names by which a policy can cover an action, which can be a wildcard itself. */
const patternsOf = (action: string) => [...new Set([action, wildcardOf(action), '*'])]

const tooLarge = (taken: string): Fault => ({
  pointer: '/conditions',
  code: 'too_large',
  detail: `With this policy, the active policies of the tenant ${taken}. Use fewer or smaller ones.`,
})
