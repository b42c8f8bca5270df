import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import type { Read } from './executor/read.ts'
import { sql, type Tx } from './executor/transaction.ts'

const rowsRow = z.object({ rows: z.number() })

/** The tables whose rows are counted in row_counts. Each statement that inserts or deletes their rows counts them. */
export const countedTables = [
  'approval_requests',
  'attribute_definitions',
  'departments',
  'invitations',
  'memberships',
  'policies',
  'registered_resources',
  'roles',
  'webhooks',
] as const

export type CountedTable = (typeof countedTables)[number]

/** The tenant's number of rows in a table, from its counter. */
export async function countRows(tx: Read, tenantId: string, relation: CountedTable): Promise<number> {
  const count = await tx.maybeOneFirst(sql.type(rowsRow)`
    select rows from row_counts where tenant_id = ${tenantId} and relation = ${relation}`)
  return count ?? 0
}

/**
 * Adds `by` rows to the tenant's counter of a table, in the transaction that inserts or (negative) deletes them. No trigger
 * does it, because a distributed table cannot have one.
 */
export function addToCount(tx: Tx, tenantId: string, relation: CountedTable, by = 1): void {
  // A deleted tenant's counter can be gone before its last rows.
  if (by < 0)
    tx.later(sql.unsafe`
      update row_counts set rows = rows + ${by} where tenant_id = ${tenantId} and relation = ${relation}`)
  else
    tx.later(sql.unsafe`
    insert into row_counts as c (tenant_id, relation, rows) values (${tenantId}, ${relation}, ${by})
    on conflict (tenant_id, relation) do update set rows = c.rows + excluded.rows`)
}

/** Subtracts the rows of `gone`, a part of the statement with their tenant_id, from the counters of their tenants. */
export const subtractGone = (relation: CountedTable): FragmentSqlToken => sql.fragment`
  update row_counts c set rows = c.rows - g.count
  from (select tenant_id, count(*) as count from gone group by tenant_id) g
  where c.tenant_id = g.tenant_id and c.relation = ${relation}`

/** Deletes rows of one tenant by the statement `deletion`, and subtracts as many as there were from the table's counter. */
export function deleteCounted(
  tx: Tx,
  tenantId: string,
  relation: CountedTable,
  deletion: FragmentSqlToken,
): void {
  tx.later(sql.unsafe`
    with gone as (${deletion} returning 1)
    update row_counts set rows = rows - (select count(*) from gone)
    where tenant_id = ${tenantId} and relation = ${relation}`)
}
