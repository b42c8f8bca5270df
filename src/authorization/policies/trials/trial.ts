import { nilUuid } from '../../../crypto/uuid.ts'
import type { Deps } from '../../../deps.ts'
import type { CompiledPolicy } from '../../../policy-engine/compile/compiled-policy.ts'
import type { ExplainedPolicy } from '../../../policy-engine/evaluate/explain.ts'
import { policyInvalid } from '../../../request/body/policy-invalid.ts'
import type { Caller } from '../../../request/caller.ts'
import { type PolicyInStore, type TenantPolicies, unzipped } from '../active-store.ts'
import { compileBody } from '../compile-body.ts'
import { measurePatterns } from '../measure-patterns.ts'
import { prepareModule } from '../modules/prepare-module.ts'
import { type Draft, draftOf } from '../policy-body.ts'
import type { PolicySchema } from '../policy-schema.ts'
import { modulesOf, type SlicedPolicies, slicePolicies, withPolicy } from '../slice-policies.ts'
import type { PolicyRow } from '../store.ts'
import { askReview } from './ask-trial-thread.ts'

/** A policy on trial together with the tenant's other policies, as if it were active and enforced. Not stored. */
export interface Trial {
  tested: ExplainedPolicy
  actions: readonly string[]
  policies: SlicedPolicies
  /** The policy that is tried, and the policies in force; one of these can be its stored form. */
  policy: PolicyInStore
  active: TenantPolicies
  schema: PolicySchema
}

/** What is tried: a stored policy or a draft in its place, or a draft of a new policy if `row` is null. */
export type TrialTarget = { row: PolicyRow | null; schema: PolicySchema }

/**
 * Starts a trial of a policy, or of a draft in its place. Throws 422 `policy_invalid` for faults, with their positions
 * in `text`.
 */
export async function startTrial(
  deps: Deps,
  caller: Caller,
  { row, schema }: TrialTarget,
  draft: Draft | undefined,
  text: () => string,
): Promise<Trial> {
  const { id, version } = row ?? { id: nilUuid, version: 1 }
  const { active } = await deps.policyCache.load(caller, schema.revision)
  // The patterns of a stored policy were measured when it was written.
  const cost = draft && (await measurePatterns(draft.conditions, caller))
  const body = draft ?? (row && draftOf(row))
  if (!body) throw new Error('A new policy has no stored rules to try')
  const at = draft ? '/draft' : ''
  const module = await prepareModule(deps, caller, body, { policyId: id, text, at })
  const { fields, rules, compiled } = compileBody(body, schema, cost, text, at, module)
  const wasm = module && (await unzipped(module.zipped))
  const policy = { ...inTrial(id, version, fields, compiled), bytes: 0, is_off: false, wasm }
  const { fault } = await askReview(deps, caller, active, { policy, names: null })
  if (fault) throw policyInvalid([fault], text(), at)
  // A preview also decides with the stored form.
  const modules = modulesOf([...active.policies, policy])
  if (modules.length > 0) await deps.access.trials.warmModules(modules)
  return {
    tested: { id, version, wasm, compiled, document: { ...fields, ...rules } },
    actions: fields.actions,
    policies: slicePolicies(withPolicy(active, policy)),
    policy,
    active,
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
  // Its proof contains the period of validity.
  valid_from: null,
  valid_until: null,
})
