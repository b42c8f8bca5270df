import type { CompactLeaf } from './compact-leaf.ts'
import type { DataType, Scalar } from './conditions.ts'
import type { Departments } from './departments.ts'
import type { Approval, Obligation, PolicyEffect, Subjects } from './policy-document.ts'

/**
 * One comparison that the module evaluates: of an attribute with a constant, with the attribute `from`, or with two
 * attributes as `ends`. It holds if its result is the `wanted` one. With a missing or ill-typed value there is no result,
 * so it holds neither for true nor for false.
 */
export interface Leaf {
  operator:
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
  attribute: string
  value?: Scalar | Scalar[]
  from?: string
  ends?: [string, string]
  wanted: boolean
}

/**
 * A level of a condition in negation normal form, as the module reads it: `g`, its cheapest leaf, the other leaves `l`,
 * and the nodes `c`. All of them, or any of them, must hold; the two kinds alternate from level to level.
 */
export interface Node {
  g?: CompactLeaf
  l: CompactLeaf[]
  c: Node[]
}

/**
 * What has to be proven: for an allow that its condition is true, for a deny or a gate that it is false. An empty
 * `all` is always proven, an empty `any` never.
 */
export type Proof = { all: Node } | { any: Node }

/** A policy as the engine uses it: plain JSON, the same for the same source and roles. A gate is a `require_approval` policy. */
export interface CompiledPolicy {
  /** the version of this shape; a stored policy of another form has to be compiled again */
  form: 1
  effect: PolicyEffect
  resourceTypes: readonly string[]
  actions: readonly string[]
  subjects: Subjects
  proof: Proof
  obligations: Obligation[]
  /** null unless the policy is a gate */
  approval: Approval | null
  /** the attributes that it reads, and what is derived from them, with their types */
  attributes: Record<string, DataType>
  /** the most time that it adds to one evaluation, in µs, estimated when it was compiled */
  costUs: number
  /** undefined unless a module takes the place of its condition; `proof` then reads what the module found */
  module?: ModuleUse
}

/** A Rego module of a tenant, by `key`, which is the same for the same text. It runs if no `needed` attribute is missing. */
export interface ModuleUse {
  key: string
  needed: readonly string[]
}

/** The names under which a proof reads what the module found, and that it ran. No attribute has such a name. */
export const moduleFinding = (key: string): string => `module:${key}`
export const isModuleFinding = (name: string): boolean => name.startsWith('module:')
export const moduleRan = (key: string): string => `module-ran:${key}`

/** A compiled policy with the fields that a decision reports. */
export interface SlicePolicy {
  id: string
  version: number
  name: string
  priority: number
  compiled: CompiledPolicy
  /** of a policy with a module: the module as WebAssembly; null if it was switched off */
  wasm?: Uint8Array<ArrayBuffer> | null
}

/**
 * The policies of a tenant that can apply to one kind of query, in the order of the reasons. Made by `buildSlice`
 * or `emptySlice`. Callers keep the object, because the engine parses each object once.
 */
export interface Slice {
  readonly tenantId: string
  /** the `tenants.policy_revision` at which it was read */
  readonly revision: number
  /** whether a decision needs the resource itself */
  readonly looksAtResource: boolean
  /** whether it contains a gate */
  readonly gates: boolean
  /** the attributes that its policies read, with their declared types */
  readonly attributes: Readonly<Record<string, DataType>>
  /** the most time that it adds to one evaluation, in µs */
  readonly costUs: number
  /** the length of `text` as UTF-8 */
  readonly bytes: number
  /** the most memory that it takes inside the module, in bytes */
  readonly memory: number
  /** the JSON that the policies read as `data.slice` */
  readonly text: string
  /** the departments of the tenant; null if they are not known */
  readonly departments: Departments | null
  /** the policies with modules, which run before a decision */
  readonly modules: readonly SlicePolicy[]
  /** policies in shadow mode, which decide nothing: each with a slice in which it would */
  readonly shadows: readonly Shadow[]
}

/** A policy in shadow mode that concerns the queries of a slice. */
export interface Shadow {
  readonly policy: SlicePolicy
  /** the policies of the slice, and this one */
  readonly slice: () => Slice
}
