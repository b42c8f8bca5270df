import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import { enqueue } from '../../platform/outbox/enqueue.ts'
import { countWaitingOnce } from './asked-store.ts'

const most = 20

interface Once {
  tenantId: string
  webhookId: string
  deliveryId: string
  requestId: string
  at: number
}

/**
 * Has a delivery, a test or a replay, tried once, beside the order. Throws 409 `limit_reached` where more of a webhook
 * wait than there may: a silent receiver takes ten seconds for each, and those of a suspended tenant wait until it is
 * active. The caller holds the webhook.
 */
export async function sendOnce(
  tx: Tx,
  { tenantId, webhookId, deliveryId, requestId, at }: Once,
): Promise<void> {
  if ((await countWaitingOnce(tx, tenantId, webhookId)) > most)
    throw new ApiError(
      409,
      'limit_reached',
      `Of one webhook ${most} tests and replays may wait. Try again when some are through.`,
    )
  const message = { v: 1, request_id: requestId, webhook_id: webhookId, delivery_id: deliveryId } as const
  await enqueue(tx, 'webhook-once', tenantId, message, at)
}
