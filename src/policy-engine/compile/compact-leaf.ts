import type { Leaf, Node } from './compiled-policy.ts'

/**
 * A {@link Leaf} as the module reads it, and as compiled policies are stored: with spelled names a slice would be a quarter
 * longer, and processes of the previous release read what is stored, too.
 */
export interface CompactLeaf {
  o: Leaf['operator']
  k: Leaf['attribute']
  v?: Leaf['value']
  f?: Leaf['from']
  e?: Leaf['ends']
  w: Leaf['wanted']
}

export const compact = ({ operator, attribute, value, from, ends, wanted }: Leaf): CompactLeaf => ({
  o: operator,
  k: attribute,
  ...(value !== undefined && { v: value }),
  ...(from !== undefined && { f: from }),
  ...(ends && { e: ends }),
  w: wanted,
})

const spelled = ({ o, k, v, f, e, w }: CompactLeaf): Leaf => ({
  operator: o,
  attribute: k,
  ...(v !== undefined && { value: v }),
  ...(f !== undefined && { from: f }),
  ...(e && { ends: e }),
  wanted: w,
})

/** The leaves of one level. */
export const leavesIn = ({ g, l }: Node): Leaf[] => (g ? [g, ...l] : l).map(spelled)
