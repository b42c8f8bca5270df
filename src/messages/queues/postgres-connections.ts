import { createPostgresBackend, withBackend } from 'bullmq'
import pg from 'pg'
import { connectionName } from '../../database/migrate/running-releases.ts'
import type { Connections, JobData } from './queue-backend.ts'

const backend = withBackend(createPostgresBackend)
const publishing = 3
// One of these connections waits in LISTEN.
const consuming = 4

/**
 * Queues on Postgres. BullMQ never recovers from a failed first connection, so queue and worker are returned once they
 * are ready. The promise rejects when Postgres is unavailable.
 */
export function postgresConnections(url: string, onError: (error: Error) => void): Connections {
  const pools: pg.Pool[] = []
  const openPool = (max: number) => {
    const pool = new pg.Pool({
      connectionString: url,
      max,
      options: '-c search_path=bullmq',
      application_name: connectionName('queues'),
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: 0,
    })
    pool.setMaxListeners(0)
    // The pool does not listen to a client that is checked out, and an error without a listener ends the process.
    pool.on('connect', (client) => client.on('error', onError))
    pools.push(pool)
    return pool as never
  }
  let shared: never | undefined
  return {
    async openQueue(name) {
      shared ??= openPool(publishing)
      const queue = new backend.Queue<JobData>(name, { connection: shared! })
      queue.on('error', onError)
      await queue.waitUntilReady()
      return queue as never
    },
    async openWorker(name, work, options) {
      const worker = new backend.Worker<JobData>(name, work as never, {
        ...options,
        connection: openPool(consuming),
        autorun: false,
      })
      worker.on('error', onError)
      await worker.waitUntilReady()
      worker.run().catch(onError)
      return worker as never
    },
    isReachable: () => true, // pools stop connecting after 5 s
    async close() {
      await Promise.allSettled(pools.map((pool) => pool.end()))
    },
  }
}
