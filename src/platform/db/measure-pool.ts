import type { DatabasePool } from 'slonik'
import type { Metrics } from '../metrics/metrics.ts'
import type { Sample } from '../metrics/read-sources.ts'
import { openPool, type PoolLoad, type PoolOptions } from './pool.ts'
import { openReadPool, type ReadPool } from './read-pool.ts'

/** Where a pool is counted, and under which name. */
interface Counted {
  name: string
  metrics: Metrics
}

/** Opens a pool whose load, waits and retries are counted. */
export async function openMeasuredPool(
  url: string,
  options: PoolOptions,
  { name, metrics }: Counted,
): Promise<DatabasePool> {
  const pool = await openPool(url, options)
  metrics.sample(() => poolSamples(name, options.size, loadOf(pool)))
  return Object.assign(Object.create(pool), { transaction: countedTransaction(pool, { name, metrics }) })
}

/** The same for reads of one statement. */
export function openMeasuredReadPool(
  url: string,
  options: PoolOptions,
  { name, metrics }: Counted,
): ReadPool {
  const waited = (seconds: number) => metrics.connectionWaited(name, seconds)
  const pool = openReadPool(url, { ...options, waited })
  metrics.sample(() => poolSamples(name, options.size, pool.load()))
  return pool
}

/** Slonik runs the work again, on the same connection, after a serialization failure. */
const countedTransaction =
  (pool: DatabasePool, { name, metrics }: Counted): DatabasePool['transaction'] =>
  (work, retryLimit) => {
    const asked = performance.now()
    let runs = 0
    return pool.transaction((tx) => {
      if (runs++ === 0) metrics.connectionWaited(name, (performance.now() - asked) / 1_000)
      else metrics.transactionRetried(name)
      return work(tx)
    }, retryLimit)
  }

/** What slonik says of a pool, in our words. */
function loadOf(pool: DatabasePool): PoolLoad {
  const { acquiredConnections, idleConnections, pendingConnections, waitingClients } = pool.state()
  return {
    busy: acquiredConnections,
    idle: idleConnections,
    connecting: pendingConnections,
    waiting: waitingClients,
  }
}

function poolSamples(pool: string, most: number, { waiting, ...connections }: PoolLoad): Sample[] {
  return [
    { gauge: 'dbConnectionsMax', labels: { pool }, value: most },
    { gauge: 'dbWaiting', labels: { pool }, value: waiting },
    ...Object.entries(connections).map(
      ([state, value]) => ({ gauge: 'dbConnections', labels: { pool, state }, value }) as const,
    ),
  ]
}
