import type { Client } from 'pg'
import { type CountedTable, countedTables } from '../database/count-rows.ts'

const maxTenants = 100
const maxMs = 5_000

/** A counter of row_counts that differs from the rows of its table. */
interface Drift {
  tenant_id: string
  relation: CountedTable
  counted: number
  real: number
}

/** The ids of up to 100 tenants, chosen at random so that a repeated check reaches all. As the system role. */
export async function chooseTenants(client: Client): Promise<string[]> {
  const { rows } = await client.query(
    'select id from tenants where deleted_at is null order by random() limit $1',
    [maxTenants],
  )
  return rows.map(({ id }) => id)
}

/** Compares the counters of tenants with their rows, and begins with no other tenant after 5 s. As the API role. */
export async function findDrifts(client: Client, tenantIds: readonly string[]) {
  const end = performance.now() + maxMs
  const drifts: Drift[] = []
  let compared = 0
  for (const tenantId of tenantIds) {
    if (performance.now() > end) break
    await client.query('begin read only')
    await client.query("select set_config('app.tenant_id', $1, true)", [tenantId])
    // One statement, so that counters and rows are of the same moment.
    const { rows } = await client.query<Drift>(compare, [tenantId])
    await client.query('commit')
    drifts.push(...rows.filter(({ counted, real }) => counted !== real))
    compared++
  }
  return { compared, drifts }
}

const compare = countedTables
  .map(
    (name) => `select $1::uuid as tenant_id, '${name}' as relation,
      coalesce((select rows from row_counts where tenant_id = $1 and relation = '${name}'), 0)::int as counted,
      (select count(*) from ${name} where tenant_id = $1)::int as real`,
  )
  .join(' union all ')

/**
 * The statement that repairs counters while the service runs. The insert locks the counter: a transaction that
 * inserted rows and has not counted them waits, and then adds them.
 */
export const repairOf = (drifts: readonly Drift[]): string =>
  `do $$ begin ${drifts
    .map(
      ({ tenant_id, relation }) => `\
insert into row_counts as c (tenant_id, relation, rows) values ('${tenant_id}', '${relation}', 0) \
on conflict (tenant_id, relation) do update set rows = c.rows; \
update row_counts set rows = (select count(*) from ${relation} where tenant_id = '${tenant_id}') \
where tenant_id = '${tenant_id}' and relation = '${relation}';`,
    )
    .join(' ')} end $$`
