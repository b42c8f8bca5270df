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
import { type Hints, hintsOf } from '../decisions/hints.ts'
import { findQuestionObject, type QuestionObject } from './find-question-object.ts'
import { actionOf, isOfMembers, type Question, queryOf } from './question.ts'
import { findSubject, type KnownSubject, namedByRoles } from './store.ts'

/** What a question is about, as far as the tenant has it. */
export interface LoadedQuestion {
  action: ActionName | ApplicationAction
  /** the subject, where it is a member */
  known: KnownSubject | null
  object: QuestionObject
}

/** Finds whom and what a question is about. */
export function loadQuestion(
  deps: Deps,
  objects: ObjectFinders,
  caller: Caller,
  asked: Question,
): Promise<LoadedQuestion> {
  const { tenantId, userId } = caller
  const { type, id } = asked.resource
  const action = actionOf(asked.action.name, type)
  if (action === null) throw new Error('A question without an action was not validated')
  return inTenant(deps.db, caller, async (tx) => {
    const known = isOfMembers(asked.subject.type) ? await findSubject(tx, tenantId, asked.subject.id) : null
    const scope = { tenantId, userId, now: deps.clock(), subjectId: known?.id ?? '' }
    return { action, known, object: await findQuestionObject(tx, objects, scope, { action, type, id }) }
  })
}

/** The right to ask, as policies see it: members own the questions about themselves. */
export const accessResource = ({ known }: LoadedQuestion) => ({ type: 'access', ownerId: known?.id ?? null })

/**
 * Answers one question about the tenant of the token (AuthZEN 1.0 §6.2); a denial is an answer, with its reasons in
 * `context`.
 */
export async function evaluate(deps: Deps, caller: Caller, asked: Question, loaded: LoadedQuestion) {
  const { action, known, object } = loaded
  const policies = await deps.loadPolicies(caller, caller.auth.tenant?.policyRevision ?? 0)
  const now = deps.clock()
  const slice = policies.slice(asked.resource.type, action, now)
  const query = queryOf(asked, { caller, known, object, slice, now })
  const decision = namingMissing(deps.access.decide(query))
  const unknown = await unknownWords(deps, caller, policies, { action, resourceType: asked.resource.type })
  const id = randomUUIDv7()
  await deps.recordDecision({ id, query, decision, always: decision.effect !== 'allow', unknown })
  const hints = hintsOf(caller.may({ type: 'access' }), missingAttributes(query), unknown)
  return answerOf(id, { ...decision, ...hints }, policies.revision)
}

/** Which words of a question neither a policy in force nor a role of the tenant names: misspelt, most likely. */
async function unknownWords(
  deps: Deps,
  caller: Caller,
  policies: PoliciesInForce,
  asked: { action: string; resourceType: string },
): Promise<UnknownWords> {
  const byPolicies = policies.names(asked.action, asked.resourceType)
  if (byPolicies.action && byPolicies.resourceType) return { action: false, resourceType: false }
  const byRoles = await inTenant(deps.db, caller, (tx) => namedByRoles(tx, caller.tenantId, asked))
  return {
    action: !byPolicies.action && !byRoles.action,
    resourceType: !byPolicies.resourceType && !byRoles.resource_type,
  }
}

/** Whether an object is another tenant's or nobody's is not told. */
const namingMissing = (decision: Decision): Decision => ({
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
