import type { Logger } from 'pino'
import { describeError } from '../../observe/describe-error.ts'
import type { Pool } from './pool.ts'

/**
 * Opens all `size` connections of a pool, one after the other. Never rejects: it logs a warning, and what cannot be opened
 * now is opened by the first request that needs it. A new connection takes a hash in the threads that also hash passwords, so on a busy machine a
 * process whose pools are empty would answer its first requests with 503.
 */
export async function openConnections(pool: Pool, size: number, log: Logger): Promise<void> {
  // Each connection is held until the last one is open. Otherwise the pool would give the same connection each time.
  // The last one is left to reads.
  const open = (left: number): Promise<void> =>
    left > 1 ? pool.forTransaction(() => open(left - 1)) : pool.ping()
  await open(size).catch((error) =>
    log.warn({ error: describeError(error) }, 'not all connections to Postgres could be opened at the start'),
  )
}
