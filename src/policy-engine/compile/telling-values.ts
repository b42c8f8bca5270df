import { normalised } from '../evaluate/attributes.ts'
import type { Leaf } from './compiled-policy.ts'
import type { DataType, Scalar } from './conditions.ts'

/** What is known of the values that an attribute can have. */
export interface Domain {
  type: DataType
  allowed?: readonly Scalar[] | null
  min?: number
  max?: number
}

/** A text that no comparison names. */
const other = Symbol('other')
/** A value of an attribute; undefined if it is missing. */
type Value = Scalar | typeof other | undefined

/** Whether a comparison with constants holds for a value; undefined for any other comparison. */
export function testOf({
  operator,
  value: constant,
  from,
  ends,
  wanted,
}: Leaf): ((value: Value) => boolean) | undefined {
  if (operator === 'exists') return (value) => (value !== undefined) === wanted
  if (from !== undefined || ends || constant === undefined) return undefined
  const holds = comparison(operator, [constant].flat())
  return holds && ((value) => value !== undefined && holds(value as Scalar) === wanted)
}

function comparison(
  operator: Leaf['operator'],
  values: readonly Scalar[],
): ((value: Scalar) => boolean) | undefined {
  const [low, high] = values as [Scalar, Scalar]
  const among = new Set(values)
  switch (operator) {
    case 'eq':
    case 'in':
      return (value) => among.has(value)
    case 'lt':
      return (value) => value < low
    case 'lte':
      return (value) => value <= low
    case 'between':
      return (value) => low <= value && value <= high
  }
}

/** Values of an attribute among which is one for each outcome that these comparisons with constants can have together. */
export function tellingValues(leaves: readonly Leaf[], domain: Domain): Value[] {
  const { type, allowed, min = -Infinity, max = Infinity } = domain
  if (type === 'boolean') return [true, false]
  if (allowed) return allowed.map((value) => normalised(value, type) as Scalar)
  const named = leaves.flatMap(({ value = [] }) => value)
  if (type !== 'integer' && type !== 'number' && type !== 'datetime') return [...named, other]
  const bounds = [...new Set([min, ...named.map(Number), max])].sort((one, next) => one - next)
  const beside = (at: number, index: number) =>
    type === 'integer' ? [at - 1, at, at + 1] : [at, at / 2 + (bounds[index + 1] ?? at) / 2]
  return bounds.flatMap(beside).filter((value) => value >= min && value <= max)
}
