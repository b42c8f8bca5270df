import { expired } from '../src/identity/expiry-store.ts'
import { asWorker } from '../src/platform/db/transaction.ts'
import type { WorkerDeps } from './deps.ts'
import { defineScheduled } from './schedule.ts'

const batch = 1_000

/** Deletes what is long over. Whether something is still valid is read from its times, never from its being there. */
export const otpExpiry = defineScheduled({
  name: 'otp-expiry',
  queue: 'otp-expiry',
  every: 600_000,
  lockDuration: 60_000,
  run: sweep,
})

/** Deletes in batches, each in a transaction of its own, so that nobody waits for it; gives how many rows of each. */
export async function sweep({ db, clock }: WorkerDeps): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {}
  for (const [name, removeBatch] of Object.entries(expired))
    for (let count = batch; count === batch; ) {
      count = await asWorker(db, (tx) => removeBatch(tx, clock(), batch))
      deleted[name] = (deleted[name] ?? 0) + count
    }
  return deleted
}
