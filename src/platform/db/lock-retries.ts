import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { sqlState } from './database-errors.ts'

/** How long a migration waits for locks; `waiting` hears a line each time that one was not to be had. */
export interface LockRetries {
  onWait?: (line: string) => void
  /** ms in all before it gives up */
  maxWaitMs?: number
}

// Whoever waits for a lock on a table stops all who come after. Requests wait 3 s for a lock before they answer 503,
// so that one wait of a migration costs them time and no answer. And it ends before Postgres, after 1 s, looks for
// deadlocks and ends a request in place of the migration.
const lockTimeoutMs = 500
const longestPauseMs = 5_000
const defaultMaxWaitMs = 600_000

/** Whether a statement ended because a lock was not to be had, and may be repeated from its transaction's beginning. */
export const isLockFailure = (error: unknown) => ['55P03', '40P01'].includes(sqlState(error))

/**
 * Does `work`, whose statements wait half a second for each lock, again and again after growing pauses in which the
 * service goes on, until every lock is had. `work` is all or nothing. Throws once patience is over, saying what to
 * look for.
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
        throw new Error(`${what} changed nothing: a lock was not to be had. ${advice}`, { cause: error })
      onWait(`${what} waits for a lock that another transaction holds, and tries again. ${advice}`)
      await sleep(pause)
    }
  }
  await client.query('reset lock_timeout')
}

const advice = 'Long transactions: select pid, xact_start, query from pg_stat_activity order by xact_start'
