import { z } from 'zod'
import { sql, type Tx } from '../db/transaction.ts'
import type { QueuedMessage } from '../jobs/queue-backend.ts'
import { queues } from '../jobs/queues.ts'

const outboxRow = z.object({ tenant_id: z.string(), id: z.string(), queue: z.string(), payload: z.unknown() })

/** A row of the outbox on its way to its queue. */
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

/**
 * Up to `limit` messages for queues of this release that no queue has yet, oldest first, locked; those another relay
 * holds are passed over. What a newer release has written waits for the relays of that one.
 */
export async function claimWaiting(tx: Tx, limit: number): Promise<OutboxMessage[]> {
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at is null and queue = any(${known}) order by id limit ${limit} for update skip locked`)
  return rows.map(messageOf)
}

/** Up to `limit` messages written before `before` (ms since 1970) for queues that this release does not have. */
export async function listForUnknownQueues(tx: Tx, before: number, limit: number): Promise<OutboxMessage[]> {
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at is null and queue <> all(${known}) and created_at < ${sql.timestamp(new Date(before))}
    order by id limit ${limit}`)
  return rows.map(messageOf)
}

/** Up to `limit` messages put on a queue before `before` (ms since 1970) and not settled since, locked. */
export async function claimOverdue(tx: Tx, before: number, limit: number): Promise<OutboxMessage[]> {
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at <= ${sql.timestamp(new Date(before))} and queue = any(${known})
    order by enqueued_at limit ${limit} for update skip locked`)
  return rows.map(messageOf)
}

/** Notes when (ms since 1970) the messages were put on their queues. */
export async function markEnqueued(tx: Tx, messages: OutboxMessage[], at: number): Promise<void> {
  const ids = messages.map((message) => message.id)
  await tx.query(sql.unsafe`
    update outbox set enqueued_at = ${sql.timestamp(new Date(at))} where id = any(${sql.array(ids, 'uuid')})`)
}
