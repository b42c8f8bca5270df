import type { DecisionKind } from '../../database/decision-kind.ts'
import type { Deps } from '../../deps.ts'
import { isServiceAction } from '../../policy-engine/catalogue/actions.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import type { ReasonCode } from '../../policy-engine/evaluate/reasons.ts'
import type { Caller } from '../../request/caller.ts'
import type { SlicedPolicies } from '../policies/slice-policies.ts'
import { isMemberType, queryOf } from './evaluation.ts'
import type { LoadedEvaluation } from './load-evaluations.ts'

/** An evaluation with its decision, and what it is in the log. */
export interface DecidedEvaluation {
  query: AnyQuery
  decision: Decision
  kind: DecisionKind
}

/** Returns a function that decides loaded evaluations of the caller at one moment. */
export function evaluationDecider(
  deps: Pick<Deps, 'access' | 'clock'>,
  caller: Caller,
  policies: SlicedPolicies,
): (loaded: LoadedEvaluation) => DecidedEvaluation {
  const now = deps.clock()
  return (loaded) => {
    const { evaluation, action, known, object, isAmbiguous } = loaded
    const slice = policies.slice(evaluation.resource.type, action, now)
    const { callerKeys } = policies
    const query = queryOf(evaluation, { caller, action, known, object, slice, callerKeys, now })
    return { ...decideQuery(deps, query, isAmbiguous), kind: kindOf(caller, loaded) }
  }
}

/** Decides the query of an evaluation. `isAmbiguous`: the name of its subject fits two members. */
export const decideQuery = <Query extends AnyQuery>(
  { access }: Pick<Deps, 'access'>,
  query: Query,
  isAmbiguous = false,
) => ({
  query,
  decision: withReasonsOfEvaluations(access.decide(query), isAmbiguous),
})

/**
 * What an evaluation is in the log. Applications ask with a key or as a service account before they do something, or with the
 * token of the person who does it. A subject of a type of theirs is no member, so nothing is said of a person.
 */
function kindOf(
  { token, auth, userId }: Caller,
  { evaluation, known, action }: LoadedEvaluation,
): DecisionKind {
  if (token === 'key' || auth.user.type === 'service_account') return 'request'
  if (!isMemberType(evaluation.subject.type)) return 'request'
  if (known?.id !== userId) return 'question'
  return isServiceAction(action) ? 'preview' : 'request'
}

/**
 * The answer must not reveal whether an object exists in another tenant. A subject whose name fits two members is decided as one
 * without a membership, and the reason says what is wrong with the name.
 */
function withReasonsOfEvaluations(decision: Decision, isAmbiguous: boolean): Decision {
  const codeOf = (code: ReasonCode): ReasonCode => {
    if (code === 'tenant_isolation') return 'not_found'
    return code === 'no_active_membership' && isAmbiguous ? 'ambiguous_subject' : code
  }
  return {
    ...decision,
    reasons: decision.reasons.map((reason) => ({ ...reason, code: codeOf(reason.code) })),
  }
}
