import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { sqlState } from './database-errors.ts'

/** How long a migration tries to get its locks. `onWait` gets a line for the operator after each failed try. */
export interface LockRetries {
  onWait?: (line: string) => void
  /** Total ms before it gives up */
  maxWaitMs?: number
}

// A statement that waits for a lock on a table blocks all later statements on it. Requests wait 3 s for a lock before
// they answer 503, so a short wait of a migration delays them but fails none. It is also shorter than the 1 s after
// which Postgres looks for deadlocks and could end a request instead of the migration.
const lockTimeoutMs = 500
const longestPauseMs = 5_000
const defaultMaxWaitMs = 600_000

/** True when a statement failed to get a lock, so its transaction can be repeated. */
export const isLockFailure = (error: unknown) => ['55P03', '40P01'].includes(sqlState(error))

/**
 * Runs `work` until it gets all its locks. Each statement waits half a second for a lock; after a failure `work` is
 * repeated, with growing pauses in which the service continues. `work` must be all or nothing. Throws after
 * `maxWaitMs`, with advice for the operator.
 */
export async function withLockRetries(
  client: pg.ClientBase,
  what: string,
  work: () => Promise<unknown>,
  { onWait = () => undefined, maxWaitMs = defaultMaxWaitMs }: LockRetries,
): Promise<void> {
  await client.query(`set lock_timeout = ${lockTimeoutMs}`)
  const end = performance.now() + maxWaitMs
  for (let pause = 250; ; pause = Math.min(pause * 2, longestPauseMs)) {
    try {
      await work()
      break
    } catch (error) {
      if (!isLockFailure(error)) throw error
      if (performance.now() + pause > end)
        throw new Error(`${what} changed nothing, because it could not get a lock. ${advice}`, {
          cause: error,
        })
      onWait(`${what} waits for a lock that another transaction holds, and tries again. ${advice}`)
      await sleep(pause)
    }
  }
  await client.query('reset lock_timeout')
}

const advice = 'Long transactions: select pid, xact_start, query from pg_stat_activity order by xact_start'
