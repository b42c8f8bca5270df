import { sql, type Tx } from '../db/transaction.ts'
import type { Message } from '../jobs/queues.ts'
import { currentTraceparent } from '../tracing/traceparent.ts'
import { type EventData, type EventType, eventTypes } from './event-types.ts'
import { timeOrderedId } from './time-ordered-id.ts'

/** A new event. `subject` is the id of the object it is about; `at` is in ms since 1970. */
export interface NewEvent<Type extends EventType> {
  type: Type
  tenantId: string
  subject: string
  data: EventData<Type>
  actorId: string | null
  requestId: string
  /** From the request. The active span, when there is one, replaces it. */
  traceparent?: string | undefined
  at: number
}

/**
 * Writes the event and its outbox message in the caller's transaction, in one statement; gives the event's id. Throws
 * (a bug of ours) when `data` does not match the event type.
 */
export async function appendEvent<Type extends EventType>(tx: Tx, event: NewEvent<Type>): Promise<string> {
  const { type, tenantId, subject, actorId, requestId } = event
  const own = currentTraceparent()
  const data = eventTypes[type].parse(event.data)
  const id = timeOrderedId(event.at)
  const message: Message<'event-fanout'> = { v: 1, event_id: id, request_id: requestId, traceparent: own }
  const at = sql.timestamp(new Date(event.at))
  tx.later(sql.unsafe`
    with event as (
      insert into events (tenant_id, id, type, subject, data, actor_id, request_id, traceparent, occurred_at)
      values (${tenantId}, ${id}, ${type}, ${subject}, ${sql.jsonb(data)}, ${actorId}, ${requestId},
              ${own ?? event.traceparent ?? null}, ${at})
    )
    insert into outbox (tenant_id, id, queue, payload, created_at)
    values (${tenantId}, ${id}, 'event-fanout', ${sql.jsonb({ ...message })}, ${at})`)
  return id
}

/**
 * The same for any number of events of one type and cause, still in one statement, so that a request that changes many
 * objects stays fast. `each` are subjects with their data.
 */
export async function appendEvents<Type extends EventType>(
  tx: Tx,
  common: Omit<NewEvent<Type>, 'subject' | 'data'>,
  each: readonly Pick<NewEvent<Type>, 'subject' | 'data'>[],
): Promise<void> {
  const { type, tenantId, actorId, requestId } = common
  const own = currentTraceparent()
  const rows = each.map(({ subject, data }) => {
    const id = timeOrderedId(common.at)
    const message: Message<'event-fanout'> = { v: 1, event_id: id, request_id: requestId, traceparent: own }
    return [id, subject, JSON.stringify(eventTypes[type].parse(data)), JSON.stringify(message)]
  })
  const at = sql.timestamp(new Date(common.at))
  tx.later(sql.unsafe`
    with fresh as (
      select * from ${sql.unnest(rows, ['uuid', 'text', 'jsonb', 'jsonb'])} as f (id, subject, data, message)
    ), event as (
      insert into events (tenant_id, id, type, subject, data, actor_id, request_id, traceparent, occurred_at)
      select ${tenantId}, id, ${type}, subject, data, ${actorId}, ${requestId}, ${own ?? common.traceparent ?? null}, ${at} from fresh
    )
    insert into outbox (tenant_id, id, queue, payload, created_at)
    select ${tenantId}, id, 'event-fanout', message, ${at} from fresh`)
}
