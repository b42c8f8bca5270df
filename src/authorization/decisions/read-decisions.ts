import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { toJsonReason } from '../../platform/http/refusal.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { type DecisionRow, decisionList, findDecision, listDecisions } from './store.ts'

/**
 * A decision as callers read it. `whole` is for callers who can read all decisions; others see the reasons, but not the
 * policies.
 */
export const showDecision = (row: DecisionRow, whole: boolean) => ({
  id: row.id,
  effect: row.effect,
  action: row.action,
  resource: { type: row.resource_type, id: row.resource_id },
  subject: { id: row.subject_id, email: row.subject_email },
  reasons: row.reasons.map((reason) =>
    toJsonReason(whole ? reason : { code: reason.code, layer: reason.layer }),
  ),
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

/** A decision; `whole`: the caller can read all decisions. */
export interface LoadedDecision {
  row: DecisionRow
  whole: boolean
}

/** Loads a decision; null if there is none, and for callers who cannot read it, so that ids are not confirmed. */
export async function loadDecision(deps: Deps, caller: Caller, id: string): Promise<LoadedDecision | null> {
  const row = await inTenant(deps.db, caller, (tx) => findDecision(tx, caller.tenantId, id))
  const whole = caller.may({ type: 'decision' })
  return row && (whole || row.subject_id === caller.userId) ? { row, whole } : null
}

/** A decision as a resource of policies. */
export const decisionResource = ({ row, whole }: LoadedDecision) => ({
  type: 'decision',
  id: row.id,
  ownerId: row.subject_id,
  fields: showDecision(row, whole),
})
