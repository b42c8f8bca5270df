import { isUuid } from '../../crypto/uuid.ts'
import { invalidField } from '../../errors.ts'
import type { Operation } from '../resource/apply-patch.ts'
import { attributePath } from '../resource/attribute-path.ts'
import { attributesIn, attributeValue, isNothing, type Json } from '../resource/attribute-value.ts'
import type { Filter } from '../resource/parse-filter.ts'
import { groupType } from '../schema/attributes.ts'
import { mutability, scimFault } from '../scim-error.ts'

const maxSteps = 1_000

/** What happens to the members of a group, in order. Members are never read. */
export type MemberStep = { add: string[] } | { remove: string[] | 'all' } | { set: string[] }

/** A change of a group: what is undefined stays. */
export interface GroupChange {
  displayName?: string
  externalId?: string | null
  steps: MemberStep[]
}

/** The ids of members, as a directory sends them. 400 for what is no id of a User. */
function idsIn(value: unknown): string[] {
  const items: Json[] = Array.isArray(value) ? value : [value]
  return [
    ...new Set(
      items.map((item) => {
        const id = typeof item === 'object' && item !== null ? (item.value ?? item.Value) : item
        if (typeof id !== 'string' || !isUuid(id.toLowerCase()))
          throw invalidField('members', `${String(id).slice(0, 100)} is no id of a User.`)
        return id.toLowerCase()
      }),
    ),
  ]
}

/** The id that `value eq "…"` names. */
function idOf(filter: Filter): string[] {
  if (filter.op === 'eq' && 'compValue' in filter && /^value$/i.test(filter.attrPath))
    return idsIn(filter.compValue)
  throw scimFault('invalid_filter', 'Members are found by value eq "<id>".')
}

/** The change that a PATCH asks for. 400 `invalid_path`, `invalid_filter`, `no_target` and `validation_error`. */
export function readGroupChange(operations: readonly Operation[]): GroupChange {
  const change: GroupChange = { steps: [] }
  for (const { op, path, value } of operations) {
    const verb = op.toLowerCase()
    if (!/^(add|replace|remove)$/.test(verb))
      throw invalidField('op', 'An operation is add, replace or remove.')
    if (path) apply(change, verb, path, value, true)
    else if (verb === 'remove') throw scimFault('no_target', 'Say by path what to remove.')
    else if (typeof value !== 'object' || value === null)
      throw invalidField('value', 'Without a path the value is an object of attributes.')
    else for (const [name, member] of attributesIn(value)) apply(change, verb, name, member, false)
  }
  if (change.steps.length > maxSteps)
    throw invalidField('members', `A body can change members at most ${maxSteps} times.`)
  return change
}

function apply(change: GroupChange, verb: string, text: string, value: unknown, isPath: boolean): void {
  const path = attributePath(groupType, text)
  if (!path?.attribute) {
    if (isPath) throw scimFault('invalid_path', `A Group has no attribute ${text.slice(0, 200)}.`)
    return
  }
  const { attribute, filter } = path
  if (attribute.mutability === 'readOnly') {
    if (isPath) throw mutability(`${attribute.name} cannot be changed.`)
    return
  }
  if (attribute.name === 'members') change.steps.push(stepOf(verb, filter, value))
  else if (attribute.name === 'externalId')
    change.externalId = verb === 'remove' ? null : (attributeValue(attribute, value) ?? null)
  else change.displayName = verb === 'remove' ? '' : (attributeValue(attribute, value) ?? '')
}

function stepOf(verb: string, filter: Filter | null, value: unknown): MemberStep {
  if (verb === 'remove') {
    if (filter) return { remove: idOf(filter) }
    return { remove: isNothing(value) ? 'all' : idsIn(value) }
  }
  const ids = isNothing(value) ? [] : idsIn(value)
  return verb === 'replace' && !filter ? { set: ids } : { add: ids }
}

/** The change that makes a group as a body describes it. */
export const readGroup = (body: Record<string, unknown>): GroupChange => {
  const change = readGroupChange([{ op: 'replace', value: body }])
  const hasMembers = change.steps.length > 0
  return { externalId: null, ...change, steps: hasMembers ? change.steps : [{ set: [] }] }
}
