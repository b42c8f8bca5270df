import pg from 'pg'

type Row = pg.QueryResultRow

/** Runs `work` on a connection of its own. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined) // a test may stop the server; the query under way fails by itself
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

const pools = new Map<string, pg.Pool>()

/** Connections that are kept until the database is dropped: to connect takes longer than most statements. */
function keptConnections(url: string): pg.Pool {
  let pool = pools.get(url)
  if (!pool) {
    pool = new pg.Pool({ connectionString: url, allowExitOnIdle: true })
    pool.on('error', () => undefined) // the database was dropped, or its server stopped
    pools.set(url, pool)
  }
  return pool
}

/** Runs one statement on a kept connection and gives its rows. A statement must leave no setting behind. */
export const rowsOf = async (url: string, statement: string, values?: unknown[]) =>
  (await keptConnections(url).query(statement, values)).rows

/** Runs `work` on a kept connection. It must leave no setting, lock or transaction behind. */
export async function withKeptClient(
  url: string,
  work: (client: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const client = await keptConnections(url).connect()
  let failed = true
  try {
    await work(client)
    failed = false
  } finally {
    client.release(failed)
  }
}

/** Runs statements on one connection; gives the rows of the last one. */
export const query = (url: string, ...statements: readonly string[]): Promise<Row[]> =>
  withClient(url, async (client) => {
    let rows: Row[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  })

/** Ends memberships by SQL, all of a person or that of one tenant, and counts it as the service does. */
export async function deleteMemberships(
  client: pg.Client,
  userId: string,
  tenantId: string | null = null,
): Promise<void> {
  await client.query(
    `with gone as (delete from memberships where user_id = $1 and ($2::uuid is null or tenant_id = $2) returning tenant_id)
     update row_counts c set rows = rows - 1 from gone where c.tenant_id = gone.tenant_id and relation = 'memberships'`,
    [userId, tenantId],
  )
}
