import { setTimeout as sleep } from 'node:timers/promises'
import { workerNodes } from './citus.ts'
import { withClient } from './query.ts'

// On a cluster the lock that a statement waits for can be one of a node.
const alsoOnNodes = 'or pid in (select citus_pid_for_gpid(waiting_gpid) from citus_lock_waits)'

const waits = `select query from pg_stat_activity
  where datname = current_database() and (wait_event_type = 'Lock' ${workerNodes.length > 0 ? alsoOnNodes : ''})`

/**
 * Returns when each of the calls waits for a lock of the database, whose superuser's address `url` is. Throws when one ends before.
 * Only statements that match `about` count.
 */
export function untilLocked(url: string, calls: readonly Promise<unknown>[], about = /(?:)/): Promise<void> {
  const ended = Promise.race(calls).then(
    () => true,
    () => true,
  )
  return withClient(url, async (client) => {
    const waiting = async () =>
      (await client.query(waits)).rows.filter(({ query }) => about.test(query)).length
    while ((await waiting()) < calls.length)
      if (await Promise.race([ended, sleep(20)]))
        throw new Error('A call ended instead of waiting for a lock')
  })
}
