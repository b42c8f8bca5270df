import type { Slice } from '../../policy-engine/compile/compiled-policy.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'

/** A tenant's policies at one revision. */
export interface PoliciesInForce {
  readonly tenantId: string
  readonly revision: number
  /** Those that an action on a type of resource can meet at `now` (ms). */
  slice(resourceType: string, action: string, now: number): Slice
  /** Whether one of them names this action, and this type of resource. */
  names(action: string, resourceType: string): { action: boolean; resourceType: boolean }
}

/** Gives a tenant's policies at the revision that the auth context names; at once where they are in memory. */
export type LoadPolicies = (
  scope: { tenantId: string; userId: string },
  revision: number,
) => PoliciesInForce | Promise<PoliciesInForce>

/** A decision on its way to the log. */
export interface DecisionRecord {
  id: string
  query: AnyQuery
  decision: Decision
  /** Changes, denials and gates are kept, as far as the day of the tenant goes; allowed reads as a sample. */
  always: boolean
  /** Of an application's question: words that nothing in the tenant names. */
  unknown?: UnknownWords
}

/** Whether no policy and no role of the tenant names the action, and the type of resource, of a question. */
export interface UnknownWords {
  action: boolean
  resourceType: boolean
}

/** Keeps a decision; resolves once it is stored, where it must be. Never rejects. */
export type RecordDecision = (record: DecisionRecord) => Promise<void>
