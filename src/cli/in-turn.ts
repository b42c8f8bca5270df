import pg from 'pg'

const lockKey = 0x0bad3

/** Lets one process at a time do `work` on a database, whichever machine it runs on; the others wait. */
export async function inTurn<T>(url: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bailiwick-cli-turn' })
  client.on('error', () => undefined) // lost on the way: the work has connections of its own, and tells
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey])
    return await work()
  } finally {
    await client.end()
  }
}
