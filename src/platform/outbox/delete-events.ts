import { z } from 'zod'
import { sql, type Tx } from '../db/transaction.ts'
import { earliestId } from './time-ordered-id.ts'

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
