import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { invalidState } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { markCancelled } from './move-store.ts'
import { findRequest, type RequestRow } from './store.ts'
import { tellRequester } from './tell.ts'
import { moverOf, tellMove } from './tell-move.ts'

/**
 * Cancels a request: the requester, an owner or an admin while it is pending, the requester also while it is approved
 * and unused. Any other state is 409 `invalid_state`.
 */
export async function cancelRequest(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  request: RequestRow,
): Promise<RequestRow> {
  const { tenantId, userId, requestInfo } = caller
  const at = deps.clock()
  const { id } = request
  if (!(await markCancelled(tx, { tenantId, userId }, id, at)))
    throw invalidState(`This request is ${request.status}.`, request.status)
  await tellMove(tx, moverOf(caller, at), { id, from: request.status, to: 'cancelled' })
  if (request.requester_id !== userId)
    await tellRequester(tx, deps, {
      request,
      tenantId,
      outcome: 'cancelled',
      requestId: requestInfo.requestId,
      at,
    })
  return (await findRequest(tx, tenantId, id, at)) ?? request
}
