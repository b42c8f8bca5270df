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
  const client = await openConnection(url, applicationName)
  return work(client).finally(() => client.end())
}

/** A connection, which the caller ends. Rejects if Postgres does not answer within 5 s. */
export async function openConnection(url: string, applicationName: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
  })
  client.on('error', () => undefined) // a lost connection also fails the query
  await client.connect().catch(async (error) => {
    await client.end()
    throw error
  })
  return client
}
