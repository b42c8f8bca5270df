import { checkLeaf } from './check-leaf.ts'
import type { Leaf } from './compiled-policy.ts'
import type { AttributeCatalogue, Condition } from './conditions.ts'
import type { Fault } from './policy-document.ts'

/** A valid condition: groups as written, each comparison as the module evaluates it. */
export type CheckedCondition =
  | { group: 'all' | 'any' | 'none'; of: CheckedCondition[] }
  | { leaf: Leaf; costUs: number }

export interface ConditionContext {
  attributes: AttributeCatalogue
  /**
   * The µs that a pattern can cost, undefined for an invalid one. Called several times for a pattern: measure it before.
   * Absent when the patterns were measured when they were written.
   */
  patternCostUs?: (pattern: string) => number | undefined
}

export interface Checking extends ConditionContext {
  faults: Fault[]
  leaves: number
}

/** Always true: the condition of a policy without one. */
export const always: CheckedCondition = { group: 'all', of: [] }

const maxLeaves = 64
const maxLevels = 4

/**
 * Checks an untrusted condition and normalises its operands. With any fault, `condition` must not be used. Absent,
 * null, `{}` and `[]` are always true.
 */
export function checkCondition(
  value: unknown,
  context: ConditionContext,
): { condition: CheckedCondition; faults: Fault[] } {
  const checking: Checking = { ...context, faults: [], leaves: 0 }
  if (isEmptyCondition(value)) return { condition: always, faults: [] }
  const condition = checked(value, { pointer: '/conditions', level: 1 }, checking) ?? always
  if (checking.leaves > maxLeaves) {
    const detail = `A condition has at most ${maxLeaves} comparisons; this one has ${checking.leaves}.`
    checking.faults.push({ pointer: '/conditions', code: 'too_large', detail })
  }
  return { condition, faults: checking.faults }
}

/** Whether an untrusted condition is absent or empty. */
export function isEmptyCondition(value: unknown): value is null | undefined {
  return (
    value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0)
  )
}

/** The kind and the members of a group; undefined for a comparison. */
export function groupOf(condition: Condition): ['all' | 'any' | 'none', Condition[]] | undefined {
  if ('all' in condition) return ['all', condition.all]
  if ('any' in condition) return ['any', condition.any]
  return 'none' in condition ? ['none', condition.none] : undefined
}

interface Position {
  pointer: string
  level: number
}

function checked(value: unknown, position: Position, checking: Checking): CheckedCondition | undefined {
  const condition = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  const kinds = ['all', 'any', 'none', 'attribute'].filter((kind) => Object.hasOwn(condition, kind))
  if (kinds.length !== 1) {
    return addFault(
      checking,
      position.pointer,
      'Write a list under all, any or none, or a comparison with attribute, operator and value.',
    )
  }
  if (kinds[0] === 'attribute') {
    checking.leaves++
    return checkLeaf(condition as Record<string, unknown>, position.pointer, checking)
  }
  const kind = kinds[0] as 'all'
  return checkedGroup(kind, (condition as Record<string, unknown>)[kind], position, checking)
}

function checkedGroup(
  group: 'all' | 'any' | 'none',
  members: unknown,
  { pointer, level }: Position,
  checking: Checking,
): CheckedCondition | undefined {
  if (level > maxLevels) {
    const detail = `Groups can be nested at most ${maxLevels} levels deep.`
    checking.faults.push({ pointer, code: 'too_large', detail })
    return undefined
  }
  if (!Array.isArray(members))
    return addFault(checking, `${pointer}/${group}`, 'This has to be a list of conditions.')
  const at = (index: number) => ({ pointer: `${pointer}/${group}/${index}`, level: level + 1 })
  const of = members.map((member, index) => checked(member, at(index), checking) ?? always)
  return { group, of }
}

function addFault({ faults }: Checking, pointer: string, detail: string): undefined {
  faults.push({ pointer, code: 'invalid', detail })
}
