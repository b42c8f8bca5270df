import pg from 'pg'

/**
 * Copies a row of the tenant `count` times. `changes` are SQL expressions by column, over `n` (1, 2, …) and the row `t`;
 * each copy gets a random id. Triggers and foreign keys do not run, so copies can belong to tenants that do not exist.
 */
export async function multiply(
  client: pg.Client,
  table: string,
  { tenantId, count, changes }: { tenantId: string; count: number; changes: Record<string, string> },
): Promise<void> {
  const columns = await writableColumns(client, table)
  const all: Record<string, string> = {
    ...(columns.includes('id') && { id: 'gen_random_uuid()' }),
    ...changes,
  }
  const values = columns.map((column) => all[column] ?? `t.${column}`)
  const { rowCount } = await client.query(
    `insert into ${table} (${columns.join(', ')})
     select ${values.join(', ')} from (select * from ${table} where tenant_id = $1 limit 1) t, generate_series(1, $2::int) n`,
    [tenantId, count],
  )
  if (!rowCount) throw new Error(`${table} has no row of the tenant to copy`)
}

async function writableColumns(client: pg.Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname::text as name from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  )
  return rows.map(({ name }) => name)
}

/** Runs `work` as superuser on one connection, with triggers and foreign keys off. */
export async function withoutTriggers(
  url: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('set session_replication_role = replica')
    await work(client)
  } finally {
    await client.end()
  }
}
