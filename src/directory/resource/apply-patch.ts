import { filter as tester } from 'scim2-parse-filter'
import { invalidField } from '../../errors.ts'
import type { Attribute, ResourceType } from '../schema/attributes.ts'
import { mutability, scimFault } from '../scim-error.ts'
import { type AttributePath, attributePath } from './attribute-path.ts'
import {
  assertFew,
  attributesIn,
  attributeValue,
  isNothing,
  type Json,
  singleValue,
  withOnePrimary,
} from './attribute-value.ts'
import type { Filter } from './parse-filter.ts'

/** An operation of a PATCH (RFC 7644 §3.5.2); `op` in any case. */
export interface Operation {
  op: string
  path?: string | undefined
  value?: unknown
}

type Verb = 'add' | 'replace' | 'remove'

/** How many values the operations of a body can look at, times the conditions of their filters. */
const maxWork = 50_000

/** A resource while it changes. */
interface Edit {
  type: ResourceType
  resource: Json
  /** What of `maxWork` is used. */
  work: number
}

/** The resource after the operations. 400 `invalid_path`, `invalid_filter`, `no_target` and `validation_error`. */
export function applyPatch(type: ResourceType, resource: Json, operations: readonly Operation[]): Json {
  const edit = { type, resource: structuredClone(resource), work: 0 }
  for (const { op, path, value } of operations) {
    const verb = op.toLowerCase()
    if (verb !== 'add' && verb !== 'replace' && verb !== 'remove')
      throw invalidField('op', 'An operation is add, replace or remove.')
    if (path === undefined || path === '') applyAll(edit, verb, value)
    else applyAt(edit, verb, path, value)
  }
  return edit.resource
}

/** The resource that a body describes: each of its members as if it were added to nothing. Unknown ones are dropped. */
export function readResource(type: ResourceType, body: object): Json {
  const edit = { type, resource: {}, work: 0 }
  applyAll(edit, 'add', body)
  return edit.resource
}

/** An operation without a path: its value has the attributes, and with Entra also paths, as names. */
function applyAll(edit: Edit, verb: Verb, value: unknown): void {
  if (verb === 'remove') throw scimFault('no_target', 'Say by path what to remove.')
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidField('value', 'Without a path the value is an object of attributes.')
  for (const [name, member] of attributesIn(value)) {
    const path = attributePath(edit.type, name)
    if (!path || path.attribute?.mutability === 'readOnly') continue
    if (path.attribute) set(edit, verb, path, path.attribute, member)
    else if (typeof member === 'object' && member !== null)
      for (const [inner, given] of attributesIn(member)) {
        const within = attributePath(edit.type, `${path.extension!.id}:${inner}`)
        if (within?.attribute) set(edit, verb, within, within.attribute, given)
      }
  }
}

function applyAt(edit: Edit, verb: Verb, text: string, value: unknown): void {
  const { type, resource } = edit
  const path = attributePath(type, text)
  if (!path) throw scimFault('invalid_path', `A ${type.name} has no attribute ${text.slice(0, 200)}.`)
  const { attribute, extension } = path
  if (attribute?.mutability === 'readOnly') throw mutability(`${attribute.name} cannot be changed.`)
  if (attribute) set(edit, verb, path, attribute, value)
  else if (verb === 'remove') delete resource[extension!.id]
  else applyAll(edit, verb, { [extension!.id]: value })
}

function set(edit: Edit, verb: Verb, path: AttributePath, attribute: Attribute, value: unknown): void {
  const { resource } = edit
  const { extension } = path
  const target = extension ? (resource[extension.id] ?? {}) : resource
  const before = target[attribute.name]
  if (attribute.multiValued) spend(edit, before, value, path.filter)
  const after =
    attribute.multiValued && (path.filter || path.sub)
      ? changedItems(verb, path, attribute, before ?? [], value)
      : path.sub
        ? withSub(before, path.sub, verb, value)
        : wholeValue(verb, attribute, before, value)
  if (attribute.multiValued) assertFew(attribute, after ?? [])
  if (isNothing(after) || (typeof after === 'object' && Object.keys(after).length === 0))
    delete target[attribute.name]
  else target[attribute.name] = after
  if (!extension) return
  if (Object.keys(target).length === 0) delete resource[extension.id]
  else resource[extension.id] = target
}

const lengthOf = (value: unknown) => (Array.isArray(value) ? value.length : 1)

