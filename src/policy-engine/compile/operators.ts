import type { Leaf } from './compiled-policy.ts'
import type { DataType } from './conditions.ts'

type Comparisons = Readonly<Record<string, readonly [Leaf['operator'], wanted: boolean]>>

// An operator and its opposite are the same comparison with a different wanted outcome.
const plain: Comparisons = {
  exists: ['exists', true],
  not_exists: ['exists', false],
  eq: ['eq', true],
  ne: ['eq', false],
  in: ['in', true],
  not_in: ['in', false],
  lt: ['lt', true],
  gte: ['lt', false],
  lte: ['lte', true],
  gt: ['lte', false],
  between: ['between', true],
  contains: ['contains', true],
  starts_with: ['starts_with', true],
  ends_with: ['ends_with', true],
  matches: ['matches', true],
  in_cidr: ['cidr', true],
  not_in_cidr: ['cidr', false],
  in_department: ['has', true],
}
const onArrays: Comparisons = {
  exists: ['exists', true],
  not_exists: ['exists', false],
  contains: ['has', true],
  contains_any: ['overlaps', true],
  contains_all: ['includes', true],
  subset_of: ['subset', true],
}

const comparisonsOf = (type: DataType) => (type === 'array' ? onArrays : plain)

/** The comparison that an operator of a type (`operatorsByType`) is, and its wanted outcome. */
export const comparisonOf = (operator: string, type: DataType) => comparisonsOf(type)[operator]!

/** The operator that is a comparison with this wanted outcome; undefined where only its opposite has a name. */
export const operatorOf = (
  { operator, wanted }: Pick<Leaf, 'operator' | 'wanted'>,
  type: DataType,
): string | undefined =>
  Object.entries(comparisonsOf(type)).find(
    ([, [compared, outcome]]) => compared === operator && outcome === wanted,
  )?.[0]
