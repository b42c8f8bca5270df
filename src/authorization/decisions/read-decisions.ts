import { type Read, readInTenant } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../lists/list.ts'
import { answerPage, uncounted } from '../../lists/lists.ts'
import { toJsonReason } from '../../request/answer/refusal.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import type { Caller } from '../../request/caller.ts'
import { pathId } from '../../request/path-id.ts'
import type { LoadTarget } from '../../request/route.ts'
import { type DecisionRow, decisionList, findDecision, listDecisions } from './store.ts'

/**
 * A decision as callers read it. `whole` is for callers who can read all decisions; others see the reasons, but not the
 * policies. Of the subject, its sentences say "you" if that is the reader.
 */
export const showDecision = (row: DecisionRow, whole: boolean, readerId: string) => ({
  id: row.id,
  kind: row.kind,
  effect: row.effect,
  action: row.action,
  resource: { type: row.resource_type, id: row.resource_id },
  subject: { id: row.subject_id, email: row.subject_email },
  reasons: row.reasons.map((reason) =>
    toJsonReason(
      whole ? reason : { code: reason.code, layer: reason.layer },
      row.action,
      row.subject_id === readerId,
    ),
  ),
  matched: whole ? row.matched : [],
  shadow: whole ? row.shadow : [],
  obligations: row.obligations,
  policy_revision: row.policy_revision,
  request_id: row.request_id,
  at: rfc3339(row.at),
})

/** A page of decisions, newest first; members see those about themselves. */
export function pageOfDecisions(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId, userId } = caller
  const whole = readsAll(caller)
  const asked = { path: '/api/v1/decisions', query }
  const load = (page: ListPage) =>
    readInTenant(deps.db, caller, (read) =>
      uncounted(listDecisions(read, tenantId, whole ? null : userId, page)),
    )
  return answerPage(deps, caller, decisionList, asked, load, (row) => showDecision(row, whole, userId))
}

/** A decision; `whole`: the caller can read all decisions. */
export interface LoadedDecision {
  row: DecisionRow
  whole: boolean
}

/** Loads the decision of the path, or null. */
export const loadDecision = (read: Read, { caller, params }: LoadTarget): Promise<DecisionRow | null> =>
  findDecision(read, caller.tenantId, pathId(params.id))

/** True when the caller can read all decisions of the tenant. Other members read those about themselves. */
export const readsAll = (caller: Caller): boolean => caller.may({ type: 'decision' })

/** A decision as a resource of policies; null for callers who cannot read it, so that ids are not confirmed. */
export const readableDecision = (row: DecisionRow, { caller }: { caller: Caller }) => {
  const whole = readsAll(caller)
  return whole || row.subject_id === caller.userId ? decisionResource({ row, whole }) : null
}

/** A decision as a resource of policies. */
export const decisionResource = ({ row, whole }: LoadedDecision) => ({
  type: 'decision',
  id: row.id,
  ownerId: row.subject_id,
  fields: showDecision(row, whole, row.subject_id),
})
