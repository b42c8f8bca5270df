import { compact, leavesIn } from '../compile/compact-leaf.ts'
import type { Leaf, Node, Proof } from '../compile/compiled-policy.ts'

type Kind = 'all' | 'any'

/** What is left of proofs when all but the resource is known: decided, or comparisons with the resource. */
export type Rest = boolean | OpenRest
export type OpenRest = Leaf | { kind: Kind; of: OpenRest[] }

/** All or any of these. It looks at no more of them than decide it. */
export function joined(kind: Kind, members: Iterable<Rest>): Rest {
  const decisive = kind === 'any'
  const left = new Map<string, OpenRest>()
  for (const member of members) {
    if (member === decisive) return decisive
    if (typeof member === 'boolean') continue
    const of = 'kind' in member && member.kind === kind ? member.of : [member]
    for (const one of of) left.set(JSON.stringify(one), one)
  }
  const [first, ...more] = left.values()
  if (first === undefined) return !decisive
  return more.length === 0 ? first : { kind, of: [first, ...more] }
}

/** A level of a proof: the number of its part that is known without the resource, and what looks at the resource. */
interface Split {
  kind: Kind
  part?: number
  of: (Leaf | Split)[]
}

/** Divides proofs into parts that the module can decide now, and the rest. */
export function splitProofs(isKnown: (leaf: Leaf) => boolean) {
  const parts: Proof[] = []
  const isWhole = (node: Node): boolean => leavesIn(node).every(isKnown) && node.c.every(isWhole)

  function split(kind: Kind, node: Node): Split {
    const leaves = leavesIn(node)
    const known: Node = { l: leaves.filter(isKnown).map(compact), c: node.c.filter(isWhole) }
    const others = node.c.filter((child) => !isWhole(child))
    const below = kind === 'all' ? 'any' : 'all'
    const of = [...leaves.filter((leaf) => !isKnown(leaf)), ...others.map((child) => split(below, child))]
    if (known.l.length + known.c.length === 0) return { kind, of }
    const proof = kind === 'all' ? { all: known } : { any: known }
    return { kind, part: parts.push(proof) - 1, of }
  }
  return { parts, split }
}

/** What is left of a proof. `outcomes` are those of the parts. */
export function restOf(
  { kind, part, of }: Split,
  outcomes: readonly boolean[],
  restOfLeaf: (leaf: Leaf) => Rest,
): Rest {
  function* members(): Generator<Rest> {
    if (part !== undefined) yield outcomes[part] ?? false
    for (const one of of) yield 'kind' in one ? restOf(one, outcomes, restOfLeaf) : restOfLeaf(one)
  }
  return joined(kind, members())
}
