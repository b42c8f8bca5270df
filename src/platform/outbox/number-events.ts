import { sql, type Tx } from '../db/transaction.ts'

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
