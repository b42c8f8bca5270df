import { expired } from '../src/identity/expiry-store.ts'
import { deleteOldWindows } from '../src/messages/mail/notice-windows.ts'
import { deleteAnswersBefore } from '../src/request/change/answer-store.ts'
import type { WorkerDeps } from './deps.ts'
import { inBatches } from './in-batches.ts'
import { defineScheduled } from './schedule.ts'

/** Deletes expired rows. Readers compare the times of a row and never conclude from its existence that it is valid. */
export const otpExpiry = defineScheduled({
  name: 'otp-expiry',
  queue: 'otp-expiry',
  every: 600_000,
  lockDuration: 60_000,
  run: sweep,
})

/** What the sweeper deletes, by kind. */
export const swept = { ...expired, idempotency_keys: deleteAnswersBefore, notice_windows: deleteOldWindows }

/** Deletes expired rows; returns the number of rows of each kind. */
export async function sweep(deps: Pick<WorkerDeps, 'db' | 'clock'>): Promise<Record<string, number>> {
  const deleted: Record<string, number> = {}
  for (const [name, removeBatch] of Object.entries(swept))
    deleted[name] = await inBatches(deps, (tx, limit) => removeBatch(tx, deps.clock(), limit))
  return deleted
}
