import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { insertTest } from './asked-store.ts'
import { permitWebhook } from './permit-webhook.ts'
import { sendOnce } from './send-once.ts'
import { holdWebhook } from './store.ts'

/**
 * Sends an event that stands for none, once, also to a webhook that is inactive or disabled; gives the delivery's id.
 * 409 `limit_reached` where too many wait.
 */
export function testWebhook({ db, clock }: Deps, actor: Actor, id: string): Promise<string> {
  const { tenantId } = actor
  const at = clock()
  return inTenant(db, actor, async (tx) => {
    permitWebhook(actor, await holdWebhook(tx, tenantId, id))
    const deliveryId = await insertTest(tx, {
      tenantId,
      webhookId: id,
      eventType: 'events.webhook_tested',
      at,
    })
    await sendOnce(tx, { tenantId, webhookId: id, deliveryId, requestId: actor.origin.requestId, at })
    await appendAudit(tx, { ...doneBy(actor, at), action: 'webhook:test', target: { type: 'webhook', id } })
    return deliveryId
  })
}
