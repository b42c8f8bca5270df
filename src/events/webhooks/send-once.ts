import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { enqueue } from '../../messages/outbox/enqueue.ts'
import { countWaitingOnce } from './delivery-store.ts'

const max = 20

interface Once {
  tenantId: string
  webhookId: string
  deliveryId: string
  requestId: string
  at: number
}

/**
 * Enqueues a test or a replay for one attempt, outside the order. Throws 409 `limit_reached` when too many of the
 * webhook wait: a receiver that does not answer takes ten seconds for each, and those of a suspended tenant wait until
 * it is active. The caller has locked the webhook.
 */
export async function sendOnce(
  tx: Tx,
  { tenantId, webhookId, deliveryId, requestId, at }: Once,
): Promise<void> {
  if ((await countWaitingOnce(tx, tenantId, webhookId)) > max)
    throw new ApiError(
      409,
      'limit_reached',
      `At most ${max} tests and replays of a webhook can wait. Try again when some are done.`,
    )
  const message = { v: 1, request_id: requestId, webhook_id: webhookId, delivery_id: deliveryId } as const
  await enqueue(tx, 'webhook-once', tenantId, message, at)
}
