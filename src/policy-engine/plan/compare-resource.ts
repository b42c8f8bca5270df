import type { Leaf } from '../compile/compiled-policy.ts'
import type { DataType, Scalar } from '../compile/conditions.ts'
import { attributeOf, type Departments, derivedFrom } from '../compile/departments.ts'
import type { AttributeValue } from '../evaluate/attributes.ts'
import { departmentTree } from './department-tree.ts'
import { joined, type Rest } from './rest.ts'

/** What is known without the resource. */
export interface Known {
  attrs: Readonly<Record<string, AttributeValue | null>>
  /** of all attributes that the policies read */
  types: Readonly<Record<string, DataType>>
  departments: Departments | null
  /** throws if there is no room for so many characters more */
  fits(characters: number): void
}

/** Whether the value of a name needs no resource. */
export const isKnownName = (name: string): boolean => {
  const attribute = attributeOf(name)
  return !attribute.startsWith('resource.') || attribute === 'resource.type'
}

export const isKnownLeaf = ({ attribute, from }: Leaf): boolean =>
  isKnownName(attribute) && (from === undefined || isKnownName(from))

/**
 * A comparison with the resource, with what is known as constants: true and false only where no value of the resource
 * matters. A known value that is missing proves nothing.
 */
export const restOfLeaf = (leaf: Leaf, known: Known): Rest =>
  derivedFrom(leaf.attribute) ? departmentRest(leaf, known) : valueRest(leaf, known)

function valueRest(leaf: Leaf, known: Known): Rest {
  const { operator, attribute, from, ends, wanted } = leaf
  if (ends) {
    const value = ends.map((name) => known.attrs[name]) as [number, number]
    return betweenRest({ operator, attribute, value, wanted }, known)
  }
  if (from === undefined) return ofType(leaf, known)
  const value = known.attrs[isKnownName(attribute) ? attribute : from]
  if (!isKnownName(attribute) && !isKnownName(from))
    return operator === 'in' && known.types[from] !== 'array' ? false : leaf
  if (value === undefined || value === null) return false
  const turned = isKnownName(attribute)
    ? turnedLeaf({ ...leaf, from }, value, known)
    : { operator, attribute, value, wanted }
  // An element is looked for in lists only.
  if (turned.operator === 'in' && !Array.isArray(turned.value)) return false
  if (turned.operator === 'has' && known.types[turned.attribute] !== 'array') return false
  return ofType(turned, known)
}

/** The same comparison, begun from the other side: `from` is of the resource, and the attribute has this value. */
function turnedLeaf(
  { operator, from, wanted }: Leaf & { from: string },
  value: AttributeValue,
  known: Known,
): Leaf {
  const turned = { attribute: from, value, wanted }
  switch (operator) {
    case 'lt':
      return { ...turned, operator: 'lte', wanted: !wanted }
    case 'lte':
      return { ...turned, operator: 'lt', wanted: !wanted }
    case 'in':
      return { ...turned, operator: 'has' }
    case 'has':
      return { ...turned, operator: 'in' }
    case 'includes':
      return { ...turned, operator: 'subset' }
    case 'subset':
      return { ...turned, operator: 'includes' }
    case 'starts_with':
    case 'ends_with':
    case 'contains':
      return { ...turned, operator: 'in', value: [...partsOf(operator, String(value), known)] }
    default:
      return { ...turned, operator }
  }
}

/** The texts with which a text starts or ends, or that it contains. */
function partsOf(
  operator: 'starts_with' | 'ends_with' | 'contains',
  text: string,
  { fits }: Known,
): Set<string> {
  const characters = [...text]
  const parts = new Set([''])
  let size = 0
  for (let from = 0; from < characters.length; from++)
    for (let to = characters.length; to > from; to--) {
      if ((operator === 'starts_with' && from > 0) || (operator === 'ends_with' && to < characters.length))
        break
      const part = characters.slice(from, to).join('')
      // Repetitions count, because they take time, too.
      size += part.length
      fits(size)
      parts.add(part)
    }
  return parts
}

