import { asWorker } from '../src/database/executor/transaction.ts'
import { findHost, renewMessage } from '../src/events/webhooks/attempt-store.ts'
import { deliverInOrder } from '../src/events/webhooks/deliver-in-order.ts'
import { openPoster } from '../src/events/webhooks/post-event.ts'
import { receiverRules } from '../src/events/webhooks/public-address.ts'
import { DelayedError } from '../src/messages/queues/delayed-error.ts'
import { defineActor } from './actor.ts'
import { atReceiver, fairSlots } from './fair-slots.ts'

/** Slots of one tenant, and of one receiving host, at most. A tenant can have as many webhooks, but one alone gets half of a host. */
const slots = { total: 200, perKey: 20 }

/**
 * Posts the open deliveries of a webhook, in order. Its message comes again as long as a delivery is open, and never
 * becomes a dead letter: deliveries are given up instead. If processes kept dying over it, a new message replaces it.
 */
export const webhook = defineActor({
  name: 'webhook',
  queue: 'webhook',
  concurrency: slots.total,
  attempts: Number.POSITIVE_INFINITY,
  backoff: { first: 1_000, longest: 60_000 },
  lockDuration: 15_000,
  handler(deps) {
    const { clock, config } = deps
    const poster = openPoster({ rules: receiverRules(config), clock })
    const inFairSlot = fairSlots(slots)
    return async ({ id, tenantId, message }) => {
      const webhook = { id, tenantId, webhookId: message.webhook_id }
      const keys = atReceiver(tenantId, await findHost(deps.db, webhook))
      const wait = await inFairSlot(id, keys, () => deliverInOrder({ ...deps, poster }, webhook))
      if (wait !== null) throw new DelayedError(wait)
    }
  },
  async abandoned({ db, clock, log }, { id, tenantId }) {
    if (await asWorker(db, (tx) => renewMessage(tx, { id, tenantId }, clock())))
      log.error(
        { outbox_id: id, tenant_id: tenantId },
        'processes kept dying over a message; it is started again',
      )
  },
})
