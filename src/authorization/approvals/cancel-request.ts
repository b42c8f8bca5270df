import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { invalidState } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { notifyParties } from './notify.ts'
import { contextOf, recordTransition } from './record-transition.ts'
import { findRequest, type RequestRow } from './store.ts'
import { deleteStoredCall } from './stored-call-store.ts'
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
  const { requestId } = requestInfo
  await notifyParties(tx, deps, { request, tenantId, outcome: 'cancelled', requestId, at, except: userId })
  return (await findRequest(tx, tenantId, id, at)) ?? request
}
