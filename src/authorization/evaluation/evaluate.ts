import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { Decision } from '../../platform/access/decision.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { tell } from '../../platform/http/decide.ts'
import { actionOf, type Question, queryOf } from './question.ts'
import { findSubject } from './store.ts'

/**
 * Answers one question about the tenant of the token (AuthZEN 1.0 §6.2). 403 for a member who asks about somebody
 * else; a denial is an answer, with its reasons in `context`.
 */
export async function evaluate(deps: Deps, caller: Caller, asked: Question) {
  const { tenantId, auth } = caller
  const known = await inTenant(deps.db, caller, (tx) => findSubject(tx, tenantId, asked.subject.id))
  caller.permit({ type: 'access', ownerId: known?.id ?? null })
  const policies = await deps.loadPolicies(caller, auth.tenant?.policyRevision ?? 0)
  const now = deps.clock()
  const action = actionOf(asked.action.name, asked.resource.type) ?? ''
  const slice = policies.slice(asked.resource.type, action, now)
  const query = queryOf(asked, { caller, known, slice, now })
  const decision = deps.access.decide(query)
  const id = randomUUIDv7()
  await deps.recordDecision({ id, query, decision, always: decision.effect !== 'allow' })
  return answerOf(id, decision, policies.revision)
}

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
