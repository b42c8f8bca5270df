import type { Test } from 'tap'
import { asWorker } from '../../../src/database/executor/transaction.ts'
import type { DeliverDeps } from '../../../src/events/webhooks/attempt.ts'
import { createDeliveries } from '../../../src/events/webhooks/create-deliveries.ts'
import { deliverInOrder } from '../../../src/events/webhooks/deliver-in-order.ts'
import { deliverOnce } from '../../../src/events/webhooks/deliver-once.ts'
import { openPoster } from '../../../src/events/webhooks/post-event.ts'
import { numberEvents } from '../../../src/messages/outbox/event-store.ts'
import { openStage } from '../../workers/stage.ts'

export const second = 1_000
export const minute = 60 * second
export const hour = 60 * minute

export type PostRoom = Awaited<ReturnType<typeof openPostRoom>>

/** A stage without queues: the test decides when events are fanned out and delivered, and moves the clock. */
export async function openPostRoom(t: Test, options: { tenants?: number } = {}) {
  const stage = await openStage(t, options)
  const room = { now: Date.now() }
  const clock = () => room.now
  const poster = openPoster({ rules: { allowPrivate: true, allowedHosts: [] }, limit: 2_000, clock })
  t.teardown(() => poster.close())
  const deps: DeliverDeps = { ...stage.deps, clock, poster }
  const idOf = async (queue: string, webhookId: string) => {
    const { rows } = await stage.root.query(
      `select tenant_id, id, payload from outbox where queue = $1 and payload ->> 'webhook_id' = $2 order by id`,
      [queue, webhookId],
    )
    return rows[0] as { tenant_id: string; id: string; payload: { delivery_id: string } } | undefined
  }
  return Object.assign(room, {
    stage,
    deps,
    /** Appends events with a sequence and without deliveries; returns their ids. */
    async happen(count = 1, tenantId = stage.tenant): Promise<string[]> {
      const ids: string[] = []
      for (let n = 0; n < count; n++) ids.push(await stage.append(tenantId))
      const newest = ids.toSorted().at(-1)!
      await asWorker(stage.deps.db, (tx) => numberEvents(tx, [{ tenantId, eventId: newest }]))
      return ids
    },
    /** Fans events out, in one transaction. */
    async handOn(ids: string[], tenantId = stage.tenant, maxPerDay = 100_000) {
      await stage.root.query('delete from outbox where id = any($1)', [ids])
      return asWorker(stage.deps.db, (tx) =>
        createDeliveries(
          tx,
          ids.map((id) => ({ tenantId, id })),
          room.now,
          maxPerDay,
        ),
      )
    },
    message: (webhookId: string) => idOf('webhook', webhookId),
    /** Runs deliveries for a webhook once; 'nothing' without a message. */
    async run(webhookId: string): Promise<number | null | 'nothing'> {
      const found = await idOf('webhook', webhookId)
      if (!found) return 'nothing'
      return deliverInOrder(deps, { tenantId: found.tenant_id, id: found.id, webhookId })
    },
    async runOnce(webhookId: string): Promise<number | null | 'nothing'> {
      const found = await idOf('webhook-once', webhookId)
      if (!found) return 'nothing'
      const { tenant_id: tenantId, id, payload } = found
      return deliverOnce(deps, { tenantId, id, webhookId, deliveryId: payload.delivery_id })
    },
    /** ms until the first open delivery is due, or null. */
    async dueIn(webhookId: string): Promise<number | null> {
      const { rows } = await stage.root.query(
        `select next_attempt_at from webhook_deliveries where webhook_id = $1 and in_order
         and status in ('pending', 'failed') order by sequence limit 1`,
        [webhookId],
      )
      return rows[0] ? rows[0].next_attempt_at.getTime() - room.now : null
    },
    /** The statuses of a webhook's deliveries, in order. */
    async statuses(webhookId: string): Promise<string[]> {
      const { rows } = await stage.root.query(
        'select status from webhook_deliveries where webhook_id = $1 order by sequence, created_at',
        [webhookId],
      )
      return rows.map((row) => row.status)
    },
  })
}

/** Appends events and fans them out. */
export async function happenAndHandOn(room: PostRoom, count = 1): Promise<string[]> {
  const ids = await room.happen(count)
  await room.handOn(ids)
  return ids
}
