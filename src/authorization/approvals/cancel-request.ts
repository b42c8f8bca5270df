import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { invalidState, notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { lockRequest, markCancelled } from './move-store.ts'
import { findRequest, type RequestRow } from './store.ts'
import { tellRequester } from './tell.ts'

/**
 * Cancels a request: the requester, an owner or an admin while it is pending, the requester also while it is approved
 * and unused. Any other state is 409 `invalid_state`.
 */
export function cancelRequest(deps: Deps, actor: Actor, id: string): Promise<RequestRow> {
  const { tenantId, userId, origin } = actor
  const at = deps.clock()
  return inTenant(deps.db, actor, async (tx) => {
    await lockRequest(tx, tenantId, id)
    const request = await findRequest(tx, tenantId, id, at)
    if (!request) throw notFound()
    actor.permit({ type: 'approval_request', id, ownerId: request.requester_id })
    if (!(await markCancelled(tx, { tenantId, userId }, id, at)))
      throw invalidState(`This request is ${request.status}.`, request.status)
    await appendEvent(tx, {
      ...causedBy(actor, at),
      type: 'authorization.approval_cancelled',
      subject: id,
      data: { approval_request_id: id },
    })
    if (request.requester_id !== userId)
      await tellRequester(tx, deps, {
        request,
        tenantId,
        outcome: 'cancelled',
        requestId: origin.requestId,
        at,
      })
    return (await findRequest(tx, tenantId, id, at)) ?? request
  })
}
