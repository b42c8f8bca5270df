import pg from 'pg'

/**
 * Runs `work` on a connection of its own, and ends it: for what needs no pool, or another role than those of the service.
 * Rejects if Postgres does not answer within 5 s.
 */
export async function withConnection<T>(
  url: string,
  applicationName: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => undefined) // a lost connection also fails the query
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end()
  }
}
