import { asWorker, type Databases } from '../../platform/db/transaction.ts'
import { expireOverdue } from './move-store.ts'
import { tellMove } from './tell-move.ts'

const batch = 500

/**
 * Writes down which requests have expired by `now` (ms), each with its one event, whatever number of processes does
 * so; gives how many. Whether one has is read from its time, never from this having run.
 */
export async function expireRequests(
  db: Pick<Databases, 'worker'>,
  now: number,
  requestId: string,
): Promise<number> {
  let total = 0
  for (let count = batch; count === batch; total += count)
    count = await asWorker(db, async (tx) => {
      const expired = await expireOverdue(tx, now, batch)
      for (const { tenant_id: tenantId, id, was } of expired) {
        const mover = { tenantId, person: null, requestInfo: { requestId, ip: '', userAgent: '' }, at: now }
        await tellMove(tx, mover, { id, from: was, to: 'expired' })
      }
      return expired.length
    })
  return total
}
