import { isDeepStrictEqual } from 'node:util'
import { filter as tester } from 'scim2-parse-filter'
import { invalidField } from '../../errors.ts'
import type { Attribute, ResourceType } from '../schema/attributes.ts'
import { mutability, scimFault } from '../scim-error.ts'
import { type AttributePath, attributePath } from './attribute-path.ts'
import { attributeValue, isNothing, type Json, singleValue, withOnePrimary } from './attribute-value.ts'
import type { Filter } from './parse-filter.ts'

/** An operation of a PATCH (RFC 7644 §3.5.2); `op` in any case. */
export interface Operation {
  op: string
  path?: string | undefined
  value?: unknown
}

type Verb = 'add' | 'replace' | 'remove'

/** The resource after the operations. 400 `invalid_path`, `invalid_filter`, `no_target` and `validation_error`. */
export function applyPatch(type: ResourceType, resource: Json, operations: readonly Operation[]): Json {
  const after = structuredClone(resource)
  for (const { op, path, value } of operations) {
    const verb = op.toLowerCase()
    if (verb !== 'add' && verb !== 'replace' && verb !== 'remove')
      throw invalidField('op', 'An operation is add, replace or remove.')
    if (path === undefined || path === '') applyAll(type, after, verb, value)
    else applyAt(type, after, verb, path, value)
  }
  return after
}

/** The resource that a body describes: each of its members as if it were added to nothing. Unknown ones are dropped. */
export function readResource(type: ResourceType, body: object): Json {
  const resource = {}
  applyAll(type, resource, 'add', body)
  return resource
}

/** An operation without a path: its value has the attributes, and with Entra also paths, as names. */
function applyAll(type: ResourceType, resource: Json, verb: Verb, value: unknown): void {
  if (verb === 'remove') throw scimFault('no_target', 'Say by path what to remove.')
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidField('value', 'Without a path the value is an object of attributes.')
  for (const [name, member] of Object.entries(value)) {
    const path = attributePath(type, name)
    if (!path || path.attribute?.mutability === 'readOnly') continue
    if (path.attribute) set(resource, verb, path, path.attribute, member)
    else if (typeof member === 'object' && member !== null)
      for (const [inner, given] of Object.entries(member)) {
        const within = attributePath(type, `${path.extension!.id}:${inner}`)
        if (within?.attribute) set(resource, verb, within, within.attribute, given)
      }
  }
}

function applyAt(type: ResourceType, resource: Json, verb: Verb, text: string, value: unknown): void {
  const path = attributePath(type, text)
  if (!path) throw scimFault('invalid_path', `A ${type.name} has no attribute ${text.slice(0, 200)}.`)
  const { attribute, extension } = path
  if (attribute?.mutability === 'readOnly') throw mutability(`${attribute.name} cannot be changed.`)
  if (attribute) set(resource, verb, path, attribute, value)
  else if (verb === 'remove') delete resource[extension!.id]
  else applyAll(type, resource, verb, { [extension!.id]: value })
}

function set(resource: Json, verb: Verb, path: AttributePath, attribute: Attribute, value: unknown): void {
  const { extension } = path
  const target = extension ? (resource[extension.id] ?? {}) : resource
  const before = target[attribute.name]
  const after =
    attribute.multiValued && (path.filter || path.sub)
      ? changedItems(verb, path, attribute, before ?? [], value)
      : path.sub
        ? withSub(before, path.sub, verb, value)
        : wholeValue(verb, attribute, before, value)
  if (isNothing(after) || (typeof after === 'object' && Object.keys(after).length === 0))
    delete target[attribute.name]
  else target[attribute.name] = after
  if (!extension) return
  if (Object.keys(target).length === 0) delete resource[extension.id]
  else resource[extension.id] = target
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

/** Both lists, with the newer of two items that have the same value. */
function union(before: Json[], given: Json[]): Json[] {
  const added = given.filter((item) => !before.some((one) => isDeepStrictEqual(one, item)))
  const isReplaced = (one: Json) =>
    one?.value !== undefined && added.some((item) => item.value === one.value && item.type === one.type)
  return [...before.filter((one) => !isReplaced(one)), ...added]
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
  if (verb !== 'remove' && !before.some(isMatch)) after.push(changed(filter ? impliedBy(filter) : {}))
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
