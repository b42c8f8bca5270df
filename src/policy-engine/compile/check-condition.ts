import { checkLeaf } from './check-leaf.ts'
import type { Leaf } from './compiled-policy.ts'
import type { AttributeCatalogue, Condition } from './conditions.ts'
import { patternBudgetUs } from './pattern-cost.ts'
import type { Fault } from './policy-document.ts'

/** A condition without fault: groups as written, each comparison as the module carries it out. */
export type CheckedCondition =
  | { group: 'all' | 'any' | 'none'; of: CheckedCondition[] }
  | { leaf: Leaf; costUs: number }

export interface ConditionContext {
  attributes: AttributeCatalogue
  /** gives the µs a pattern can cost, undefined for what is no pattern; absent where it was asked before */
  patternCostUs?: (pattern: string) => number | undefined
}

export interface Checking extends ConditionContext {
  faults: Fault[]
  leaves: number
}

/** What is always true: the condition of a policy that names none. */
export const always: CheckedCondition = { group: 'all', of: [] }

const maxLeaves = 64
const maxLevels = 4

/**
 * Checks a condition as it came and gives it with its operands normalised; every fault is in `faults`, and
 * what it is part of is of no use then. Absent, null, `{}` and `[]` hold always.
 */
export function checkCondition(
  value: unknown,
  context: ConditionContext,
): { condition: CheckedCondition; faults: Fault[] } {
  const patternCostUs = context.patternCostUs && measuredOnce(context.patternCostUs)
  const checking: Checking = { ...context, patternCostUs, faults: [], leaves: 0 }
  if (isNothing(value)) return { condition: always, faults: [] }
  const condition = checked(value, { pointer: '/conditions', level: 1 }, checking) ?? always
  if (checking.leaves > maxLeaves) {
    const detail = `A condition has at most ${maxLeaves} comparisons; this one has ${checking.leaves}.`
    checking.faults.push({ pointer: '/conditions', code: 'too_large', detail })
  }
  return { condition, faults: checking.faults }
}

// Finding out that a pattern costs too much costs time itself: after the first one no other is measured.
function measuredOnce(costUs: (pattern: string) => number | undefined) {
  const known = new Map<string, number | undefined>()
  return (pattern: string): number | undefined => {
    if (known.has(pattern)) return known.get(pattern)
    if ([...known.values()].some((cost) => cost !== undefined && cost > patternBudgetUs)) return 0
    known.set(pattern, costUs(pattern))
    return known.get(pattern)
  }
}

/** Whether conditions as they came name none. */
export function isNothing(value: unknown): value is null | undefined {
  return (
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  )
}

/** The members of a group, with its kind. */
export function groupOf(condition: Condition): ['all' | 'any' | 'none', Condition[]] | undefined {
  if ('all' in condition) return ['all', condition.all]
  if ('any' in condition) return ['any', condition.any]
  return 'none' in condition ? ['none', condition.none] : undefined
}

interface Place {
  pointer: string
  level: number
}

function checked(value: unknown, place: Place, checking: Checking): CheckedCondition | undefined {
  const condition = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  const kinds = ['all', 'any', 'none', 'attribute'].filter((kind) => Object.hasOwn(condition, kind))
  if (kinds.length !== 1) {
    return refused(
      checking,
      place.pointer,
      'Write one of all, any and none with a list, or a comparison with attribute, operator and value.',
    )
  }
  if (kinds[0] === 'attribute') {
    checking.leaves++
    return checkLeaf(condition as Record<string, unknown>, place.pointer, checking)
  }
  return checkedGroup(
    kinds[0] as 'all',
    (condition as Record<string, unknown>)[kinds[0] as string],
    place,
    checking,
  )
}

function checkedGroup(
  group: 'all' | 'any' | 'none',
  members: unknown,
  { pointer, level }: Place,
  checking: Checking,
): CheckedCondition | undefined {
  if (level > maxLevels) {
    const detail = `Groups are nested at most ${maxLevels} deep.`
    checking.faults.push({ pointer, code: 'too_large', detail })
    return undefined
  }
  if (!Array.isArray(members))
    return refused(checking, `${pointer}/${group}`, 'This has to be a list of conditions.')
  const at = (index: number) => ({ pointer: `${pointer}/${group}/${index}`, level: level + 1 })
  const of = members.map((member, index) => checked(member, at(index), checking) ?? always)
  return { group, of }
}

function refused({ faults }: Checking, pointer: string, detail: string): undefined {
  faults.push({ pointer, code: 'invalid', detail })
}
