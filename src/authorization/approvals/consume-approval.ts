import { randomUUIDv7 } from 'node:crypto'
import { z } from 'zod'
import { readInTenant } from '../../database/executor/read.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidState } from '../../errors.ts'
import type { ObjectFinders } from '../../lists/find-object.ts'
import { refusal } from '../../request/answer/refusal.ts'
import type { Caller } from '../../request/caller.ts'
import { decideQuery, evaluationDecider } from '../evaluation/decide-evaluation.ts'
import type { Evaluation } from '../evaluation/evaluation.ts'
import { findEntities, loadEvaluations } from '../evaluation/load-evaluations.ts'
import { bindEvaluation } from './bind-evaluation.ts'
import { contextOf, recordTransition } from './record-transition.ts'
import { type EvaluationContext, findRequest, type RequestRow } from './store.ts'
import { markConsumed } from './transition-store.ts'
import { withApproval } from './use-approvals.ts'

const dayMs = 86_400_000

export const consumption = z.object({
  operation_id: z
    .string('Give operation_id as text.')
    .min(1, 'Give an operation_id, the same for each attempt at this operation.')
    .max(128, 'An operation_id can have 128 characters at most.'),
})

/**
 * Decides the evaluation of an approved request anew, with what was approved and all else as it is now. Returns the id of
 * the decision; null if this operation has consumed the request already. Throws 409 `invalid_state` for a request that
 * is not approved, 403 `permission_denied` for what is denied by now, and 403 `approval_invalid` if it is no longer
 * what was approved: each leaves the request unused.
 */
export async function decideAgain(
  deps: Deps,
  finders: ObjectFinders,
  caller: Caller,
  request: RequestRow,
  operationId: string,
): Promise<string | null> {
  if (isConsumedFor(request, caller, operationId, deps.clock())) return null
  if (request.kind !== 'application') throw ofCall(request)
  if (request.status !== 'approved') throw notApproved(request)
  const evaluation = evaluationOf(request)
  const { tenantId, userId } = caller
  const entities = await readInTenant(deps.db, caller, (read) =>
    findEntities(read, finders, { tenantId, userId, now: deps.clock() }, [evaluation]),
  )
  const { policies, evaluations } = await loadEvaluations(deps, caller, entities, [evaluation])
  const asked = evaluationDecider(deps, caller, policies)(evaluations[0]!)
  if (!('application' in asked.query)) throw changed()
  const { query, decision } = decideQuery(
    deps,
    withApproval(asked.query, request),
    evaluations[0]!.isAmbiguous,
  )
  const decisionId = randomUUIDv7()
  await deps.decisionLog.record({ id: decisionId, query, decision, kind: asked.kind, keep: 'always' })
  if (decision.effect === 'deny') throw refusal(decision, query.action, decisionId)
  const bound = bindEvaluation(query, policies, request.gates)
  if (decision.effect !== 'allow' || bound?.digest !== request.digest) throw changed(decisionId)
  return decisionId
}

/**
 * Consumes an approved request for an operation. Of simultaneous operations one consumes it; the others, and later ones,
 * get 409 `invalid_state`. The same caller and operation get the same request again until a day after `valid_until`.
 */
export async function consumeApproval(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  request: RequestRow,
  { operationId, decisionId }: { operationId: string; decisionId: string | null },
): Promise<RequestRow> {
  const { tenantId, userId } = caller
  const { id } = request
  const at = deps.clock()
  if (decisionId !== null && (await markConsumed(tx, tenantId, { id, decisionId, at, operationId, userId })))
    await recordTransition(tx, contextOf(caller, at), { id, from: 'approved', to: 'executed' })
  const consumed = (await findRequest(tx, tenantId, id, at)) ?? request
  if (!isConsumedFor(consumed, caller, operationId, at)) throw notApproved(consumed)
  return consumed
}

const isConsumedFor = (request: RequestRow, { userId }: Caller, operationId: string, now: number): boolean =>
  request.status === 'executed' &&
  request.consumed_by === userId &&
  request.operation_id === operationId &&
  now < request.expires_at + dayMs

/** The evaluation as it was asked, with those values of it that were kept. */
function evaluationOf({
  subject_type,
  subject_id,
  action,
  resource_type,
  resource_id,
  ...row
}: RequestRow): Evaluation {
  const read = row.context as EvaluationContext
  return {
    subject: { type: subject_type, id: subject_id, properties: row.kept?.subject },
    action: { name: action, properties: { ...row.kept?.action, ...read.action_properties } },
    resource: {
      type: resource_type,
      id: resource_id ?? '',
      properties: { ...row.kept?.resource, ...read.properties },
    },
    context: { ...row.kept?.environment, ...read.context },
  }
}

const ofCall = ({ status }: RequestRow) =>
  invalidState('This approval is for a call: repeat the call with its id in Approval-Request.', status)

const notApproved = ({ status }: RequestRow) =>
  invalidState(
    status === 'executed' ? 'This approval was used for another operation.' : `This request is ${status}.`,
    status,
  )

const changed = (decisionId?: string) =>
  new ApiError(
    403,
    'approval_invalid',
    'This is no longer what was approved: a policy that required the approval, or what it reads, has changed. Ask for a new approval.',
    { members: { ...(decisionId && { decision_id: decisionId }) } },
  )
