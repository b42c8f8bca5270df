import { asWorker, type Databases } from '../../database/executor/transaction.ts'
import { recordTransition } from './record-transition.ts'
import { deleteStoredCall } from './store.ts'
import { expireOverdue } from './transition-store.ts'

const batch = 500

/**
 * Marks the requests that have expired by `now` (ms) and records each with one event, even if several processes run
 * this at the same time. Returns how many. Reads do not depend on it: they compare `expires_at` with the clock.
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
        const context = { tenantId, person: null, requestInfo: { requestId, ip: '', userAgent: '' }, at: now }
        await deleteStoredCall(tx, tenantId, id)
        await recordTransition(tx, context, { id, from: was, to: 'expired' })
      }
      return expired.length
    })
  return total
}
