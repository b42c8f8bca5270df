import pg from 'pg'

const lockKey = 0x0bad3

/**
 * Lets one process at a time do `work` on a database, whichever machine it runs on; the others wait, a minute at most.
 * The lock is a transaction's: a pooler would keep a session, and its lock, when we are gone.
 */
export async function withAdvisoryLock<T>(url: string, work: () => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bailiwick-cli-turn' })
  client.on('error', () => undefined) // lost on the way: the work has connections of its own, and tells
  await client.connect()
  try {
    await client.query("begin; set local lock_timeout = '60s'")
    await client.query('select pg_advisory_xact_lock($1)', [lockKey])
    return await work()
  } finally {
    await client.end()
  }
}