/** Counts the work of a change of a list. */
function spend(edit: Edit, before: unknown, value: unknown, filter: Filter | null): void {
  edit.work += (lengthOf(before) + lengthOf(value)) * (filter ? conditionsIn(filter) : 1)
  if (edit.work > maxWork)
    throw invalidField('Operations', 'The operations look at too many values. Send fewer at once.')
}

function conditionsIn(filter: Filter): number {
  if ('filters' in filter) return filter.filters.reduce((sum, one) => sum + conditionsIn(one), 0)
  if ('valFilter' in filter) return conditionsIn(filter.valFilter)
  return 'filter' in filter ? conditionsIn(filter.filter) : 1
}

function wholeValue(verb: Verb, attribute: Attribute, before: Json, value: unknown): Json {
  if (attribute.multiValued) {
    if (verb === 'remove') return isNothing(value) ? undefined : without(before ?? [], attribute, value)
    const given = attributeValue(attribute, value) ?? []
    return verb === 'replace' ? given : withOnePrimary(union(before ?? [], given))
  }
  if (verb === 'remove') return undefined
  const given = attributeValue(attribute, value)
  return attribute.type === 'complex' && given !== undefined ? { ...before, ...given } : given
}

const keyOf = (item: Json) => item?.value ?? item

const wholeKey = (item: object) => JSON.stringify(Object.entries(item).sort())
const valueKey = ({ value, type }: Json) => JSON.stringify([value, type])

/** Both lists, with the newer of two items that have the same value. */
function union(before: Json[], given: Json[]): Json[] {
  const known = new Set(before.map(wholeKey))
  const added = given.filter((item) => !known.has(wholeKey(item)))
  const newer = new Set(added.map(valueKey))
  return [...before.filter((one) => one.value === undefined || !newer.has(valueKey(one))), ...added]
}

/** Entra removes members by a list of values. */
function without(before: Json[], attribute: Attribute, value: unknown): Json[] {
  const gone = new Set((attributeValue(attribute, value) ?? []).map(keyOf))
  return before.filter((item) => !gone.has(keyOf(item)))
}

function withSub(before: Json, sub: Attribute, verb: Verb, value: unknown): Json {
  if (sub.mutability === 'readOnly') return before
  const { [sub.name]: _old, ...rest } = before ?? {}
  const given = verb === 'remove' ? undefined : singleValue(sub, value)
  return given === undefined ? rest : { ...rest, [sub.name]: given }
}

/** The items that a filter matches, or all, are changed. One is made if there is none to change. */
function changedItems(
  verb: Verb,
  { filter, sub }: AttributePath,
  attribute: Attribute,
  before: Json[],
  value: unknown,
): Json[] {
  const matches = filter ? tester(lenient(filter)) : () => true
  const isMatch = (item: Json) => matches({ primary: false, ...item })
  const changed = (item: Json): Json => {
    if (sub) return withSub(item, sub, verb, value)
    return verb === 'remove' ? undefined : { ...item, ...singleValue(attribute, value) }
  }
  const after = before.map((item) => (isMatch(item) ? changed(item) : item))
  if (verb !== 'remove' && !before.some(isMatch))
    after.push(changed(filter ? singleValue(attribute, impliedBy(filter)) : {}))
  const last = after.findLastIndex((item, i) => item?.primary === true && before[i]?.primary !== true)
  const one =
    last < 0
      ? after
      : after.map((item, i) => (item?.primary && i !== last ? { ...item, primary: false } : item))
  return one.filter((item) => !isNothing(item) && Object.keys(item).length > 0)
}

/** Values of flags can be texts. */
function lenient(filter: Filter): Filter {
  if ('filters' in filter) return { ...filter, filters: filter.filters.map(lenient) }
  if ('filter' in filter) return { ...filter, filter: lenient(filter.filter) }
  const isFlag = 'compValue' in filter && /^primary$/i.test(filter.attrPath)
  return isFlag ? { ...filter, compValue: /^true$/i.test(String(filter.compValue)) } : filter
}

/** The item that a filter describes: `type eq "work"` gives `{type: 'work'}`. */
function impliedBy(filter: Filter): Json {
  if (filter.op === 'and') return Object.assign({}, ...filter.filters.map(impliedBy))
  if (filter.op !== 'eq' || !('compValue' in filter)) return {}
  const isFlag = /^primary$/i.test(filter.attrPath)
  return {
    [filter.attrPath.toLowerCase()]: isFlag ? /^true$/i.test(String(filter.compValue)) : filter.compValue,
  }
}
