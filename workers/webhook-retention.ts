import { deleteDeliveriesOf, deleteEndedBefore, listGone } from '../src/events/webhooks/retention-store.ts'
import { asWorker } from '../src/platform/db/transaction.ts'
import type { WorkerDeps } from './deps.ts'
import { inBatches } from './in-batches.ts'
import { defineScheduled } from './schedule.ts'

const day = 86_400_000

/** Deletes deliveries that nobody needs to read or replay any more, and those of webhooks that are gone. */
export const webhookRetention = defineScheduled({
  name: 'webhook-retention',
  queue: 'webhook-retention',
  every: 3_600_000,
  lockDuration: 60_000,
  run: async (deps) => ({ deliveries: await forgetDeliveries(deps) }),
})

/** Deletes what ended more than `WEBHOOK_DELIVERY_RETENTION_DAYS` ago, and all of webhooks that are gone; gives how many. */
export async function forgetDeliveries(deps: Pick<WorkerDeps, 'db' | 'clock' | 'config'>): Promise<number> {
  const before = deps.clock() - deps.config.WEBHOOK_DELIVERY_RETENTION_DAYS * day
  let count = await inBatches(deps, (tx, most) => deleteEndedBefore(tx, before, most))
  for (const webhook of await asWorker(deps.db, listGone))
    count += await inBatches(deps, (tx, most) => deleteDeliveriesOf(tx, webhook, most))
  return count
}
