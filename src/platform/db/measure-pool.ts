import type { DatabasePool } from 'slonik'
import type { Metrics } from '../metrics/metrics.ts'
import type { Sample } from '../metrics/read-sources.ts'

/** What a pool has at the moment. */
export interface PoolLoad {
  busy: number
  idle: number
  connecting: number
  /** Callers that wait for a connection. */
  waiting: number
}

/** The same pool, with transactions whose wait for a connection, and whose retries, are told under `name`. */
export function measurePool(pool: DatabasePool, name: string, metrics: Metrics): DatabasePool {
  const transaction: DatabasePool['transaction'] = (work, retryLimit) => {
    const asked = performance.now()
    let runs = 0
    return pool.transaction((tx) => {
      // Slonik runs the work again, on the same connection, after a serialization failure.
      if (runs++ === 0) metrics.connectionWaited(name, (performance.now() - asked) / 1_000)
      else metrics.transactionRetried(name)
      return work(tx)
    }, retryLimit)
  }
  return Object.assign(Object.create(pool), { transaction })
}

/** What slonik says of a pool, in our words. */
export function loadOf(pool: DatabasePool): PoolLoad {
  const { acquiredConnections, idleConnections, pendingConnections, waitingClients } = pool.state()
  return {
    busy: acquiredConnections,
    idle: idleConnections,
    connecting: pendingConnections,
    waiting: waitingClients,
  }
}

/** A pool of `most` connections in figures. */
export function poolSamples(pool: string, most: number, { waiting, ...connections }: PoolLoad): Sample[] {
  return [
    { gauge: 'dbConnectionsMax', labels: { pool }, value: most },
    { gauge: 'dbWaiting', labels: { pool }, value: waiting },
    ...Object.entries(connections).map(
      ([state, value]) => ({ gauge: 'dbConnections', labels: { pool, state }, value }) as const,
    ),
  ]
}
