import type { FragmentSqlToken } from 'slonik'
import { sql, type Tx } from './executor/transaction.ts'

/**
 * The ids of all tenants, as `id`, to join with rows of each. A tenant's count of members is on the tenant's shard, so Citus
 * can join it there. It cannot join `tenants`, a reference table, with a subquery that has a limit.
 */
export const everyTenant = (tx: Tx): FragmentSqlToken =>
  tx.distributed
    ? sql.fragment`(select tenant_id as id from row_counts where relation = 'memberships')`
    : sql.fragment`tenants`

/**
 * Deletes up to `limit` rows of a tenant table whose `column` is below `before`, oldest first within each tenant; gives
 * how many. It reads tenant by tenant, so that an index on (tenant_id, column) serves a table of any size.
 */
export async function deleteOld(
  tx: Tx,
  { table, column, before }: { table: string; column: string; before: FragmentSqlToken },
  limit: number,
): Promise<number> {
  const [name, age] = [sql.identifier([table]), sql.identifier([column])]
  const { rowCount } = await tx.query(sql.unsafe`
    delete from ${name} where (tenant_id, id) in (
      select old.tenant_id, old.id from ${everyTenant(tx)} t cross join lateral (
        select tenant_id, id from ${name} r
        where r.tenant_id = t.id and r.${age} < ${before} order by r.${age} limit ${limit}) old
      limit ${limit})`)
  return rowCount
}
