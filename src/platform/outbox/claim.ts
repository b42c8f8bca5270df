import { z } from 'zod'
import { mayClaim, skippingLocked } from '../db/claim-rows.ts'
import { sql, type Tx } from '../db/transaction.ts'
import type { QueuedMessage } from '../jobs/queue-backend.ts'
import { queues } from '../jobs/queues.ts'

const outboxRow = z.object({ tenant_id: z.string(), id: z.string(), queue: z.string(), payload: z.unknown() })

/** A message of the outbox, with the queue it is for. */
export interface OutboxMessage extends QueuedMessage {
  queue: string
}

const messageOf = (row: z.output<typeof outboxRow>): OutboxMessage => ({
  id: row.id,
  tenantId: row.tenant_id,
  queue: row.queue,
  payload: row.payload,
})

const known = sql.array(Object.keys(queues), 'text')

const claiming = 0x0bad7

/**
 * Locks up to `limit` messages that are not on their queue yet, oldest first. Skips those that another relay has
 * locked, and those for queues that only a newer release knows: they wait for the relays of that release.
 */
export async function claimWaiting(tx: Tx, limit: number): Promise<OutboxMessage[]> {
  if (!(await mayClaim(tx, claiming))) return []
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at is null and queue = any(${known}) order by id limit ${limit} ${skippingLocked(tx)}`)
  return rows.map(messageOf)
}

/** Up to `limit` messages written before `before` (ms since 1970) for queues that this release does not know. */
export async function listForUnknownQueues(tx: Tx, before: number, limit: number): Promise<OutboxMessage[]> {
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at is null and queue <> all(${known}) and created_at < ${sql.timestamp(new Date(before))}
    order by id limit ${limit}`)
  return rows.map(messageOf)
}

/** Locks up to `limit` messages that were put on a queue before `before` (ms since 1970) and are not acknowledged. */
export async function claimOverdue(tx: Tx, before: number, limit: number): Promise<OutboxMessage[]> {
  if (!(await mayClaim(tx, claiming))) return []
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at <= ${sql.timestamp(new Date(before))} and queue = any(${known})
    order by enqueued_at limit ${limit} ${skippingLocked(tx)}`)
  return rows.map(messageOf)
}

/** Marks the messages as put on their queues at `at` (ms since 1970). */
export async function markEnqueued(tx: Tx, messages: OutboxMessage[], at: number): Promise<void> {
  const ids = messages.map(({ id }) => id)
  const tenantIds = [...new Set(messages.map(({ tenantId }) => tenantId))]
  tx.later(sql.unsafe`
    update outbox set enqueued_at = ${sql.timestamp(new Date(at))}
    where tenant_id = any(${sql.array(tenantIds, 'uuid')}) and id = any(${sql.array(ids, 'uuid')})`)
}
