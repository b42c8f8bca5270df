import type { CheckedCondition } from './check-condition.ts'
import type { Leaf, Node, Proof } from './compiled-policy.ts'
import { rank } from './leaf-cost.ts'

type Kind = 'all' | 'any'
type Tree = Leaf | { kind: Kind; of: Tree[] }

/**
 * What proves that a condition comes out as `wanted`: its negation normal form of alternating levels. A value
 * that is missing proves neither, so nothing is left of a third truth value.
 */
export function proofOf(condition: CheckedCondition, wanted: boolean): Proof {
  const tree = simplified(normal(condition, wanted))
  const group = 'kind' in tree ? tree : { kind: 'all' as const, of: [tree] }
  return group.kind === 'all' ? { all: nodeOf(group.of) } : { any: nodeOf(group.of) }
}

function normal(condition: CheckedCondition, wanted: boolean): Tree {
  if ('leaf' in condition) return { ...condition.leaf, w: condition.leaf.w === wanted }
  const each = condition.group === 'none' ? !wanted : wanted
  const kind = (condition.group === 'any') === wanted ? 'any' : 'all'
  return { kind, of: condition.of.map((member) => normal(member, each)) }
}

// Groups within groups of the same kind become one, a group of one its member; an empty one decides or vanishes.
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
  const [g, ...l] = leaves.toSorted((one, other) => rank(one) - rank(other))
  const c = groups.map(({ of }) => nodeOf(of))
  return g ? { g, l, c } : { l: [], c }
}
