import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { noteLogged } from '../../database/log-quota.ts'
import { currentTraceparent } from '../../observe/tracing/traceparent.ts'
import type { Message } from '../queues/queues.ts'
import { type EventData, type EventType, eventTypes } from './event-types.ts'
import { timeOrderedId } from './time-ordered-id.ts'
import { wakeRelays } from './wake-relays.ts'

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
  const at = instant(event.at)
  noteLogged(tx, data)
  tx.later(sql.unsafe`
    with event as (
      insert into events (tenant_id, id, type, subject, data, actor_id, request_id, traceparent, occurred_at)
      values (${tenantId}, ${id}, ${type}, ${subject}, ${sql.jsonb(data)}, ${actorId}, ${requestId},
              ${own ?? event.traceparent ?? null}, ${at})
    )
    insert into outbox (tenant_id, id, queue, payload, created_at)
    values (${tenantId}, ${id}, 'event-fanout', ${sql.jsonb({ ...message })}, ${at})`)
  wakeRelays(tx)
  return id
}

/**
 * The same for any number of events of one type and cause, in a few statements, so that a request that changes many
 * objects stays fast. `each` are subjects with their data.
 */
export async function appendEvents<Type extends EventType>(
  tx: Tx,
  common: Omit<NewEvent<Type>, 'subject' | 'data'>,
  each: readonly Pick<NewEvent<Type>, 'subject' | 'data'>[],
): Promise<void> {
  const { type, tenantId, actorId, requestId } = common
  const own = currentTraceparent()
  const at = new Date(common.at).toISOString()
  const rows = each.map(({ subject, data }) => {
    const id = timeOrderedId(common.at)
    const message: Message<'event-fanout'> = { v: 1, event_id: id, request_id: requestId, traceparent: own }
    const checked = eventTypes[type].parse(data)
    noteLogged(tx, checked)
    const json = JSON.stringify(checked)
    return {
      event: [tenantId, id, type, subject, json, actorId, requestId, own ?? common.traceparent ?? null, at],
      message: [tenantId, id, 'event-fanout', JSON.stringify(message), at],
    }
  })
  for (const values of listsOfValues(rows.map(({ event }) => event)))
    tx.later(sql.unsafe`
      insert into events (tenant_id, id, type, subject, data, actor_id, request_id, traceparent, occurred_at) ${values}`)
  for (const values of listsOfValues(rows.map(({ message }) => message)))
    tx.later(sql.unsafe`insert into outbox (tenant_id, id, queue, payload, created_at) ${values}`)
  wakeRelays(tx)
}
