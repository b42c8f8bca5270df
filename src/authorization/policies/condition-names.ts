import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { Condition, ConditionLeaf } from '../../policy-engine/compile/conditions.ts'

/** The comparisons of a condition, each with its JSON Pointer. */
function* comparisonsOf(
  condition: Condition | null,
  pointer = '/conditions',
): Generator<{ leaf: ConditionLeaf; pointer: string }> {
  if (condition === null) return
  if ('attribute' in condition) {
    yield { leaf: condition, pointer }
    return
  }
  for (const [group, members] of Object.entries<Condition[]>(condition))
    for (const [index, member] of members.entries())
      yield* comparisonsOf(member, `${pointer}/${group}/${index}`)
}

/** The keys of members' attributes that a condition compares, with the pointer of the first comparison of each. */
export function memberAttributes(condition: Condition | null): Map<string, string> {
  const found = new Map<string, string>()
  for (const { leaf, pointer } of comparisonsOf(condition)) {
    const { attribute, operator, value_from } = leaf
    const guards = operator === 'exists' || operator === 'not_exists'
    for (const name of guards ? [] : [attribute, value_from ?? ''])
      if (isOfMembers(name) && !found.has(name.slice(8))) found.set(name.slice(8), pointer)
  }
  return found
}

const columnsOfMembers = new Set(['subject.department_id', 'subject.department_path', 'subject.manager_id'])
const isOfMembers = (name: string) =>
  name.startsWith('subject.') && (columnsOfMembers.has(name) || !builtInAttributes.has(name))

/** The ids of departments that a condition names, in lower case, with the pointer of the first comparison of each. */
export function departmentsNamed(condition: Condition | null): Map<string, string> {
  const found = new Map<string, string>()
  for (const { leaf, pointer } of comparisonsOf(condition)) {
    if (leaf.operator !== 'in_department') continue
    for (const id of [leaf.value ?? []].flat().map((value) => String(value).toLowerCase()))
      if (!found.has(id)) found.set(id, pointer)
  }
  return found
}
