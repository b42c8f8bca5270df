import type { DecisionKind } from '../database/decision-kind.ts'
import type { Read } from '../database/executor/read.ts'
import type { Tx } from '../database/executor/transaction.ts'
import type { Slice } from '../policy-engine/compile/compiled-policy.ts'
import type { AttributeFaults } from '../policy-engine/evaluate/attribute-faults.ts'
import type { Decision } from '../policy-engine/evaluate/decision.ts'
import type { AnyQuery } from '../policy-engine/evaluate/query.ts'
import type { Caller } from './caller.ts'

/** A tenant's policies at one revision. */
export interface PoliciesInForce {
  readonly tenantId: string
  readonly revision: number
  /** The keys of resource attributes that a question can give beside those of a registered resource. */
  readonly callerKeys: ReadonlySet<string>
  /** The modules of the policies (WebAssembly). */
  readonly modules: readonly Uint8Array<ArrayBuffer>[]
  /** The policies that apply to an action on a type of resource at `now` (ms). */
  slice(resourceType: string, action: string, now: number): Slice
  /** Whether any policy names this action, and whether any names this type of resource. */
  names(action: string, resourceType: string): { action: boolean; resourceType: boolean }
  /** The actions that policies name for this type of resource, without wildcards. */
  actionsOn(resourceType: string): readonly string[]
}

/** Gives a tenant's policies at the revision of the auth context; synchronously when they are in memory. */
export type LoadPolicies<P extends PoliciesInForce = PoliciesInForce> = (
  scope: { tenantId: string; userId: string },
  revision: number,
) => P | Promise<P>

/** The policies of tenants, in memory. */
export interface PolicyCache<P extends PoliciesInForce = PoliciesInForce> {
  load: LoadPolicies<P>
  /**
   * Asks for a tenant's policies among the statements that read the auth context, which saves a round trip: `load` then
   * waits for the answer. False if some revision is in memory that may be the current one, or is being read.
   */
  ask(read: Read, scope: { tenantId: string; userId: string }): boolean
  /** Call it when policies may have changed: the next request asks for the new ones. */
  forget(tenantId: string): void
}

/** A decision to log. */
export interface DecisionRecord {
  id: string
  query: AnyQuery
  decision: Decision
  kind: DecisionKind
  /**
   * `always`, up to the daily limit: changes, denials and required approvals. `sampled`: reads. `never`: what is
   * permitted to ask, unless a policy in shadow mode would change that.
   */
  keep: 'always' | 'sampled' | 'never'
  /** For an application's query: action or resource type that nothing in the tenant names. */
  unknown?: UnknownWords
  /** Those of the query, where they are known already. */
  faults?: AttributeFaults
}

/** True for the action or resource type of a query that no policy and no role of the tenant names. */
export interface UnknownWords {
  action: boolean
  resourceType: boolean
}

/** The log of decisions. */
export interface DecisionLog {
  /** Logs decisions, together. Resolves once those are stored that must be stored. Never rejects. */
  record(...records: DecisionRecord[]): Promise<void>
  /**
   * Logs the decisions that permit a change in the transaction of the change, which fails without them. Resolves after
   * the commit. Null where `record` has to take them afterwards: the limit of the day is reached, or policies in shadow
   * mode apply, which are not evaluated while the change holds locks.
   */
  recordIn(tx: Tx, ...records: DecisionRecord[]): Promise<void> | null
  /** Adds the decisions of changes to the day's count, which happens within a second anyway. Never rejects. */
  flush(): Promise<void>
}

/** Gives the actions that the manifests declare, and their resource types. They are the same in every tenant. */
export type DeclaredWords = (scope: { tenantId: string; userId: string }) => Promise<ReadonlySet<string>>

/** The policies of a caller's tenant, at the revision that their auth context names; null outside any tenant. */
export function policiesOf(
  cache: PolicyCache,
  caller: Caller,
): Promise<PoliciesInForce> | PoliciesInForce | null {
  const { tenant } = caller.auth
  return tenant && cache.load(caller, tenant.policyRevision)
}
