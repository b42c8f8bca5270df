import { asWorker, type Databases } from '../../platform/db/transaction.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { expireOverdue } from './move-store.ts'

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
      for (const { tenant_id: tenantId, id } of expired)
        await appendEvent(tx, {
          type: 'authorization.approval_expired',
          tenantId,
          subject: id,
          data: { approval_request_id: id },
          actorId: null,
          requestId,
          at: now,
        })
      return expired.length
    })
  return total
}
