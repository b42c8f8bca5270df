import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError, invalidState } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { listEligible } from './approver-store.ts'
import { insertVote, markApproved, markRejected } from './move-store.ts'
import { readerOf } from './read-requests.ts'
import { findRequest, mayDecide, type RequestRow } from './store.ts'
import { tellRequester } from './tell.ts'
import { auditVote, moverOf, tellMove } from './tell-move.ts'

const selfApproval = () =>
  new ApiError(403, 'self_approval_forbidden', 'Nobody decides about their own request. Ask somebody else.')

const notEligible = () =>
  new ApiError(403, 'permission_denied', 'The policy that asked for this approval names others to decide.')

/** What somebody says about a request. */
export interface Vote {
  decision: 'approve' | 'reject'
  comment: string
}

/**
 * Votes on a request. The first rejection decides; an approval does once as many voters as the policy asks for, who
 * are still eligible, have given theirs. 404; 403 `self_approval_forbidden` or for whom the policy does not name;
 * 409 `invalid_state` for a second, contrary vote and once it is decided. The same vote again changes nothing.
 */
export async function vote(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  request: RequestRow,
  said: Vote,
): Promise<RequestRow> {
  const { tenantId } = caller
  const { id } = request
  const at = deps.clock()
  await assertMayVote(tx, caller, request)
  if (repeats(request, caller, said)) return request
  if (request.status !== 'pending') throw invalidState(`This request is ${request.status}.`, request.status)
  const approver = { id: caller.userId, email: caller.auth.user.email }
  await insertVote(tx, { ...said, tenantId, requestId: id, approver, at })
  await decide(tx, deps, caller, { request, said, at })
  return (await findRequest(tx, tenantId, id, at)) ?? request
}

async function assertMayVote(tx: Tx, caller: Caller, request: RequestRow): Promise<void> {
  if (request.requester_id === caller.userId) throw selfApproval()
  if (!(await mayDecide(tx, readerOf(caller), request.id))) throw notEligible()
}

/** Whether this was said before; throws 409 where the contrary was. */
function repeats({ votes, status }: RequestRow, caller: Caller, { decision }: Vote): boolean {
  const earlier = votes.find(({ approver }) => approver.id === caller.userId)
  if (!earlier) return false
  if (earlier.decision === decision) return true
  throw invalidState(`You have said ${earlier.decision} already.`, status)
}

interface Cast {
  request: RequestRow
  said: Vote
  at: number
}

async function decide(tx: Tx, deps: Deps, caller: Caller, { request, said, at }: Cast): Promise<void> {
  const { tenantId } = caller
  const { id } = request
  if (said.decision === 'approve' && !(await isQuorum(tx, tenantId, request, caller.userId)))
    return auditVote(tx, moverOf(caller, at), id)
  const [mark, outcome] =
    said.decision === 'approve'
      ? ([markApproved, 'approved'] as const)
      : ([markRejected, 'rejected'] as const)
  if (!(await mark(tx, tenantId, id, at))) throw new Error('A locked request was moved by somebody else')
  await tellMove(tx, moverOf(caller, at), { id, from: 'pending', to: outcome })
  await tellRequester(tx, deps, { request, tenantId, outcome, requestId: caller.requestInfo.requestId, at })
}

/** Whether enough of those who have approved, the present one included, may still do so. */
async function isQuorum(tx: Tx, tenantId: string, request: RequestRow, voterId: string): Promise<boolean> {
  const { approvers, requester_id: requesterId, required_approvals: required } = request
  const voters = [
    voterId,
    ...request.votes.filter(({ decision }) => decision === 'approve').map(({ approver }) => approver.id),
  ]
  const eligible = await listEligible(tx, tenantId, {
    approvers,
    requesterId,
    among: voters,
    most: voters.length,
  })
  return eligible.length >= required
}
