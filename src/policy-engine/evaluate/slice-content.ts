import { leavesIn } from '../compile/compact-leaf.ts'
import type { Leaf, Node, Slice } from '../compile/compiled-policy.ts'
import type { Obligation } from '../compile/policy-document.ts'

/** The keys of policies by role id (of a system role: its name), department and user, and those about everyone. */
export type Lists = { any: string[] } & Record<'role' | 'department' | 'user', Record<string, string[]>>

/** A policy of a slice; without a proof in a form that the reader does not know. */
export type ListedPolicy = Partial<Record<'all' | 'any', Node>> & {
  h: { policy_id: string; name: string }
  obligations?: Obligation[]
}

/** A slice as the module reads it. */
export interface SliceContent {
  policies: Readonly<Record<string, ListedPolicy>>
  lists: Readonly<Record<'deny' | 'gate' | 'allow' | 'duty', Lists>>
  leaves: readonly Leaf[]
  /** whether each policy has a proof */
  legible: boolean
}

const contents = new WeakMap<Slice, SliceContent>()

/** The content of a slice, parsed once for each. */
export function sliceContent(slice: Slice): SliceContent {
  const known = contents.get(slice)
  if (known) return known
  const { policies, deny, gate, allow, duty } = JSON.parse(slice.text)
  const nodes = Object.values<ListedPolicy>(policies).map(({ all, any }) => all ?? any)
  const content = {
    policies,
    lists: { deny, gate, allow, duty },
    leaves: nodes.flatMap((node) => (node ? leavesOf(node) : [])),
    legible: nodes.every((node) => node !== undefined),
  }
  contents.set(slice, content)
  return content
}

const leavesOf = (node: Node): Leaf[] => [...leavesIn(node), ...node.c.flatMap(leavesOf)]
