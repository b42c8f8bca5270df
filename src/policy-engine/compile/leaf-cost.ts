import type { Leaf } from './compiled-policy.ts'

// In ns, measured in the compiled module: `base` per comparison, `perItem` per item or character of the operand.
const base: Record<Leaf['operator'], number> = {
  exists: 111,
  eq: 90,
  in: 100,
  lt: 100,
  lte: 100,
  between: 150,
  has: 600,
  starts_with: 100,
  ends_with: 100,
  contains: 105,
  cidr: 200,
  includes: 200,
  subset: 200,
  overlaps: 200,
  matches: 400,
}
const perItem = { in: 7, cidr: 95, includes: 900, subset: 900, overlaps: 1000, contains: 300 } as const
const unknownItems = 128

/** The order of evaluation: the cheapest comparison first, because it can make the others unnecessary. */
export const rank = (leaf: Leaf): number => Object.keys(base).indexOf(leaf.operator)

/** The most time that one comparison can take, in µs, with any attributes. For a pattern, the measured time. */
export function costOf(leaf: Leaf, patternCostUs?: (pattern: string) => number | undefined): number {
  if (leaf.operator === 'matches') return patternCostUs?.(String(leaf.value)) ?? assumedPatternUs
  return (base[leaf.operator] + (perItem[leaf.operator as 'in'] ?? 0) * size(leaf)) / 1000
}

const assumedPatternUs = 20

function size({ value, from }: Leaf): number {
  if (Array.isArray(value)) return value.length
  if (typeof value === 'string') return value.length
  return from === undefined ? 1 : unknownItems
}
