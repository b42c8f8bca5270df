import { z } from 'zod'
import type { Read } from './read.ts'
import { sql } from './transaction.ts'

/** The tenant's number of rows in a table of `countedTables`, from the counter that triggers maintain. */
export async function countRows(tx: Read, tenantId: string, relation: string): Promise<number> {
  const count = await tx.maybeOneFirst(sql.type(z.object({ rows: z.number() }))`
    select rows from row_counts where tenant_id = ${tenantId} and relation = ${relation}`)
  return count ?? 0
}
