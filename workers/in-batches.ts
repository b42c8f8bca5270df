import { asWorker, type Tx } from '../src/platform/db/transaction.ts'
import type { WorkerDeps } from './deps.ts'

const batch = 1_000

/**
 * Deletes in batches, each in a transaction of its own, so that nobody waits for it; `remove` gives how many rows it
 * deleted, `most` at a time. Gives how many in all.
 */
export async function inBatches(
  { db }: Pick<WorkerDeps, 'db'>,
  remove: (tx: Tx, most: number) => Promise<number>,
): Promise<number> {
  let total = 0
  for (let count = batch; count === batch; total += count)
    count = await asWorker(db, (tx) => remove(tx, batch))
  return total
}
