import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { notifyParties } from './notify.ts'
import { contextOf, recordTransition } from './record-transition.ts'
import { deleteStoredCall, findRequest, type RequestRow } from './store.ts'
import { markCancelled } from './transition-store.ts'

/**
 * Cancels a pending request; its requester and its subject can also cancel an approved and unused one. Throws 409
 * `invalid_state` in any other state.
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
  await deleteStoredCall(tx, tenantId, id)
  await recordTransition(tx, contextOf(caller, at), { id, from: request.status, to: 'cancelled' })
  await notifyParties(tx, deps, { request, tenantId, outcome: 'cancelled', requestInfo, at, except: userId })
  return (await findRequest(tx, tenantId, id, at)) ?? request
}
