import { asWorker, type Tx } from '../src/database/executor/transaction.ts'
import type { WorkerDeps } from './deps.ts'

const batch = 1_000

/**
 * Deletes in batches, each in its own transaction, so that others do not wait for long. `remove` deletes at most `limit`
 * rows and returns how many. Returns the total.
 */
export async function inBatches(
  { db }: Pick<WorkerDeps, 'db'>,
  remove: (tx: Tx, limit: number) => Promise<number>,
): Promise<number> {
  let total = 0
  for (let count = batch; count === batch; total += count)
    count = await asWorker(db, (tx) => remove(tx, batch))
  return total
}
