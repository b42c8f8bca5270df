import { findHost, giveUpOnce } from '../src/events/webhooks/attempt-store.ts'
import { deliverOnce } from '../src/events/webhooks/deliver-once.ts'
import { openPoster } from '../src/events/webhooks/post-event.ts'
import { receiverRules } from '../src/events/webhooks/public-address.ts'
import { DelayedError } from '../src/messages/queues/delayed-error.ts'
import { defineActor } from './actor.ts'
import { atReceiver, fairSlots } from './fair-slots.ts'

/** Slots of one tenant, and of one receiving host, at most: a tenant can make many tests, and its receivers can be slow. */
const slots = { total: 20, perKey: 5 }

/**
 * Posts a test or a replayed event once. The message is tried again only if no attempt could be made, or if its result
 * could not be recorded for 20 s.
 */
export const webhookOnce = defineActor({
  name: 'webhook-once',
  queue: 'webhook-once',
  concurrency: slots.total,
  attempts: 30,
  backoff: { first: 1_000, longest: 60_000 },
  lockDuration: 15_000,
  handler(deps) {
    const { clock, config } = deps
    const poster = openPoster({ rules: receiverRules(config), clock })
    const inFairSlot = fairSlots(slots)
    return async ({ id, tenantId, message: { webhook_id: webhookId, delivery_id: deliveryId } }) => {
      const once = { id, tenantId, webhookId, deliveryId }
      const keys = atReceiver(tenantId, await findHost(deps.db, once))
      const wait = await inFairSlot(id, keys, () => deliverOnce({ ...deps, poster }, once))
      if (wait !== null) throw new DelayedError(wait)
    }
  },
  onDeadLetter:
    ({ webhook_id: webhookId, delivery_id }, { tenantId }) =>
    (tx) =>
      giveUpOnce(tx, { tenantId, webhookId }, delivery_id),
})
