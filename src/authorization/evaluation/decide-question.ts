import type { DecisionKind } from '../../database/decision-kind.ts'
import type { Deps } from '../../deps.ts'
import { isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import type { ReasonCode } from '../../policy-engine/evaluate/reasons.ts'
import type { Caller } from '../../request/caller.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import type { LoadedQuestion } from './load-questions.ts'
import { isMemberType, queryOf } from './question.ts'

/** A question with its decision, and what it is in the log. */
export interface DecidedQuestion {
  query: AnyQuery
  decision: Decision
  kind: DecisionKind
}

/** Returns a function that decides loaded questions of the caller at one moment. */
export function questionDecider(
  deps: Pick<Deps, 'access' | 'clock'>,
  caller: Caller,
  policies: SlicedPolicies,
): (loaded: LoadedQuestion) => DecidedQuestion {
  const now = deps.clock()
  return (loaded) => {
    const { question, action, known, object, isAmbiguous } = loaded
    const slice = policies.slice(question.resource.type, action, now)
    const { callerKeys } = policies
    const query = queryOf(question, { caller, action, known, object, slice, callerKeys, now })
    return { ...decideQuery(deps, query, isAmbiguous), kind: kindOf(caller, loaded) }
  }
}

/** Decides the query of a question. `isAmbiguous`: the name of its subject fits two members. */
export const decideQuery = <Query extends AnyQuery>(
  { access }: Pick<Deps, 'access'>,
  query: Query,
  isAmbiguous = false,
) => ({
  query,
  decision: withReasonsOfQuestions(access.decide(query), isAmbiguous),
})

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

/**
 * The answer must not reveal whether an object exists in another tenant. A subject whose name fits two members is decided as one
 * without a membership, and the reason says what is wrong with the name.
 */
function withReasonsOfQuestions(decision: Decision, isAmbiguous: boolean): Decision {
  const codeOf = (code: ReasonCode): ReasonCode => {
    if (code === 'tenant_isolation') return 'not_found'
    return code === 'no_active_membership' && isAmbiguous ? 'ambiguous_subject' : code
  }
  return {
    ...decision,
    reasons: decision.reasons.map((reason) => ({ ...reason, code: codeOf(reason.code) })),
  }
}
