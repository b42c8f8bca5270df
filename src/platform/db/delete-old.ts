import type { FragmentSqlToken } from 'slonik'
import { sql, type Tx } from './transaction.ts'

/**
 * Deletes rows of a tenant table whose `column` is below `limit`, oldest first in each tenant and at most `most` in
 * all; gives how many. It asks tenant by tenant, so that an index on (tenant_id, column) serves a table of any length.
 */
export async function deleteOld(
  tx: Tx,
  { table, column, limit }: { table: string; column: string; limit: FragmentSqlToken },
  most: number,
): Promise<number> {
  const [name, age] = [sql.identifier([table]), sql.identifier([column])]
  const { rowCount } = await tx.query(sql.unsafe`
    delete from ${name} where (tenant_id, id) in (
      select old.tenant_id, old.id from tenants t cross join lateral (
        select tenant_id, id from ${name} r
        where r.tenant_id = t.id and r.${age} < ${limit} order by r.${age} limit ${most}) old
      limit ${most})`)
  return rowCount
}
