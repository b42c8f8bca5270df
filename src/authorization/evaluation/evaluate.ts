import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { ObjectFinders } from '../../platform/find-object.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { PoliciesInForce, UnknownWords } from '../../platform/http/policies-in-force.ts'
import { toJsonReason } from '../../platform/http/refusal.ts'
import type { ActionName, ApplicationAction } from '../../policy-engine/catalogue/actions.ts'
import { missingAttributes } from '../../policy-engine/evaluate/attributes.ts'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import { type Hints, hintsOf } from '../decisions/answer-schemas.ts'
import { findQuestionObject, type QuestionObject } from './find-question-object.ts'
import { actionOf, isMemberType, type Question, queryOf } from './question.ts'
import { findSubject, type KnownSubject, namedByRoles } from './store.ts'

/** What a question is about, loaded from the tenant. */
interface LoadedQuestion {
  action: ActionName | ApplicationAction
  /** the subject, if it is a member */
  known: KnownSubject | null
  object: QuestionObject
}

/** Loads the subject and the object of a question. */
export function loadQuestion(
  deps: Deps,
  objects: ObjectFinders,
  caller: Caller,
  question: Question,
): Promise<LoadedQuestion> {
  const { tenantId, userId } = caller
  const { type, id } = question.resource
  const action = actionOf(question.action.name, type)
  if (action === null) throw new Error('A question without an action was not validated')
  return inTenant(deps.db, caller, async (tx) => {
    const known = isMemberType(question.subject.type)
      ? await findSubject(tx, tenantId, question.subject.id)
      : null
    const scope = { tenantId, userId, now: deps.clock(), subjectId: known?.id ?? '' }
    return { action, known, object: await findQuestionObject(tx, objects, scope, { action, type, id }) }
  })
}

/** The question as a resource of policies. Members own the questions about themselves. */
export const accessResource = ({ known }: LoadedQuestion) => ({ type: 'access', ownerId: known?.id ?? null })

/**
 * Answers one question in the tenant of the token (AuthZEN 1.0 §6.2). A denial is an answer, with its reasons in
 * `context`.
 */
export async function evaluate(deps: Deps, caller: Caller, question: Question, loaded: LoadedQuestion) {
  const { action, known, object } = loaded
  const policies = await deps.loadPolicies(caller, caller.auth.tenant?.policyRevision ?? 0)
  const now = deps.clock()
  const slice = policies.slice(question.resource.type, action, now)
  const query = queryOf(question, { caller, action, known, object, slice, now })
  const decision = isolationAsNotFound(deps.access.decide(query))
  const unknown = await unknownWords(deps, caller, policies, { action, resourceType: question.resource.type })
  const id = randomUUIDv7()
  await deps.recordDecision({ id, query, decision, always: decision.effect !== 'allow', unknown })
  const hints = hintsOf(caller.may({ type: 'access' }), missingAttributes(query), unknown)
  return answerOf(id, { ...decision, ...hints }, policies.revision)
}

/** Whether no policy in force and no role of the tenant names the action, or the resource type. Often a misspelling. */
async function unknownWords(
  deps: Deps,
  caller: Caller,
  policies: PoliciesInForce,
  named: { action: string; resourceType: string },
): Promise<UnknownWords> {
  const byPolicies = policies.names(named.action, named.resourceType)
  if (byPolicies.action && byPolicies.resourceType) return { action: false, resourceType: false }
  const byRoles = await inTenant(deps.db, caller, (tx) => namedByRoles(tx, caller.tenantId, named))
  return {
    action: !byPolicies.action && !byRoles.action,
    resourceType: !byPolicies.resourceType && !byRoles.resource_type,
  }
}

// The answer must not reveal whether an object exists in another tenant.
const isolationAsNotFound = (decision: Decision): Decision => ({
  ...decision,
  reasons: decision.reasons.map((reason) =>
    reason.code === 'tenant_isolation' ? { ...reason, code: 'not_found' } : reason,
  ),
})

function answerOf(id: string, decision: Decision & Hints, revision: number) {
  return {
    decision: decision.effect === 'allow',
    context: {
      id,
      effect: decision.effect,
      reasons: decision.reasons.map(toJsonReason),
      obligations: [...decision.obligations],
      missing_attributes: decision.missing_attributes,
      unknown_action: decision.unknown_action,
      unknown_resource_type: decision.unknown_resource_type,
      policy_revision: revision,
    },
  }
}
