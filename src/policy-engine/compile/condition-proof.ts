import type { CheckedCondition } from './check-condition.ts'
import { compact } from './compact-leaf.ts'
import type { Leaf, Node, Proof } from './compiled-policy.ts'
import { rank } from './leaf-cost.ts'

type Kind = 'all' | 'any'
type Tree = Leaf | { kind: Kind; of: Tree[] }

/**
 * The proof that the result of a condition is `wanted`: its negation normal form with alternating levels. A missing
 * value proves neither result, so no third truth value is needed.
 */
export function proofOf(condition: CheckedCondition, wanted: boolean): Proof {
  const tree = simplified(normal(condition, wanted))
  const group = 'kind' in tree ? tree : { kind: 'all' as const, of: [tree] }
  return group.kind === 'all' ? { all: nodeOf(group.of) } : { any: nodeOf(group.of) }
}

function normal(condition: CheckedCondition, wanted: boolean): Tree {
  if ('leaf' in condition) return { ...condition.leaf, wanted: condition.leaf.wanted === wanted }
  const each = condition.group === 'none' ? !wanted : wanted
  const kind = (condition.group === 'any') === wanted ? 'any' : 'all'
  return { kind, of: condition.of.map((member) => normal(member, each)) }
}

// Merges nested groups of one kind and replaces a group of one by its member. An empty group decides the group
// around it, or disappears.
function simplified(tree: Tree): Tree {
  if (!('kind' in tree)) return tree
  const { kind } = tree
  const of = tree.of
    .map(simplified)
    .flatMap((member) => ('kind' in member && member.kind === kind ? member.of : [member]))
  const decisive = of.find((member) => 'kind' in member && member.of.length === 0)
  if (decisive) return decisive
  return of.length === 1 ? (of[0] as Tree) : { kind, of }
}

function nodeOf(members: Tree[]): Node {
  const leaves = members.filter((member): member is Leaf => !('kind' in member))
  const groups = members.filter((member) => 'kind' in member)
  const [g, ...l] = leaves.toSorted((one, other) => rank(one) - rank(other)).map(compact)
  const c = groups.map(({ of }) => nodeOf(of))
  return g ? { g, l, c } : { l: [], c }
}
