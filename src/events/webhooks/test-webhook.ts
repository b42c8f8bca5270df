import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { insertTest } from './asked-store.ts'
import { sendOnce } from './send-once.ts'
import type { WebhookRow } from './store.ts'

/**
 * Sends an event that stands for none, once, also to a webhook that is inactive or disabled; gives the delivery's id.
 * 409 `limit_reached` where too many wait.
 */
export async function testWebhook(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  { id }: WebhookRow,
): Promise<string> {
  const { tenantId } = caller
  const at = clock()
  const deliveryId = await insertTest(tx, {
    tenantId,
    webhookId: id,
    eventType: 'events.webhook_tested',
    at,
  })
  await sendOnce(tx, { tenantId, webhookId: id, deliveryId, requestId: caller.requestInfo.requestId, at })
  await appendAudit(tx, { ...doneBy(caller, at), action: 'webhook:test', target: { type: 'webhook', id } })
  return deliveryId
}
