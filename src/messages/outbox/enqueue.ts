import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { currentTraceparent } from '../../observe/tracing/traceparent.ts'
import { type Message, type QueueName, queues } from '../queues/queues.ts'
import { timeOrderedId } from './time-ordered-id.ts'
import { wakeRelays } from './wake-relays.ts'

/**
 * Writes a message for a queue in the caller's transaction; it leaves the service only after the commit. Without a
 * `traceparent` of its own it carries the active span. `at` is in ms since 1970. Throws (a bug of ours) when the
 * message does not match its queue.
 */
export async function enqueue<Queue extends QueueName>(
  tx: Tx,
  queue: Queue,
  tenantId: string,
  message: Message<Queue>,
  at: number,
): Promise<void> {
  const traceparent = message.traceparent ?? currentTraceparent()
  const payload = queues[queue].parse({ ...message, traceparent })
  tx.later(sql.unsafe`
    insert into outbox (tenant_id, id, queue, payload, created_at)
    values (${tenantId}, ${timeOrderedId(at)}, ${queue}, ${sql.jsonb({ ...payload })},
            ${instant(at)})`)
  wakeRelays(tx)
}
