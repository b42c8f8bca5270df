import type { Metrics } from '../../observe/metrics/metrics.ts'
import type { Sample } from '../../observe/metrics/read-sources.ts'
import { openPool, type Pool, type PoolLoad, type PoolOptions } from './pool.ts'

/** Opens a pool, and measures its load, waits and retries under a name. */
export function openMeasuredPool(
  url: string,
  options: PoolOptions,
  { name, metrics }: { name: string; metrics: Metrics },
): Pool {
  const pool = openPool(url, {
    ...options,
    waited: (seconds) => metrics.connectionWaited(name, seconds),
    retried: () => metrics.transactionRetried(name),
  })
  metrics.sample(() => poolSamples(name, options.size, pool.load()))
  return pool
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