/** What is left of `in_department`: the ids of the departments for which it holds. An unknown id is no department. */
function departmentRest({ attribute, from, value, wanted }: Leaf, known: Known): Rest {
  const departments = known.departments ?? new Map<string, string | null>()
  const { order, ranges } = departmentTree(departments)
  const oneOf = (name: string, ids: Scalar[]): Rest =>
    ids.length > 0 && { operator: 'in', attribute: attributeOf(name), value: ids, wanted: true }
  const below = (ids: readonly string[]): Rest => {
    const chosen = ranges(ids, wanted)
    known.fits(idLength * chosen.reduce((sum, [start, end]) => sum + end - start, 0))
    return oneOf(
      attribute,
      chosen.flatMap(([start, end]) => order.slice(start, end)),
    )
  }
  if (from === undefined) return below([value].flat() as string[])
  if (isKnownName(attribute)) {
    const path = known.attrs[attribute]
    if (!Array.isArray(path)) return false
    known.fits(idLength * (wanted ? path.length : departments.size - path.length))
    return oneOf(from, wanted ? path : [...departments.keys()].filter((id) => !path.includes(id)))
  }
  if (isKnownName(from)) {
    const id = known.attrs[from]
    return typeof id === 'string' && below([id])
  }
  function* pairs(): Generator<Rest> {
    let size = 0
    for (const id of departments.keys()) {
      const same: Leaf = { operator: 'eq', attribute: attributeOf(from!), value: id, wanted: true }
      const pair = joined('all', [same, below([id])])
      size += JSON.stringify(pair).length
      known.fits(size)
      yield pair
    }
  }
  return joined('any', pairs())
}

const idLength = 36

// RFC 3339 has the years 0000 to 9999.
const instants = [-62_167_219_200_000, 253_402_300_799_999] as const

/** A comparison with a constant that conditions on this type can say. */
function ofType(leaf: Leaf, known: Known): Rest {
  const { operator, attribute, value, wanted } = leaf
  const type = known.types[attribute]
  const whatever = (outcome: boolean): Rest =>
    outcome === wanted && { operator: 'exists', attribute, wanted: true }
  if (operator === 'in') return elementRest(leaf, known)
  if (Array.isArray(value) && value.length === 0 && operator === 'overlaps') return whatever(false)
  if (Array.isArray(value) && value.length === 0 && operator === 'includes') return whatever(true)
  if (type !== 'datetime' || value === undefined) return leaf
  if (operator === 'between') return betweenRest(leaf, known)
  const instant = Number(value)
  if (instant >= instants[0] && instant <= instants[1]) return leaf
  return whatever(operator !== 'eq' && instant > instants[1])
}

function betweenRest(leaf: Leaf, known: Known): Rest {
  const { attribute, value, wanted } = leaf
  const [from, to] = value as [number, number]
  if (from >= instants[0] && to <= instants[1] && from <= to) return leaf
  const ends: Leaf[] = [
    { operator: 'lt', attribute, value: from, wanted: !wanted },
    { operator: 'lte', attribute, value: to, wanted },
  ]
  return joined(
    wanted ? 'all' : 'any',
    ends.map((end) => ofType(end, known)),
  )
}

/** Of a list, only items of the type of the attribute can be equal to it. */
function elementRest(leaf: Leaf, { types }: Known): Rest {
  const { attribute, value, wanted } = leaf
  const type = types[attribute] === 'integer' ? 'number' : (types[attribute] ?? 'string')
  const items = (value as Scalar[]).filter((item) => typeof item === type)
  if (type === 'boolean')
    return joined(
      'any',
      [true, false]
        .filter((one) => items.includes(one) === wanted)
        .map((one): Leaf => ({ operator: 'eq', attribute, value: one, wanted: true })),
    )
  if (items.length > 0) return { ...leaf, value: items }
  return !wanted && { operator: 'exists', attribute, wanted: true }
}
