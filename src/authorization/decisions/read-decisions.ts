import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { tell } from '../../platform/http/decide.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { type DecisionRow, decisionList, findDecision, listDecisions } from './store.ts'

/**
 * A decision as its reader sees it: `whole` for who may read everybody's. Others learn why, and not by which of the
 * tenant's policies.
 */
export const showDecision = (row: DecisionRow, whole: boolean) => ({
  id: row.id,
  effect: row.effect,
  action: row.action,
  resource: { type: row.resource_type, id: row.resource_id },
  subject: { id: row.subject_id, email: row.subject_email },
  reasons: row.reasons.map((reason) => tell(whole ? reason : { code: reason.code, layer: reason.layer })),
  matched: whole ? row.matched : [],
  obligations: row.obligations,
  policy_revision: row.policy_revision,
  request_id: row.request_id,
  at: rfc3339(row.at),
})

/** A page of decisions, newest first; members see those about themselves. */
export function pageOfDecisions(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId, userId } = caller
  const whole = caller.may({ type: 'decision' })
  const asked = { path: '/api/v1/decisions', query }
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listDecisions(tx, tenantId, whole ? null : userId, page),
    }))
  return answerPage(deps, caller, decisionList, asked, load, (row) => showDecision(row, whole))
}

/** One decision; throws 404, also to a member for what is about somebody else. */
export async function readDecision(deps: Deps, caller: Caller, id: string) {
  const { row, whole } = await loadDecision(deps, caller, id)
  return showDecision(row, whole)
}

/** The decision behind an id, decided; `whole` says whether its reader may read everybody's. */
export async function loadDecision(deps: Deps, caller: Caller, id: string) {
  const row = await inTenant(deps.db, caller, (tx) => findDecision(tx, caller.tenantId, id))
  const whole = caller.may({ type: 'decision' })
  // A member is not told which ids exist.
  if (!row || (!whole && row.subject_id !== caller.userId)) throw notFound()
  caller.permit({ type: 'decision', id, ownerId: row.subject_id, fields: { action: row.action } })
  return { row, whole }
}
