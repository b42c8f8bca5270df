import type { Filter, Plan } from './api-types.ts'

/** One comparison of a filter. */
export type Comparison = Extract<Filter, { attribute: string }>

/** A comparison that a translation of a plan cannot say, such as one with an attribute that has no column. */
export class NotTranslatable extends Error {
  readonly code = 'not_translatable'
  readonly leaf: Comparison
  constructor(leaf: Comparison, why: string) {
    super(`${leaf.attribute} ${leaf.operator}: ${why}`)
    this.name = 'NotTranslatable'
    this.leaf = leaf
  }
}

export interface TranslationOptions {
  /** Types of obligations that you carry out. What any other obligation binds is not chosen. */
  obligations?: readonly string[]
}

/** What a plan is translated to. */
export interface Target<T> {
  /**
   * True where a comparison has the wanted outcome. `operator` is never the opposite of another one. A value that is missing or
   * of another type has no outcome.
   */
  comparison(leaf: Comparison, operator: string, wanted: boolean): T
  all(members: readonly T[]): T
  any(members: readonly T[]): T
  /** true where the member is not true */
  not(member: T): T
}

/** Translates what a plan chooses. */
export function translated<T>(plan: Plan, { obligations = [] }: TranslationOptions, target: Target<T>): T {
  const where = (filter: Filter | null) =>
    filter === null ? target.all([]) : outcomeOf(filter, true, target)
  if (plan.kind === 'never' || (plan.kind === 'conditional' && !plan.filter)) return target.any([])
  const unmet = plan.obligations.filter(({ type }) => !obligations.includes(type))
  const chosen = where(plan.kind === 'always' ? null : plan.filter!)
  return target.all([chosen, ...unmet.map(({ filter }) => target.not(where(filter)))])
}

const opposites: Readonly<Record<string, string>> = {
  not_exists: 'exists',
  ne: 'eq',
  not_in: 'in',
  gte: 'lt',
  gt: 'lte',
  not_in_cidr: 'in_cidr',
}

/** True where a filter has the wanted outcome. So what is unknown is neither, as in three-valued logic. */
function outcomeOf<T>(filter: Filter, wanted: boolean, target: Target<T>): T {
  if ('attribute' in filter) {
    const opposite = opposites[filter.operator]
    return target.comparison(filter, opposite ?? filter.operator, wanted === (opposite === undefined))
  }
  const [kind, of] = Object.entries(filter)[0] as ['all' | 'any' | 'none', Filter[]]
  const members = of.map((member) => outcomeOf(member, kind === 'none' ? !wanted : wanted, target))
  return (kind === 'any') === wanted ? target.any(members) : target.all(members)
}
