import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { DecisionKind } from '../../platform/db/decision-kind.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { stepUpDue } from '../../platform/http/obligations.ts'
import type { DecisionRecord } from '../../platform/http/policies-in-force.ts'
import { toJsonReason } from '../../platform/http/refusal.ts'
import { isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import { missingAttributes } from '../../policy-engine/evaluate/attributes.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import { type Hints, hintsOf } from '../decisions/answer-schemas.ts'
import {
  type LoadedQuestion,
  type LoadedQuestions,
  loadQuestions,
  type QuestionParts,
} from './load-questions.ts'
import { isMemberType, type Question, queryOf } from './question.ts'
import { findUnknownWords, type HintedQuestion } from './unknown-words.ts'

/** A question as a resource of policies. Members own the questions about themselves. */
export const accessResource = (known: LoadedQuestion['known']) => ({
  type: 'access',
  ownerId: known?.id ?? null,
})

/** The answer to one question, and its row for the decision log. */
export interface Evaluated {
  answer: ReturnType<typeof answerOf>
  record: DecisionRecord
}

/** Returns a function that answers the loaded questions at one moment, with the hints that the caller may see. */
export function evaluator(
  deps: Deps,
  caller: Caller,
  { policies }: LoadedQuestions,
): (loaded: HintedQuestion) => Evaluated {
  const now = deps.clock()
  const asksAboutAll = caller.may({ type: 'access' })
  return (loaded) => {
    const { question, action, known, object, unknown } = loaded
    const slice = policies.slice(question.resource.type, action, now)
    const { callerKeys } = policies
    const query = queryOf(question, { caller, action, known, object, slice, callerKeys, now })
    const decision = isolationAsNotFound(deps.access.decide(query))
    const id = randomUUIDv7()
    const hints = hintsOf(asksAboutAll, missingAttributes(query), unknown)
    const lacking = known?.id === caller.userId ? stepUpOf(decision, caller, now) : {}
    return {
      answer: answerOf(id, { ...decision, ...hints, action }, policies.revision, lacking),
      record: {
        id,
        query,
        decision,
        kind: kindOf(caller, loaded),
        keep: decision.effect === 'allow' ? 'sampled' : 'always',
        unknown,
      },
    }
  }
}

/**
 * Answers one question in the tenant of the token (AuthZEN 1.0 §6.2). A denial is an answer, with its reasons in
 * `context`.
 */
export async function evaluate(deps: Deps, caller: Caller, parts: QuestionParts, asked: Question) {
  const loaded = await loadQuestions(deps, caller, parts, [asked])
  const [question] = await findUnknownWords(deps, caller, loaded)
  const { answer, record } = evaluator(deps, caller, loaded)(question!)
  await deps.decisionLog.record(record)
  return answer
}

/**
 * What a question is in the log. Applications ask with a key or as a service account before they do something, or with the
 * token of the person who does it. A subject of a type of theirs is no member, so nothing is said of a person.
 */
function kindOf({ token, auth, userId }: Caller, { question, known, action }: LoadedQuestion): DecisionKind {
  if (token === 'key' || auth.user.type === 'service_account') return 'request'
  if (!isMemberType(question.subject.type)) return 'request'
  if (known?.id !== userId) return 'question'
  return isServiceAction(action) ? 'preview' : 'request'
}

// The answer must not reveal whether an object exists in another tenant.
const isolationAsNotFound = (decision: Decision): Decision => ({
  ...decision,
  reasons: decision.reasons.map((reason) =>
    reason.code === 'tenant_isolation' ? { ...reason, code: 'not_found' } : reason,
  ),
})

/** What the session of the caller lacks of the step-up that permits them; null for nothing, absent if none is asked for. */
function stepUpOf({ effect, obligations }: Decision, { auth: { session } }: Caller, now: number) {
  if (effect !== 'allow' || !obligations.some(({ type }) => type === 'step_up')) return {}
  const due = stepUpDue(obligations, session, now)
  return { step_up: due && { acr_values: due.acr, max_age: due.maxAge, possible: due.possible } }
}

function answerOf(
  id: string,
  decision: Decision & Hints & { action: string },
  revision: number,
  stepUp: ReturnType<typeof stepUpOf>,
) {
  return {
    decision: decision.effect === 'allow',
    context: {
      id,
      effect: decision.effect,
      reasons: decision.reasons.map((reason) => toJsonReason(reason, decision.action)),
      obligations: [...decision.obligations],
      ...stepUp,
      missing_attributes: decision.missing_attributes,
      unknown_action: decision.unknown_action,
      unknown_resource_type: decision.unknown_resource_type,
      policy_revision: revision,
    },
  }
}
