import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sql, type Tx } from '../executor/transaction.ts'

/**
 * `and <column> = any(<the tenants of these keys>)`, on a cluster only: a statement that joins rows of keys then asks the nodes of these
 * tenants, and not all. `column` is the tenant_id of the table.
 */
export const onNodesOf = (
  { distributed }: Pick<Tx, 'distributed'>,
  column: FragmentSqlToken,
  keys: readonly { tenantId: string }[],
): FragmentSqlToken =>
  distributed
    ? sql.fragment`and ${column} = any(${sql.array([...new Set(keys.map(({ tenantId }) => tenantId))], 'uuid')})`
    : sql.fragment``

const answer = z.object({ result: z.string() })

/**
 * Rows of a table of tenants from the shards whose nodes answer, where a statement over all shards would fail. `select` is a whole
 * statement of constants, without user input, with `%s` for the name of the shard. The rows are as JSON. Citus asks each shard on a
 * connection of its own, outside of the transaction.
 */
export async function listOnLivingNodes(tx: Tx, table: string, select: string): Promise<unknown[]> {
  const command = `select coalesce(json_agg(r), '[]') from (${select}) r`
  const answers = await tx.any(sql.type(answer)`
    select result from run_command_on_shards(${table}::regclass, ${command}) where success`)
  return answers.flatMap(({ result }) => JSON.parse(result) as unknown[])
}
