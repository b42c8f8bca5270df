import { policyEffects } from '../../policy-engine/compile/policy-document.ts'
import type { Decision, Effect } from '../../policy-engine/evaluate/decision.ts'
import type { AccessEngine } from '../../policy-engine/evaluate/engine.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'

/**
 * What enforcing a policy in shadow mode would do to a decision: change its effect, have a part in it without a change
 * (`applied`), nothing, or make it fail.
 */
export type ShadowOutcome = 'would_deny' | 'would_gate' | 'would_allow' | 'applied' | 'none' | 'error'

/** The outcome of one policy in shadow mode. */
export interface ShadowResult {
  policy_id: string
  version: number
  name: string
  effect: Effect
  outcome: ShadowOutcome
}

/**
 * Decides a query again with each policy in shadow mode, alone. A failure is an outcome, so it never changes the answer. A
 * decision about a route, made without its objects, says nothing about policies that read them; they are left out.
 */
export function decideShadows(
  access: Pick<AccessEngine, 'decide'>,
  query: AnyQuery,
  decision: Decision,
): ShadowResult[] {
  return query.slice.shadows
    .filter(({ slice }) => query.phase === 'resource' || !slice().looksAtResource)
    .map(({ policy: { id, version, name, compiled }, slice }) => ({
      policy_id: id,
      version,
      name,
      effect: compiled.effect,
      outcome: outcomeOf(decision, () => access.decide({ ...query, slice: slice() }), id),
    }))
}

const changes: Record<Effect, ShadowOutcome> = {
  deny: 'would_deny',
  require_approval: 'would_gate',
  allow: 'would_allow',
}

function outcomeOf(before: Decision, decide: () => Decision, policyId: string): ShadowOutcome {
  try {
    const after = decide()
    if (after.reasons.some(({ code, policy_id }) => policy_id === policyId && isFault(code))) return 'error'
    if (after.effect !== before.effect) return changes[after.effect]
    return after.matched.some(({ policy_id }) => policy_id === policyId) ? 'applied' : 'none'
  } catch {
    return 'error'
  }
}

const isFault = (code: string) => code === 'policy_timeout' || code === 'policy_failed'

/** The effect that a policy would have given a decision; undefined if it would not have changed it. */
export const effectOf = (outcome: ShadowOutcome): Effect | undefined =>
  policyEffects.find((effect) => changes[effect] === outcome)

/** Whether enforcing the policy would change the effect. */
export const wouldChange = ({ outcome }: ShadowResult): boolean => effectOf(outcome) !== undefined
