import type { CompiledPolicy } from '../../platform/access/compiled-policy.ts'
import type { Fault } from '../../platform/access/policy-document.ts'
import { concerns, sliceBudgetUs, sliceBytes } from '../../platform/access/slice.ts'

/** What a policy adds to the slices it is part of. */
export type Cost = Pick<CompiledPolicy, 'actions' | 'resourceTypes' | 'costUs'> & { bytes: number }

/**
 * What is wrong with adding `policy` to the active `others`, if anything: the policies that one decision may meet are
 * limited together, for every caller would wait for them. Policies of all times count, in force now or not.
 */
export function overBudget(policy: CompiledPolicy, others: readonly Cost[]): Fault | null {
  const mine: Cost = { ...policy, bytes: JSON.stringify(policy).length }
  const all = [...others, mine]
  const actions = new Set(all.flatMap((cost) => cost.actions).filter((action) => isMet(mine, action)))
  for (const action of actions)
    for (const type of typesFor(action, all)) {
      const met = all.filter((cost) => concerns(cost, action, type))
      if (sum(met, 'costUs') > sliceBudgetUs) return tooCostly(action)
      if (sum(met, 'bytes') > sliceBytes) return tooLarge(action)
    }
  return null
}

const isMet = (cost: Cost, action: string) => concerns({ ...cost, resourceTypes: [] }, action, '')

/** The types an action may be about: its own and those that policies name. */
const typesFor = (action: string, all: readonly Cost[]) =>
  new Set([
    action.split(':')[0] ?? '',
    ...all.filter((cost) => isMet(cost, action)).flatMap((cost) => cost.resourceTypes),
  ])

const sum = (costs: readonly Cost[], what: 'costUs' | 'bytes') =>
  costs.reduce((total, cost) => total + cost[what], 0)

const tooCostly = (action: string): Fault => ({
  pointer: '/conditions',
  code: 'too_costly',
  detail: `With this policy, deciding about ${action} would take too long. Use fewer or simpler comparisons.`,
})

const tooLarge = (action: string): Fault => ({
  pointer: '/conditions',
  code: 'too_large',
  detail: `With this policy, the policies about ${action} would be too large to decide by. Use fewer or smaller ones.`,
})
