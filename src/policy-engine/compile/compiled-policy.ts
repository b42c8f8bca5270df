import type { DataType, Scalar } from './conditions.ts'
import type { Approval, Obligation, PolicyEffect, Subjects } from './policy-document.ts'

/**
 * One comparison the module carries out: operator `o` on attribute `k` against the constant `v`, the attribute
 * `f`, or the two ends `e`. It holds where the comparison is possible and comes out as `w`; a missing or
 * ill-typed value holds neither way.
 */
export interface Leaf {
  o:
    | 'exists'
    | 'eq'
    | 'in'
    | 'lt'
    | 'lte'
    | 'between'
    | 'starts_with'
    | 'ends_with'
    | 'contains'
    | 'has'
    | 'overlaps'
    | 'includes'
    | 'subset'
    | 'cidr'
    | 'matches'
  k: string
  v?: Scalar | Scalar[]
  f?: string
  e?: [string, string]
  w: boolean
}

/**
 * A level of a condition in negation normal form. All of it (or one of it, by the level's kind) must hold:
 * `g`, its cheapest leaf, the other leaves `l`, and the nodes `c`, which are of the other kind.
 */
export interface Node {
  g?: Leaf
  l: Leaf[]
  c: Node[]
}

/**
 * What has to be proven: of an allow that its condition holds, of a deny or a gate that it does not. An empty
 * `all` always is, an empty `any` never.
 */
export type Proof = { all: Node } | { any: Node }

/** A policy as the engine uses it: plain JSON, the same for the same source and roles. */
export interface CompiledPolicy {
  /** of this form; one stored in another form has to be compiled again */
  form: 1
  effect: PolicyEffect
  resourceTypes: readonly string[]
  actions: readonly string[]
  subjects: Subjects
  proof: Proof
  obligations: Obligation[]
  /** of a gate, else null */
  approval: Approval | null
  /** the attributes it looks at, with their declared types */
  attributes: Record<string, DataType>
  /** the most one evaluation can take of it, in µs, as estimated when it was compiled */
  costUs: number
}

/** A compiled policy with what the decision says of it. */
export interface SlicePolicy {
  id: string
  version: number
  name: string
  priority: number
  compiled: CompiledPolicy
}

/**
 * The policies of a tenant that one kind of question can meet, in the order of the reasons. Made by `buildSlice`
 * or `emptySlice` and kept by whoever loads it: the engine parses each object once.
 */
export interface Slice {
  readonly tenantId: string
  /** `tenants.policy_revision` it was read at */
  readonly revision: number
  /** whether a decision needs the resource itself */
  readonly looksAtResource: boolean
  /** whether a gate may be met */
  readonly gates: boolean
  /** the attributes it asks for, with their declared types */
  readonly attributes: Readonly<Record<string, DataType>>
  /** the most one evaluation can take of it, in µs */
  readonly costUs: number
  /** of `text`, as UTF-8 */
  readonly bytes: number
  /** the most it takes inside the module, in bytes */
  readonly memory: number
  /** JSON, as the policies read it */
  readonly text: string
}
