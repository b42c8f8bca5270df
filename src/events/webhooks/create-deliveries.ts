import type { Tx } from '../../database/executor/transaction.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import type { MessageKey } from '../../messages/queues/queued-message.ts'
import { type DroppedDeliveries, insertDeliveries } from './delivery-store.ts'

/**
 * Creates the deliveries of these numbered events; returns those that were dropped because their tenant has reached
 * `maxPerDay` today (UTC). Dropped events are still in the feed. The tenant's audit log records the first drop of a
 * day. `now` in ms since 1970.
 */
export async function createDeliveries(
  tx: Tx,
  events: readonly MessageKey[],
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
