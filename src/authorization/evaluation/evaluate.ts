import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { ActionName, ApplicationAction } from '../../platform/access/actions.ts'
import type { Decision } from '../../platform/access/decision.ts'
import type { ObjectFinders } from '../../platform/access/find-object.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { tell } from '../../platform/http/refusal.ts'
import { type AskedObject, findAskedObject } from './find-asked-object.ts'
import { actionOf, isOfMembers, type Question, queryOf } from './question.ts'
import { findSubject, type KnownSubject } from './store.ts'

/** What a question is about, as far as the tenant has it. */
export interface LoadedQuestion {
  action: ActionName | ApplicationAction
  /** the subject, where it is a member */
  known: KnownSubject | null
  object: AskedObject
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
    return { action, known, object: await findAskedObject(tx, objects, scope, { action, type, id }) }
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
  const id = randomUUIDv7()
  await deps.recordDecision({ id, query, decision, always: decision.effect !== 'allow' })
  return answerOf(id, decision, policies.revision)
}

/** Whether an object is another tenant's or nobody's is not told. */
const namingMissing = (decision: Decision): Decision => ({
  ...decision,
  reasons: decision.reasons.map((reason) =>
    reason.code === 'tenant_isolation' ? { ...reason, code: 'not_found' } : reason,
  ),
})

function answerOf(id: string, decision: Decision, revision: number) {
  return {
    decision: decision.effect === 'allow',
    context: {
      id,
      effect: decision.effect,
      reasons: decision.reasons.map(tell),
      obligations: [...decision.obligations],
      policy_revision: revision,
    },
  }
}
