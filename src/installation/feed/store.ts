import { z } from 'zod'
import { skippingLocked } from '../../database/claim-rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const lockKey = 0x0bad5
const maxTenants = 1_000

/**
 * Adds the events that were numbered since the last call, of up to 1,000 tenants, to the feed over all tenants. `at` in ms
 * since 1970. As the system role.
 */
export async function extendFeed(tx: Tx, at: number): Promise<void> {
  tx.later(sql.unsafe`select pg_advisory_xact_lock(${lockKey})`)
  tx.later(sql.unsafe`
    with fresh as (
      select tenant_id, greatest(fed, deleted_up_to) as fed, last from event_sequences
      where fed < last order by tenant_id limit ${maxTenants} ${skippingLocked(tx)}
    ), entry as (
      insert into feed_entries (tenant_id, first_sequence, last_sequence, created_at)
      select tenant_id, fed + 1, last, ${instant(at)} from fresh where fed < last
    )
    update event_sequences s set fed = f.last from fresh f where s.tenant_id = f.tenant_id`)
}

const entryRow = z.object({
  tenant_id: z.uuid(),
  first_sequence: z.number(),
  last_sequence: z.number(),
  position: z.number(),
  created_at: z.number(),
})

/** A range of a tenant's events, at its position in the feed. */
export type FeedEntry = z.infer<typeof entryRow>

const entryColumns = sql.fragment`tenant_id, first_sequence, last_sequence, position, created_at`

/**
 * Up to `limit` entries of these tenants (null: of all) from a position on, that of the position included, in order. As
 * the system role.
 */
export function listFeedEntries(
  tx: Tx,
  { position, tenantIds, limit }: { position: number; tenantIds: readonly string[] | null; limit: number },
): Promise<readonly FeedEntry[]> {
  const tenants = tenantIds && sql.array(tenantIds, 'uuid')
  return tx.any(sql.type(entryRow)`
    select ${entryColumns} from feed_entries
    where position >= ${position} and (${tenants}::uuid[] is null or tenant_id = any(${tenants}))
    order by position limit ${limit}`)
}

/** The last entry of the feed, or null. As the system role. */
export function findLastEntry(tx: Tx): Promise<FeedEntry | null> {
  return tx.maybeOne(sql.type(entryRow)`
    select ${entryColumns} from feed_entries order by position desc limit 1`)
}

/** Deletes up to `limit` entries that were made before `before` (ms since 1970): their events are gone. As the worker role. */
export async function deleteFeedEntriesBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from feed_entries where (tenant_id, first_sequence) in (
      select tenant_id, first_sequence from feed_entries where created_at < ${instant(before)}
      order by created_at limit ${limit})`)
  return rowCount
}
