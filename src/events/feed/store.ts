import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { type EventRow, eventColumns, eventRow } from '../envelope.ts'

const deletedUpTo = z.object({ deleted_up_to: z.number() })
const withEvent = eventRow.extend(deletedUpTo.shape)
// Without events, a single row holds `deleted_up_to`.
const row = z.union([withEvent, deletedUpTo.extend({ id: z.null() })])

/** Events of the feed and, read at the same moment, the highest sequence that is no longer kept (0: none). */
export interface FeedPage {
  events: readonly EventRow[]
  deletedUpTo: number
}

/**
 * Up to `limit` events of the tenant with a sequence above `after` (null: from the oldest that is kept; `newest`: the
 * last `limit - 1` events), in order. One statement, because events could be deleted between two.
 */
export async function listEventsAfter(
  read: Read,
  tenantId: string,
  after: number | 'newest' | null,
  limit: number,
): Promise<FeedPage> {
  const lastBefore =
    after === 'newest'
      ? sql.fragment`greatest(d.deleted_up_to, coalesce((
          select sequence from events where tenant_id = ${tenantId} and sequence is not null
          order by sequence desc limit 1), 0) - ${limit - 1}::bigint)`
      : sql.fragment`coalesce(${after}, d.deleted_up_to)`
  // The position is a column of its own: compared with an expression, the index on sequence would only be walked.
  const rows = await read.any(sql.type(row)`
    with k as materialized (
      select d.deleted_up_to, ${lastBefore} as above
      from (select coalesce((select deleted_up_to from event_sequences where tenant_id = ${tenantId}), 0) as deleted_up_to) d)
    select k.deleted_up_to, ${eventColumns}
    from k left join lateral (
      select * from events where tenant_id = ${tenantId} and sequence > k.above
      order by sequence limit ${limit}) e on true`)
  const events = rows.filter((row): row is z.infer<typeof withEvent> => row.id !== null)
  return {
    // The join happens to keep the order, but SQL does not guarantee it.
    events: events.toSorted((one, other) => (one.sequence ?? 0) - (other.sequence ?? 0)),
    deletedUpTo: rows[0]?.deleted_up_to ?? 0,
  }
}

/** One event of the tenant, or null. */
export function findEvent(tx: Read, tenantId: string, id: string): Promise<EventRow | null> {
  return tx.maybeOne(sql.type(eventRow)`
    select ${eventColumns} from events e where e.tenant_id = ${tenantId} and e.id = ${id}`)
}
