import { type CompactLeaf, compact } from './compact-leaf.ts'
import { type CompiledPolicy, isModuleFinding, type Node, type Proof } from './compiled-policy.ts'
import { attributeOf } from './departments.ts'

/** What is not known counts for the subject (`best`): an allow applies, a deny and a gate do not. Or against them (`worst`). */
export type Bound = 'best' | 'worst'

/** No attribute has this name, so a comparison with it proves that it is missing, and never that it exists. */
const nothing = 'unknown'

/**
 * A policy as it decides if the attributes that are not known have the values that are best, or worst, for its subject.
 * Whatever these values are, the decision is between the two. Each comparison counts alone, so the bounds can be wider than
 * the truth.
 */
export function boundedPolicy(
  policy: CompiledPolicy,
  bound: Bound,
  isKnown: (attribute: string) => boolean,
): CompiledPolicy {
  const isKnownName = (name: string) => isMoment(name) || isKnown(attributeOf(name))
  const names = Object.keys(policy.attributes)
  const isRun = policy.module !== undefined && names.every(isKnownName)
  const decided = ({ k, f, e }: CompactLeaf) =>
    isModuleFinding(k) ? isRun : [k, ...(e ?? []), ...(f === undefined ? [] : [f])].every(isKnownName)
  const open = compact({ operator: 'exists', attribute: nothing, wanted: bound === 'worst' })
  const leaf = (one: CompactLeaf) => (decided(one) ? one : open)
  const node = ({ g, l, c }: Node): Node => ({ ...(g && { g: leaf(g) }), l: l.map(leaf), c: c.map(node) })
  const { module, ...rest } = policy
  return {
    ...rest,
    proof: proofWith(policy.proof, node),
    attributes: Object.fromEntries(Object.entries(policy.attributes).filter(([name]) => isKnownName(name))),
    ...(isRun && { module }),
  }
}

const proofWith = (proof: Proof, change: (node: Node) => Node): Proof =>
  'all' in proof ? { all: change(proof.all) } : { any: change(proof.any) }

/** Times that are compared with: those written in a policy, and those before or after now. */
const isMoment = (name: string) => name.startsWith('now:') || name.startsWith('at:')

/** The attributes of a policy that are not known, by their names in conditions. */
export const unknownIn = (policy: CompiledPolicy, isKnown: (attribute: string) => boolean): string[] => [
  ...new Set(
    Object.keys(policy.attributes)
      .filter((name) => !isMoment(name))
      .map(attributeOf)
      .filter((name) => !isKnown(name)),
  ),
]
