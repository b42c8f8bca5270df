import type { DatabasePool } from 'slonik'
import type { Metrics } from '../metrics/metrics.ts'
import type { Sample } from '../metrics/read-sources.ts'
import { openPool, type PoolLoad, type PoolOptions } from './pool.ts'
import { openReadPool, type ReadPool } from './read-pool.ts'

/** The metrics that count a pool, and its name there. */
interface Counted {
  name: string
  metrics: Metrics
}

/** Opens a pool, and measures its load, waits and retries. */
export async function openMeasuredPool(
  url: string,
  options: PoolOptions,
  { name, metrics }: Counted,
): Promise<DatabasePool> {
  const pool = await openPool(url, options)
  metrics.sample(() => poolSamples(name, options.size, loadOf(pool)))
  return Object.assign(Object.create(pool), { transaction: countedTransaction(pool, { name, metrics }) })
}

/** Opens a pool for reads of one statement, and measures its load and waits. */
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

/** After a serialization failure slonik runs the work again on the same connection. */
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

function loadOf(pool: DatabasePool): PoolLoad {
  const { acquiredConnections, idleConnections, pendingConnections, waitingClients } = pool.state()
  return {
    busy: acquiredConnections,
    idle: idleConnections,
    connecting: pendingConnections,
    waiting: waitingClients,
  }
}

function poolSamples(pool: string, max: number, { waiting, ...connections }: PoolLoad): Sample[] {
  return [
    { gauge: 'dbConnectionsMax', labels: { pool }, value: max },
    { gauge: 'dbWaiting', labels: { pool }, value: waiting },
    ...Object.entries(connections).map(
      ([state, value]) => ({ gauge: 'dbConnections', labels: { pool, state }, value }) as const,
    ),
  ]
}
