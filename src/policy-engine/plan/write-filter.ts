import type { Leaf } from '../compile/compiled-policy.ts'
import type { Condition, ConditionLeaf, DataType, Scalar } from '../compile/conditions.ts'
import { operatorOf } from '../compile/operators.ts'
import type { OpenRest } from './rest.ts'

type Types = Readonly<Record<string, DataType>>

/** What is left of proofs, as an author would write it. It is true where they succeed. */
export function conditionOf(rest: OpenRest, types: Types): Condition {
  if (!('kind' in rest)) return comparisonOf(rest, types)
  const of = rest.of.map((one) => conditionOf(one, types))
  return rest.kind === 'all' ? { all: of } : { any: of }
}

function comparisonOf(leaf: Leaf, types: Types): Condition {
  const { attribute, value, from, wanted } = leaf
  const type = types[attribute] ?? 'string'
  const operator = operatorOf(leaf, type)
  if (operator === undefined) return { none: [comparisonOf({ ...leaf, wanted: !wanted }, types)] }
  const operand =
    from === undefined ? leaf.operator !== 'exists' && { value: written(value!, type) } : { value_from: from }
  return { attribute, operator: operator as ConditionLeaf['operator'], ...operand }
}

const written = (value: Scalar | Scalar[], type: DataType): Scalar | Scalar[] =>
  type !== 'datetime' ? value : Array.isArray(value) ? value.map(instantText) : instantText(value)

const instantText = (ms: Scalar) => new Date(Number(ms)).toISOString()

/** Adds the attributes that a rest compares, with their types. */
export function noteAttributes(rest: OpenRest, types: Types, found: Record<string, DataType>): void {
  if ('kind' in rest) for (const one of rest.of) noteAttributes(one, types, found)
  else for (const name of [rest.attribute, rest.from ?? rest.attribute]) found[name] = types[name]!
}
