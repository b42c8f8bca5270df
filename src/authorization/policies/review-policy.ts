import type { SlicePolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { Fault, Warning } from '../../policy-engine/compile/policy-document.ts'
import type { ActivePolicies } from './active-store.ts'
import { sizeFault } from './slice-limits.ts'
import { comparePolicies } from './trials/compare-policies.ts'

/** A policy to be written, or on trial, beside the others. `names` as `comparePolicies` takes them; null: do not compare. */
export interface Review {
  kind: 'review'
  policy: SlicePolicy
  names: readonly string[] | null
}

/** `fault` if the policies are too large together. */
export interface Reviewed {
  fault: Fault | undefined
  warnings: Warning[]
}

/** Measures a policy together with the tenant's others, and compares it with them. Can take a second: see `isQuick`. */
export const reviewPolicy = (active: ActivePolicies, { policy, names }: Review): Reviewed => ({
  fault: sizeFault(active.tenantId, policy, active.policies),
  warnings: names ? comparePolicies(policy, active.policies, names) : [],
})

const quickBytes = 64 * 1024
const quickWords = 100

/** Whether work with these policies takes a few ms at most: they are small, and name few actions and types. */
export function isQuick({ policies }: ActivePolicies, policy: SlicePolicy): boolean {
  let bytes = 0
  let words = wordsIn(policy)
  for (const one of policies) {
    bytes += one.bytes
    words += wordsIn(one)
    if (bytes > quickBytes || words > quickWords) return false
  }
  return words <= quickWords
}

const wordsIn = ({ compiled: { actions, resourceTypes } }: SlicePolicy) =>
  actions.length + resourceTypes.length
