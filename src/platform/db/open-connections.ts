import type { Pool } from './pool.ts'

/**
 * Opens all `size` connections of a pool, one after the other. Rejects when one cannot be opened; the first request that
 * needs it tries again. A new connection takes a hash in the threads that also hash passwords, so on a busy machine a
 * process whose pools are empty would answer its first requests with 503.
 */
export function openConnections(pool: Pool, size: number): Promise<void> {
  // Each connection is held until the last one is open. Otherwise the pool would give the same connection each time.
  // The last one is left to reads.
  return size > 1 ? pool.forTransaction(() => openConnections(pool, size - 1)) : pool.ping()
}
