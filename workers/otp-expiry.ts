import { expired } from '../src/identity/expiry-store.ts'
import type { WorkerDeps } from './deps.ts'
import { inBatches } from './in-batches.ts'
import { defineScheduled } from './schedule.ts'

/** Deletes what is long over. Whether something is still valid is read from its times, never from its being there. */
export const otpExpiry = defineScheduled({
  name: 'otp-expiry',
  queue: 'otp-expiry',
  every: 600_000,
  lockDuration: 60_000,
  run: sweep,
})

/** Deletes what is over; gives how many rows of each. */
export async function sweep(deps: Pick<WorkerDeps, 'db' | 'clock'>): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {}
  for (const [name, removeBatch] of Object.entries(expired))
    deleted[name] = await inBatches(deps, (tx, most) => removeBatch(tx, deps.clock(), most))
  return deleted
}
