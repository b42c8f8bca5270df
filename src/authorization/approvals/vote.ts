import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidState } from '../../errors.ts'
import { enqueue } from '../../messages/outbox/enqueue.ts'
import type { Caller } from '../../request/caller.ts'
import { notifyParties } from './notify.ts'
import { auditVote, contextOf, recordTransition } from './record-transition.ts'
import { canDecide, deleteStoredCall, findRequest, isOwnRequest, type RequestRow, readerOf } from './store.ts'
import { insertVote, listEligible, markApproved, markRejected } from './transition-store.ts'

const selfApproval = () =>
  new ApiError(403, 'self_approval_forbidden', 'You cannot decide your own request. Ask another approver.')

const notEligible = () =>
  new ApiError(403, 'permission_denied', 'You have no role that can decide this request.')

interface Vote {
  decision: 'approve' | 'reject'
  comment: string
}

/**
 * Votes on a request. One rejection rejects it. It is approved when the quorum of voters who are still eligible has
 * approved. Repeating the same vote changes nothing. Throws 403 `self_approval_forbidden`, 403 `permission_denied` for
 * callers that the policy does not name, and 409 `invalid_state` for an opposite vote or a decided request.
 */
export async function vote(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  request: RequestRow,
  cast: Vote,
): Promise<RequestRow> {
  const { tenantId } = caller
  const { id } = request
  const at = deps.clock()
  assertCanVote(caller, request)
  if (repeats(request, caller, cast)) return request
  if (request.status !== 'pending') throw invalidState(`This request is ${request.status}.`, request.status)
  const approver = { id: caller.userId, email: caller.auth.user.email }
  await insertVote(tx, { ...cast, tenantId, requestId: id, approver, at })
  await decide(tx, deps, caller, { request, decision: cast.decision, at })
  return (await findRequest(tx, tenantId, id, at)) ?? request
}

function assertCanVote(caller: Caller, request: RequestRow): void {
  if (isOwnRequest(request, caller.userId)) throw selfApproval()
  if (!canDecide(request, readerOf(caller))) throw notEligible()
}

/** Whether the caller has voted the same before; throws 409 if they voted the opposite. */
function repeats({ votes, status }: RequestRow, caller: Caller, { decision }: Vote): boolean {
  const earlier = votes.find(({ approver }) => approver.id === caller.userId)
  if (!earlier) return false
  if (earlier.decision === decision) return true
  throw invalidState(`You have already voted: ${earlier.decision}.`, status)
}

interface Deciding {
  request: RequestRow
  decision: Vote['decision']
  at: number
}

async function decide(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { request, decision, at }: Deciding,
): Promise<void> {
  const { tenantId } = caller
  const { id } = request
  if (decision === 'approve' && !(await isQuorum(tx, tenantId, request, caller.userId)))
    return auditVote(tx, contextOf(caller, at), id)
  const [mark, outcome] =
    decision === 'approve' ? ([markApproved, 'approved'] as const) : ([markRejected, 'rejected'] as const)
  if (!(await mark(tx, tenantId, id, at))) throw new Error('A locked request has changed')
  await recordTransition(tx, contextOf(caller, at), { id, from: 'pending', to: outcome })
  const { requestInfo } = caller
  if (outcome === 'rejected') await deleteStoredCall(tx, tenantId, id)
  // The requester has nothing to do: a mail tells them what the worker did.
  else if (request.execution_status === 'pending')
    return enqueue(
      tx,
      'execution',
      tenantId,
      { v: 1, approval_request_id: id, request_id: requestInfo.requestId },
      at,
    )
  await notifyParties(tx, deps, { request, tenantId, outcome, requestInfo, at })
}

/** Whether enough voters who approved, this one included, are still eligible. */
async function isQuorum(tx: Tx, tenantId: string, request: RequestRow, voterId: string): Promise<boolean> {
  const {
    approvers,
    requester_id: requesterId,
    account_id: accountId,
    required_approvals: required,
  } = request
  const voters = [
    voterId,
    ...request.votes.filter(({ decision }) => decision === 'approve').map(({ approver }) => approver.id),
  ]
  const eligible = await listEligible(tx, tenantId, {
    approvers,
    requesterId,
    accountId,
    among: voters,
    limit: voters.length,
  })
  return eligible.length >= required
}
