import { z } from 'zod'
import { everyTenant } from '../../database/delete-old.ts'
import { countRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { ofTenants } from '../../database/of-tenants.ts'
import type { MessageKey } from '../queues/queued-message.ts'
import { earliestId } from './time-ordered-id.ts'

/** The newest event of a tenant among those that are about to be enqueued. */
export interface Newest {
  tenantId: string
  eventId: string
}

/**
 * Numbers every committed event of each tenant up to `newest`: gapless from 1, in the order of ids.
 *
 * A relay first locks the counters of its tenants, in the same order as all relays. It reads the events afterwards, in
 * a statement of its own, whose snapshot therefore contains the numbers of the relay before it. It also numbers older
 * events that another relay has claimed but not numbered yet; otherwise they would get higher numbers. An event whose
 * transaction commits after a younger one gets a later number, too, so readers of the feed never miss a number.
 */
export async function numberEvents(tx: Tx, newest: Newest[]): Promise<void> {
  if (newest.length === 0) return
  const rows = newest.map(({ tenantId, eventId }) => [tenantId, eventId])
  const ofEvents = ofTenants(tx, sql.fragment`e.tenant_id`, newest)
  const ofCounters = ofTenants(tx, sql.fragment`s.tenant_id`, newest)
  for (const values of listsOfValues(newest.map(({ tenantId }) => [tenantId, 0]).sort()))
    tx.later(sql.unsafe`
      insert into event_sequences as s (tenant_id, last) ${values}
      on conflict (tenant_id) do update set last = s.last`)
  tx.later(sql.unsafe`
    with fresh as (
      select e.tenant_id, e.id, row_number() over (partition by e.tenant_id order by e.id) as place
      from ${sql.unnest(rows, ['uuid', 'uuid'])} as n (tenant_id, event_id)
      join events e on e.tenant_id = n.tenant_id and e.id <= n.event_id
      where e.sequence is null ${ofEvents}
    ), numbered as (
      update events e set sequence = s.last + f.place
      from fresh f join event_sequences s on s.tenant_id = f.tenant_id
      where e.tenant_id = f.tenant_id and e.id = f.id ${ofEvents} ${ofCounters}
      returning e.tenant_id
    )
    update event_sequences s set last = s.last + n.count
    from (select tenant_id, count(*) as count from numbered group by tenant_id) n
    where s.tenant_id = n.tenant_id ${ofCounters}`)
}

const event = z.object({
  tenant_id: z.string(),
  id: z.string(),
  type: z.string(),
  sequence: z.coerce.number().nullable(),
  request_id: z.string(),
})

/** The events of these messages, with their sequence. A message has the id of its event. */
export function listEventsOf(tx: Tx, messages: MessageKey[]): Promise<readonly z.output<typeof event>[]> {
  return tx.any(sql.type(event)`
    select e.tenant_id, e.id, e.type, e.sequence, e.request_id
    from ${sql.unnest(
      messages.map(({ tenantId, id }) => [tenantId, id]),
      ['uuid', 'uuid'],
    )} as m (tenant_id, id)
    join events e on e.tenant_id = m.tenant_id and e.id = m.id ${ofTenants(tx, sql.fragment`e.tenant_id`, messages)}`)
}

/**
 * Deletes up to `limit` numbered events from before `before` (ms since 1970), and records the highest sequence that
 * each tenant lost; gives how many. It finds them by the primary key, because an id contains the time. As the worker
 * role.
 */
export function deleteEventsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    with old as (
      select o.tenant_id, o.id from ${everyTenant(tx)} t cross join lateral (
        select tenant_id, id from events e
        where e.tenant_id = t.id and e.id < ${earliestId(before)} and e.sequence is not null
        order by e.id limit ${limit}) o
      limit ${limit}
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
