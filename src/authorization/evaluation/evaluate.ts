import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { DecisionPace } from '../../limits/decision-time.ts'
import { attributeFaults } from '../../policy-engine/evaluate/attribute-faults.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import { stepUpDue } from '../../request/answer/obligations.ts'
import { toJsonReason } from '../../request/answer/refusal.ts'
import type { Caller } from '../../request/caller.ts'
import type { DecisionRecord } from '../../request/policies-in-force.ts'
import { type ApprovalHints, useApprovals } from '../approvals/use-approvals.ts'
import { type Hints, hintsOf } from '../decisions/answer-schemas.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import { evaluationDecider } from './decide-evaluation.ts'
import type { Evaluation } from './evaluation.ts'
import { type Entities, loadEvaluations } from './load-evaluations.ts'
import type { KnownSubject } from './store.ts'
import { findUnknownWords, type HintedEvaluation, withUnknownWords } from './unknown-words.ts'

/** An evaluation as a resource of policies. Members own the evaluations about themselves. */
export const accessResource = (known: Pick<KnownSubject, 'id'> | null) => ({
  type: 'access',
  ownerId: known?.id ?? null,
})

/** The answer to one evaluation, and its row for the decision log. */
export interface Evaluated {
  answer: ReturnType<typeof answerOf>
  record: DecisionRecord
}

/** Returns a function that decides evaluations at one moment, with the ids of their decisions. */
export function evaluator(deps: Deps, caller: Caller, policies: SlicedPolicies) {
  const decide = evaluationDecider(deps, caller, policies)
  return (loaded: HintedEvaluation) => {
    const { known, unknown } = loaded
    const { decision, ...decided } = decide(loaded)
    return {
      ...decided,
      decision: withUnknownWords(decision, unknown),
      id: randomUUIDv7(),
      known,
      unknown,
    }
  }
}

type Decided = ReturnType<ReturnType<typeof evaluator>>

/** Answers decided evaluations in their order, with their approvals and the hints that the caller may see. */
export async function answerAll(
  deps: Deps,
  caller: Caller,
  policies: SlicedPolicies,
  asked: readonly Decided[],
  pace?: DecisionPace,
): Promise<Evaluated[]> {
  const asksAboutAll = caller.may({ type: 'access' })
  const answered = await useApprovals(deps, caller, policies, asked, pace)
  return answered.map(({ id, query, decision, kind, known, unknown, hints: approvals }) => {
    const faults = attributeFaults(query)
    const hints = hintsOf(asksAboutAll, faults, unknown)
    const isSelf = known?.id === caller.userId
    const lacking = isSelf ? stepUpOf(decision, caller, query.now) : {}
    return {
      answer: answerOf(id, { ...decision, ...hints, action: query.action, isSelf }, policies.revision, {
        ...lacking,
        ...approvals,
      }),
      record: {
        id,
        query,
        decision,
        kind,
        keep: decision.effect === 'allow' ? 'sampled' : 'always',
        unknown,
        faults,
      },
    }
  })
}

/**
 * Answers one evaluation in the tenant of the token (AuthZEN 1.0 §6.2). A denial is an answer, with its reasons in
 * `context`.
 */
export async function evaluate(deps: Deps, caller: Caller, entities: Entities, asked: Evaluation) {
  const loaded = await loadEvaluations(deps, caller, entities, [asked])
  const { policies } = loaded
  const [evaluation] = await findUnknownWords(deps, caller, loaded)
  const decided = evaluator(deps, caller, policies)(evaluation!)
  const [evaluated] = await answerAll(deps, caller, policies, [decided])
  await deps.decisionLog.record(evaluated!.record)
  return evaluated!.answer
}

/** What the session of the caller lacks of the step-up that permits them; null for nothing, absent if none is asked for. */
function stepUpOf({ effect, obligations }: Decision, { auth: { session } }: Caller, now: number) {
  if (effect !== 'allow' || !obligations.some(({ type }) => type === 'step_up')) return {}
  const due = stepUpDue(obligations, session, now)
  return { step_up: due && { acr_values: due.acr, max_age: due.maxAge, possible: due.possible } }
}

function answerOf(
  id: string,
  decision: Decision & Hints & { action: string; isSelf: boolean },
  revision: number,
  more: ReturnType<typeof stepUpOf> & ApprovalHints,
) {
  return {
    decision: decision.effect === 'allow',
    context: {
      id,
      effect: decision.effect,
      reasons: decision.reasons.map((reason) => toJsonReason(reason, decision.action, decision.isSelf)),
      obligations: [...decision.obligations],
      missing_attributes: decision.missing_attributes,
      ill_typed_attributes: decision.ill_typed_attributes,
      ignored_properties: decision.ignored_properties,
      unknown_action: decision.unknown_action,
      unknown_resource_type: decision.unknown_resource_type,
      policy_revision: revision,
      ...more,
    },
  }
}
