import { wildcardOf } from '../catalogue/actions.ts'
import type { Leaf, Slice } from '../compile/compiled-policy.ts'
import type { Scalar } from '../compile/conditions.ts'
import { type AttributeValue, attributesOf } from './attributes.ts'
import type { Bundle } from './bundle.ts'
import { type AnyQuery, policyInput } from './query.ts'
import { sessionInput } from './session-input.ts'
import { type Lists, sliceContent } from './slice-content.ts'

/**
 * Returns a function that gives the class of a query with this slice. All queries of a class have the same effect, so a
 * search decides one of each. The class has what the rules can distinguish: of an attribute that is only compared with
 * constants, which of them it equals and between which it is; of roles and departments, those that policies name. An
 * attribute with any other operator counts with its whole value, and so does one that the rules of the service read. Rules
 * of the installation can compare anything, so with them only equal queries share a class.
 */
export function queryClassifier(
  slice: Slice,
  { data, isExtended }: Pick<Bundle, 'data' | 'isExtended'>,
): (query: AnyQuery) => string {
  const read = { ...data.attributes, ...slice.attributes }
  if (isExtended)
    return (query) => JSON.stringify({ ...policyInput(query, data.attributes), request_id: null })
  const { leaves, legible, ...content } = sliceContent(slice)
  const lists = Object.values(content.lists)
  const comparisons = comparisonsOf(leaves)
  for (const { compiled } of slice.modules)
    for (const name of Object.keys(compiled.attributes)) comparisons.countWhole(name)
  for (const name of Object.keys(data.attributes)) comparisons.countWhole(name)
  return (query) => {
    // The same query is also decided about the actor, whose attributes differ.
    if (query.subject.session?.actor) return JSON.stringify([query.action, query.subject, query.resource])
    const attrs = attributesOf(query, read)
    const facts = [factsOf(query, lists), ...comparisons.relations.map((relation) => relation(attrs))]
    // A policy of a form that this file does not know can compare anything.
    if (!legible) return JSON.stringify([facts, attrs, query.subject.id, query.resource])
    for (const name of Object.keys(read)) facts.push(comparisons.classOf(name, attrs[name]))
    return facts.join('\n')
  }
}

/** The texts with which the policies of a slice compare an attribute for equality, such as the ids of resources. */
export function valuesNamed(slice: Slice, attribute: string): string[] {
  const { leaves } = sliceContent(slice)
  const named = leaves.filter(
    (leaf) =>
      leaf.attribute === attribute &&
      (leaf.operator === 'eq' || leaf.operator === 'in') &&
      leaf.value !== undefined,
  )
  const texts = named.flatMap(({ value }) => value).filter((value) => typeof value === 'string')
  return [...new Set(texts)].sort()
}

/** What invariants, roles and the lists of policies read of a query. */
function factsOf(
  { subject, resource, action, tenant, phase, ...query }: AnyQuery,
  lists: readonly Lists[],
): string {
  const { membership, session } = subject
  const listed = (kind: Exclude<keyof Lists, 'any'>, id: string) =>
    lists.some((list) => Object.hasOwn(list[kind], id))
  return JSON.stringify([
    [action, phase, 'application' in query, tenant?.id, tenant?.status, query.approval ?? null],
    [subject.type, subject.tenantId, session && sessionInput(session, action), query.othersCanApprove],
    [resource.type, resource.tenantId, resource.ownerId === subject.id],
    membership && [
      membership.status,
      membership.systemRoles,
      membership.roleIds.filter((id) => listed('role', id)),
      membership.permissions.filter((name) => name === action || name === wildcardOf(action)),
      membership.departmentId !== null &&
        listed('department', membership.departmentId) &&
        membership.departmentId,
      listed('user', subject.id) && subject.id,
    ],
  ])
}

type Attributes = Record<string, AttributeValue | null>

/** How the leaves of a slice use an attribute. */
interface Use {
  constants: Set<Scalar>
  bounds: Set<number>
  tests: ((text: string) => boolean)[]
  whole: boolean
}

interface Comparisons {
  relations: ((attrs: Attributes) => string)[]
  classOf(name: string, value: AttributeValue | null | undefined): string
  /** from now on, the attribute counts with its whole value */
  countWhole(name: string): void
}

