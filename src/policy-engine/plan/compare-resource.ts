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

export const isKnownLeaf = ({ k, f }: Leaf): boolean => isKnownName(k) && (f === undefined || isKnownName(f))

/**
 * A comparison with the resource, with what is known as constants: true and false only where no value of the resource
 * matters. A known value that is missing proves nothing.
 */
export const restOfLeaf = (leaf: Leaf, known: Known): Rest =>
  derivedFrom(leaf.k) ? departmentRest(leaf, known) : valueRest(leaf, known)

function valueRest(leaf: Leaf, known: Known): Rest {
  const { o, k, f, e, w } = leaf
  if (e) {
    const [from, to] = e.map((name) => known.attrs[name]) as [number, number]
    return betweenRest({ o, k, v: [from, to], w }, known)
  }
  if (f === undefined) return ofType(leaf, known)
  const value = known.attrs[isKnownName(k) ? k : f]
  if (!isKnownName(k) && !isKnownName(f)) return o === 'in' && known.types[f] !== 'array' ? false : leaf
  if (value === undefined || value === null) return false
  const turned = isKnownName(k) ? turnedLeaf({ ...leaf, f }, value, known) : { o, k, v: value, w }
  // An element is looked for in lists only.
  if (turned.o === 'in' && !Array.isArray(turned.v)) return false
  if (turned.o === 'has' && known.types[turned.k] !== 'array') return false
  return ofType(turned, known)
}

/** The same comparison, begun from the other side: `f` is of the resource, and `k` has this value. */
function turnedLeaf({ o, f, w }: Leaf & { f: string }, v: AttributeValue, known: Known): Leaf {
  const turned = { k: f, v, w }
  switch (o) {
    case 'lt':
      return { ...turned, o: 'lte', w: !w }
    case 'lte':
      return { ...turned, o: 'lt', w: !w }
    case 'in':
      return { ...turned, o: 'has' }
    case 'has':
      return { ...turned, o: 'in' }
    case 'includes':
      return { ...turned, o: 'subset' }
    case 'subset':
      return { ...turned, o: 'includes' }
    case 'starts_with':
    case 'ends_with':
    case 'contains':
      return { ...turned, o: 'in', v: [...partsOf(o, String(v), known)] }
    default:
      return { ...turned, o }
  }
}

/** The texts with which a text starts or ends, or that it contains. */
function partsOf(o: 'starts_with' | 'ends_with' | 'contains', text: string, { fits }: Known): Set<string> {
  const characters = [...text]
  const parts = new Set([''])
  let size = 0
  for (let from = 0; from < characters.length; from++)
    for (let to = characters.length; to > from; to--) {
      if ((o === 'starts_with' && from > 0) || (o === 'ends_with' && to < characters.length)) break
      const part = characters.slice(from, to).join('')
      // Repetitions count, because they take time, too.
      size += part.length
      fits(size)
      parts.add(part)
    }
  return parts
}

/** What is left of `in_department`: the ids of the departments for which it holds. An unknown id is no department. */
function departmentRest({ k, f, v, w }: Leaf, known: Known): Rest {
  const departments = known.departments ?? new Map<string, string | null>()
  const { order, ranges } = departmentTree(departments)
  const oneOf = (name: string, ids: Scalar[]): Rest =>
    ids.length > 0 && { o: 'in', k: attributeOf(name), v: ids, w: true }
  const below = (ids: readonly string[]): Rest => {
    const chosen = ranges(ids, w)
    known.fits(idLength * chosen.reduce((sum, [from, to]) => sum + to - from, 0))
    return oneOf(
      k,
      chosen.flatMap(([from, to]) => order.slice(from, to)),
    )
  }
  if (f === undefined) return below([v].flat() as string[])
  if (isKnownName(k)) {
    const path = known.attrs[k]
    if (!Array.isArray(path)) return false
    known.fits(idLength * (w ? path.length : departments.size - path.length))
    return oneOf(f, w ? path : [...departments.keys()].filter((id) => !path.includes(id)))
  }
  if (isKnownName(f)) {
    const id = known.attrs[f]
    return typeof id === 'string' && below([id])
  }
  function* pairs(): Generator<Rest> {
    let size = 0
    for (const id of departments.keys()) {
      const pair = joined('all', [{ o: 'eq', k: attributeOf(f!), v: id, w: true }, below([id])])
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
  const { o, k, v, w } = leaf
  const type = known.types[k]
  const whatever = (outcome: boolean): Rest => outcome === w && { o: 'exists', k, w: true }
  if (o === 'in') return elementRest(leaf, known)
  if (Array.isArray(v) && v.length === 0 && o === 'overlaps') return whatever(false)
  if (Array.isArray(v) && v.length === 0 && o === 'includes') return whatever(true)
  if (type !== 'datetime' || v === undefined) return leaf
  if (o === 'between') return betweenRest(leaf, known)
  const instant = Number(v)
  if (instant >= instants[0] && instant <= instants[1]) return leaf
  return whatever(o !== 'eq' && instant > instants[1])
}

function betweenRest(leaf: Leaf, known: Known): Rest {
  const { k, v, w } = leaf
  const [from, to] = v as [number, number]
  if (from >= instants[0] && to <= instants[1] && from <= to) return leaf
  const ends: Leaf[] = [
    { o: 'lt', k, v: from, w: !w },
    { o: 'lte', k, v: to, w },
  ]
  return joined(
    w ? 'all' : 'any',
    ends.map((end) => ofType(end, known)),
  )
}

/** Of a list, only items of the type of the attribute can be equal to it. */
function elementRest(leaf: Leaf, { types }: Known): Rest {
  const { k, v, w } = leaf
  const type = types[k] === 'integer' ? 'number' : (types[k] ?? 'string')
  const items = (v as Scalar[]).filter((item) => typeof item === type)
  if (type === 'boolean')
    return joined(
      'any',
      [true, false]
        .filter((one) => items.includes(one) === w)
        .map((one): Leaf => ({ o: 'eq', k, v: one, w: true })),
    )
  if (items.length > 0) return { ...leaf, v: items }
  return !w && { o: 'exists', k, w: true }
}
