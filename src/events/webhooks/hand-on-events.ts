import { appendAudit } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { Delivery } from '../../platform/outbox/acknowledge.ts'
import { type DroppedDeliveries, insertDeliveries } from './delivery-store.ts'

/**
 * Makes the deliveries of these numbered events; gives those that were not made, because their tenant has
 * `maxPerDay` today (UTC): they are in the feed alone. The audit log of a tenant says so once a day. `now` in ms.
 */
export async function handOnEvents(
  tx: Tx,
  events: readonly Delivery[],
  now: number,
  maxPerDay: number,
): Promise<DroppedDeliveries[]> {
  const dropped = await insertDeliveries(tx, events, now, maxPerDay)
  for (const { tenantId, isFirst } of dropped)
    if (isFirst)
      await appendAudit(tx, {
        tenantId,
        actor: null,
        requestInfo: { requestId: 'webhook', ip: '', userAgent: '' },
        action: 'webhook:throttle',
        target: { type: 'tenant', id: tenantId },
        changes: { deliveries_until_midnight: { before: maxPerDay, after: 0 } },
        at: now,
      })
  return dropped
}
