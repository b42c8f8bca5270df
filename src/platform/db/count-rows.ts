import { z } from 'zod'
import { sql, type Tx } from './transaction.ts'

/** The tenant's number of rows in a table of `countedTables`, from the counter that triggers maintain. */
export async function countRows(tx: Tx, tenantId: string, relation: string): Promise<number> {
  const count = await tx.maybeOneFirst(sql.type(z.object({ rows: z.number() }))`
    select rows from row_counts where tenant_id = ${tenantId} and relation = ${relation}`)
  return count ?? 0
}
