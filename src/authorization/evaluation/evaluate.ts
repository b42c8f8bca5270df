import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { Decision } from '../../platform/access/decision.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { tell } from '../../platform/http/refusal.ts'
import { actionOf, type Question, queryOf } from './question.ts'
import { findSubject, type KnownSubject } from './store.ts'

/** The subject of a question: a member, or null for one that the application alone knows. */
export interface AskedSubject {
  known: KnownSubject | null
}

/** Finds whom a question is about. */
export const loadSubject = async (deps: Deps, caller: Caller, asked: Question): Promise<AskedSubject> => ({
  known: await inTenant(deps.db, caller, (tx) => findSubject(tx, caller.tenantId, asked.subject.id)),
})

/** The right to ask, as policies see it: members own the questions about themselves. */
export const accessResource = ({ known }: AskedSubject) => ({ type: 'access', ownerId: known?.id ?? null })

/**
 * Answers one question about the tenant of the token (AuthZEN 1.0 §6.2); a denial is an answer, with its reasons in
 * `context`.
 */
export async function evaluate(deps: Deps, caller: Caller, asked: Question, { known }: AskedSubject) {
  const { auth } = caller
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
