import { z } from 'zod'
import type { Read } from '../../platform/db/read.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { type EventRow, eventColumns, eventRow } from '../envelope.ts'

const deletedUpTo = z.object({ deleted_up_to: z.number() })
const withEvent = eventRow.extend(deletedUpTo.shape)
// Where there is no event to show, one row tells how far events were deleted.
const row = z.union([withEvent, deletedUpTo.extend({ id: z.null() })])

/** Events of the feed from one moment: which they are, and the highest sequence that is no longer kept (0: none). */
export interface FeedPage {
  events: readonly EventRow[]
  deletedUpTo: number
}

/**
 * Up to `most` events of the tenant with a sequence above `after` (null: from the oldest that is kept), in its order.
 * One statement, for between two of them events could be deleted.
 */
export async function listEventsAfter(
  read: Read,
  tenantId: string,
  after: number | null,
  most: number,
): Promise<FeedPage> {
  const rows = await read.any(sql.type(row)`
    select k.deleted_up_to, ${eventColumns}
    from (select coalesce((select deleted_up_to from event_sequences where tenant_id = ${tenantId}), 0) as deleted_up_to) k
    left join lateral (
      select * from events where tenant_id = ${tenantId} and sequence > coalesce(${after}, k.deleted_up_to)
      order by sequence limit ${most}) e on true`)
  const events = rows.filter((row): row is z.infer<typeof withEvent> => row.id !== null)
  return {
    // The join keeps their order, and nothing promises that it does.
    events: events.toSorted((one, other) => (one.sequence ?? 0) - (other.sequence ?? 0)),
    deletedUpTo: rows[0]?.deleted_up_to ?? 0,
  }
}

/** One event of the tenant, or null. */
export function findEvent(tx: Tx, tenantId: string, id: string): Promise<EventRow | null> {
  return tx.maybeOne(sql.type(eventRow)`
    select ${eventColumns} from events e where e.tenant_id = ${tenantId} and e.id = ${id}`)
}