function comparisonsOf(leaves: readonly Leaf[]): Comparisons {
  const uses = new Map<string, Use>()
  const useOf = (name: string): Use => {
    const use = uses.get(name) ?? { constants: new Set(), bounds: new Set(), tests: [], whole: false }
    uses.set(name, use)
    return use
  }
  const relations: Comparisons['relations'] = []
  for (const leaf of leaves) {
    const relation = relationOf(leaf)
    if (relation) relations.push(relation)
    else noteUse(leaf, useOf)
  }
  return {
    relations,
    classOf: (name, value) =>
      value === undefined ? '-' : value === null ? '?' : classIn(useOf(name), value),
    countWhole: (name) => {
      useOf(name).whole = true
    },
  }
}

/** The comparison of two attributes by equality, element or order; undefined for any other comparison. */
function relationOf({ operator, attribute, from, ends }: Leaf): ((attrs: Attributes) => string) | undefined {
  const order = (other: string) => (attrs: Attributes) => sign(attrs[attribute], attrs[other])
  if (ends) return (attrs) => `${order(ends[0])(attrs)} ${order(ends[1])(attrs)}`
  if (from === undefined) return undefined
  if (operator === 'lt' || operator === 'lte') return order(from)
  if (operator === 'eq') return (attrs) => equality(attrs[attribute], attrs[from])
  if (operator === 'in') return (attrs) => element(attrs[attribute], attrs[from])
  return operator === 'has' ? (attrs) => element(attrs[from], attrs[attribute]) : undefined
}

type Value = AttributeValue | null | undefined

/** The kinds of two values whose comparison has no result: one is missing or ill-typed, or they have different types. */
const kinds = (one: Value, other: Value) => `${kind(one)} ${kind(other)}`
const kind = (value: Value) => (value === null ? 'ill-typed' : Array.isArray(value) ? 'list' : typeof value)

const sign = (one: Value, other: Value) =>
  typeof one === 'number' && typeof other === 'number' ? String(Math.sign(one - other)) : kinds(one, other)
function equality(one: Value, other: Value): string {
  if (kind(one) !== kind(other)) return kinds(one, other)
  return Array.isArray(one) ? JSON.stringify([one, other]) : String(one === other)
}
const element = (one: Value, list: Value) =>
  Array.isArray(list) && one !== undefined && one !== null && !Array.isArray(one)
    ? String(list.includes(one))
    : kinds(one, list)

function noteUse({ operator, attribute, value, from }: Leaf, useOf: (name: string) => Use): void {
  const use = useOf(attribute)
  const values = value === undefined || value === null ? [] : [value].flat()
  if (operator === 'exists') return
  if (from !== undefined) {
    use.whole = true
    useOf(from).whole = true
  } else if (byConstants.has(operator)) for (const one of values) use.constants.add(one)
  else if (byBounds.has(operator)) for (const one of values) use.bounds.add(Number(one))
  else if (operator === 'starts_with') use.tests.push((text) => text.startsWith(String(value)))
  else if (operator === 'ends_with') use.tests.push((text) => text.endsWith(String(value)))
  else if (operator === 'contains') use.tests.push((text) => text.includes(String(value)))
  else use.whole = true
}

const byConstants: ReadonlySet<Leaf['operator']> = new Set([
  'eq',
  'in',
  'has',
  'overlaps',
  'includes',
  'subset',
])
const byBounds: ReadonlySet<Leaf['operator']> = new Set(['lt', 'lte', 'between'])

function classIn({ constants, bounds, tests, whole }: Use, value: AttributeValue): string {
  if (whole) return JSON.stringify(value)
  if (Array.isArray(value)) {
    const known = value.filter((item) => constants.has(item))
    // Whether there are other items decides `subset_of`.
    return JSON.stringify([[...new Set(known)].sort(), value.length > known.length])
  }
  const equal = constants.has(value) ? [value] : typeof value
  const position = typeof value === 'number' ? positionAmong(bounds, value) : ''
  const passed = typeof value === 'string' ? tests.map((test) => (test(value) ? 1 : 0)).join('') : ''
  return JSON.stringify([equal, position, passed])
}

/** How many bounds are below a number, and whether it equals one. */
function positionAmong(bounds: ReadonlySet<number>, value: number): string {
  let below = 0
  for (const bound of bounds) if (bound < value) below++
  return `${below}${bounds.has(value) ? '=' : ''}`
}
