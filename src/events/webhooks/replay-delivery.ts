import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { gone, invalidState, notFound } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { findDeliveryState, reopenDelivery } from './delivery-store.ts'
import { sendOnce } from './send-once.ts'
import type { WebhookRow } from './store.ts'
import { stateOf } from './webhook-schemas.ts'

/**
 * Sends the event of an ended delivery once more, outside the order. 409 `invalid_state` when the delivery has not ended
 * or the webhook is inactive or disabled, 409 `limit_reached` when too many tests and replays wait, 410 `gone` when the
 * event was deleted after `EVENT_RETENTION_DAYS`.
 */
export async function replayDelivery(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  webhook: WebhookRow,
  id: string,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  const { id: webhookId } = webhook
  const key = { tenantId, webhookId, id, at }
  const delivery = await findDeliveryState(tx, key)
  if (!delivery) throw notFound()
  if (!delivery.event_is_kept) throw gone('The event of this delivery is no longer kept.')
  const state = stateOf(webhook)
  if (state !== 'active')
    throw invalidState(`The webhook is ${state}. Set is_active to true, then replay.`, state)
  if (!(await reopenDelivery(tx, key)))
    throw invalidState(
      'This delivery has not ended yet.',
      (await findDeliveryState(tx, key))?.status ?? delivery.status,
    )
  await sendOnce(tx, { tenantId, webhookId, deliveryId: id, requestId: caller.requestInfo.requestId, at })
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'webhook:replay',
    target: { type: 'webhook_delivery', id },
  })
}
