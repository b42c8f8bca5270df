import { z } from 'zod'
import { listReachable, mayClaim, skippingLocked } from '../../database/claim-rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { MessageKey, QueuedMessage } from '../queues/queued-message.ts'
import { queues } from '../queues/queues.ts'

const outboxRow = z.object({ tenant_id: z.string(), id: z.string(), queue: z.string(), payload: z.unknown() })
const overdueRow = outboxRow.extend({ job: z.string() })

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

/** The same while a part of the database is away: the messages of tenants on the other parts. */
export async function claimReachable(tx: Tx, limit: number): Promise<OutboxMessage[]> {
  if (!(await mayClaim(tx, claiming))) return []
  const rows = await listReachable(
    tx,
    'outbox',
    `select tenant_id, id, queue, payload from %s
     where enqueued_at is null and queue = any('{${Object.keys(queues)}}') order by id limit ${limit}`,
  )
  const oldest = z
    .array(outboxRow)
    .parse(rows)
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  return oldest.slice(0, limit).map(messageOf)
}

/** Up to `limit` messages written before `before` (ms since 1970) for queues that this release does not know. */
export async function listForUnknownQueues(tx: Tx, before: number, limit: number): Promise<OutboxMessage[]> {
  const rows = await tx.any(sql.type(outboxRow)`
    select tenant_id, id, queue, payload from outbox
    where enqueued_at is null and queue <> all(${known}) and created_at < ${instant(before)}
    order by id limit ${limit}`)
  return rows.map(messageOf)
}

/** A message that is on its queue; `carriedBy` is the id of its job. */
export type EnqueuedMessage = OutboxMessage & { carriedBy: string }

/** Locks up to `limit` messages that were put on a queue before `before` (ms since 1970) and are not acknowledged. */
export async function claimOverdue(tx: Tx, before: number, limit: number): Promise<EnqueuedMessage[]> {
  if (!(await mayClaim(tx, claiming))) return []
  const rows = await tx.any(sql.type(overdueRow)`
    select tenant_id, id, queue, payload, coalesce(enqueued_as, id) as job from outbox
    where enqueued_at <= ${instant(before)} and queue = any(${known})
    order by enqueued_at limit ${limit} ${skippingLocked(tx)}`)
  return rows.map((row) => ({ ...messageOf(row), carriedBy: row.job }))
}

/** Marks the messages as put on their queues at `at` (ms since 1970), in `job`, or each in a job with its own id. */
export function markEnqueued(tx: Tx, messages: readonly MessageKey[], at: number, job: string | null = null) {
  const set = sql.fragment`enqueued_at = ${instant(at)}, enqueued_as = ${job}`
  if (messages.length > 0) tx.later(sql.unsafe`update outbox set ${set} where ${isAmong(messages)}`)
}

/** Notes that the messages were still on their queues at `at` (ms since 1970). */
export function noteFound(tx: Tx, messages: readonly MessageKey[], at: number) {
  const set = sql.fragment`enqueued_at = ${instant(at)}`
  if (messages.length > 0) tx.later(sql.unsafe`update outbox set ${set} where ${isAmong(messages)}`)
}

function isAmong(messages: readonly MessageKey[]) {
  const tenantIds = [...new Set(messages.map(({ tenantId }) => tenantId))]
  const ids = messages.map(({ id }) => id)
  return sql.fragment`tenant_id = any(${sql.array(tenantIds, 'uuid')}) and id = any(${sql.array(ids, 'uuid')})`
}
