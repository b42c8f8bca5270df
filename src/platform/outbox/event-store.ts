import { z } from 'zod'
import { sql, type Tx } from '../db/transaction.ts'
import type { Delivery } from './acknowledge.ts'
import { earliestId } from './time-ordered-id.ts'

/** The newest event of a tenant that is about to be enqueued. */
export interface Newest {
  tenantId: string
  eventId: string
}

/**
 * Gives every committed event up to `newest` of each tenant its sequence: gapless from 1, in the order of ids.
 *
 * A relay first locks the counters of its tenants, in one order for all relays, and looks for events afterwards,
 * in a statement of its own whose snapshot therefore holds what the relay before it numbered. It numbers also older
 * events that another relay has claimed and not yet come to, else those would get the higher numbers. An event
 * whose transaction commits later than a younger one is numbered later, too: readers of the feed see no number
 * appear behind them.
 */
export async function numberEvents(tx: Tx, newest: Newest[]): Promise<void> {
  if (newest.length === 0) return
  const rows = newest.map(({ tenantId, eventId }) => [tenantId, eventId])
  await tx.query(sql.unsafe`
    insert into event_sequences as s (tenant_id, last)
    select tenant_id, 0 from ${sql.unnest(rows, ['uuid', 'uuid'])} as n (tenant_id, event_id) order by tenant_id
    on conflict (tenant_id) do update set last = s.last`)
  await tx.query(sql.unsafe`
    with fresh as (
      select e.tenant_id, e.id, row_number() over (partition by e.tenant_id order by e.id) as place
      from ${sql.unnest(rows, ['uuid', 'uuid'])} as n (tenant_id, event_id)
      join events e on e.tenant_id = n.tenant_id and e.id <= n.event_id
      where e.sequence is null
    ), numbered as (
      update events e set sequence = s.last + f.place
      from fresh f join event_sequences s on s.tenant_id = f.tenant_id
      where e.tenant_id = f.tenant_id and e.id = f.id
      returning e.tenant_id
    )
    update event_sequences s set last = s.last + n.count
    from (select tenant_id, count(*) as count from numbered group by tenant_id) n
    where s.tenant_id = n.tenant_id`)
}

const event = z.object({
  tenant_id: z.string(),
  id: z.string(),
  type: z.string(),
  sequence: z.coerce.number().nullable(),
  request_id: z.string(),
})

/** What the events of these messages are, and the place of each among its tenant's; a message has its event's id. */
export function listEventsOf(tx: Tx, messages: Delivery[]): Promise<readonly z.output<typeof event>[]> {
  return tx.any(sql.type(event)`
    select e.tenant_id, e.id, e.type, e.sequence, e.request_id
    from ${sql.unnest(
      messages.map(({ tenantId, id }) => [tenantId, id]),
      ['uuid', 'uuid'],
    )} as m (tenant_id, id)
    join events e on e.tenant_id = m.tenant_id and e.id = m.id`)
}

const deleted = z.object({ count: z.number() })

/**
 * Deletes numbered events of before `before` (ms since 1970), at most `most`, and notes the highest sequence that each
 * tenant lost; gives how many. The id says when an event happened, and the primary key finds it. As the worker role.
 */
export function deleteEventsBefore(tx: Tx, before: number, most: number): Promise<number> {
  return tx.oneFirst(sql.type(deleted)`
    with old as (
      select o.tenant_id, o.id from tenants t cross join lateral (
        select tenant_id, id from events e
        where e.tenant_id = t.id and e.id < ${earliestId(before)} and e.sequence is not null
        order by e.id limit ${most}) o
      limit ${most}
    ), gone as (
      delete from events e using old where e.tenant_id = old.tenant_id and e.id = old.id
      returning e.tenant_id, e.sequence
    ), noted as (
      update event_sequences s set deleted_up_to = greatest(s.deleted_up_to, g.last)
      from (select tenant_id, max(sequence) as last from gone group by tenant_id) g
      where s.tenant_id = g.tenant_id
    )
    select count(*) from gone`)
}
