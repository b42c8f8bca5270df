import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { PoliciesInForce } from '../../platform/http/policies-in-force.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'
import type { ExplainedPolicy } from '../../policy-engine/evaluate/explain.ts'
import { compileBody, policyInvalid } from './compile-body.ts'
import { draftOf } from './draft-of.ts'
import { measurePatterns } from './measure-patterns.ts'
import type { Draft } from './policy-body.ts'
import type { PolicySchema } from './policy-schema.ts'
import type { PolicyTarget } from './policy-target.ts'
import type { Replay } from './replay.ts'
import { overBudget } from './slice-budget.ts'
import { slicePolicies } from './slice-policies.ts'
import { listActivePolicies } from './store.ts'

/** A policy being tried, among the others of its tenant, as if it were active and enforced. Nothing of it is kept. */
export interface Trial {
  tested: ExplainedPolicy
  actions: readonly string[]
  policies: PoliciesInForce
  /** The same, as a thread of its own cuts them. */
  replay: Omit<Replay, 'rows'>
  schema: PolicySchema
}

/**
 * Puts a policy, or a draft in its place, among those in force. Throws 422 `policy_invalid` for the
 * draft, with its place in `text`.
 */
export async function startTrial(
  deps: Deps,
  caller: Caller,
  { row, schema }: PolicyTarget,
  draft: Draft | undefined,
  text: () => string,
): Promise<Trial> {
  const { tenantId } = caller
  const { id } = row
  const active = await inTenant(deps.db, caller, (tx) => listActivePolicies(tx, tenantId))
  // What is stored was measured when it was written.
  const cost = draft && (await measurePatterns(draft.conditions))
  const body = draft ?? draftOf(row)
  const { fields, rules, compiled } = compileBody(body, schema, cost, text, draft ? '/draft' : '')
  const tried = { ...inTrial(id, row.version, fields, compiled), bytes: 0 }
  const fault = overBudget(tenantId, tried, active.policies)
  if (fault) throw policyInvalid([fault], text(), draft ? '/draft' : '')
  const others = active.policies.filter((policy) => policy.id !== id)
  return {
    tested: { id, compiled, document: { ...fields, ...rules } },
    actions: fields.actions,
    policies: slicePolicies(tenantId, active.revision, [...others, tried]),
    replay: { tenantId, revision: active.revision, policies: [...others, tried] },
    schema,
  }
}

const inTrial = (
  id: string,
  version: number,
  { name, priority }: Pick<Draft, 'name' | 'priority'>,
  compiled: CompiledPolicy,
) => ({
  id,
  version,
  name,
  priority,
  compiled,
  mode: 'enforce' as const,
  // When it is valid stands in its proof, too.
  valid_from: null,
  valid_until: null,
})
