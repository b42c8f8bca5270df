import type { Logger } from 'pino'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import { forgetPastAddresses } from '../users/address-store.ts'
import { deleteExpiredCounters } from './store.ts'

const everyMs = 10 * 60_000

/** Deletes expired counters, and past addresses that no longer get codes, every ten minutes; returns a stop function. */
export function sweepRateLimits(db: Pick<Databases, 'system'>, clock: () => number, log: Logger): () => void {
  const sweep = () =>
    asSystem(db, 'counters belong to no tenant', async (tx) => {
      await deleteExpiredCounters(tx, clock())
      await forgetPastAddresses(tx, clock())
    })
  const timer = setInterval(() => {
    sweep().catch((error) => log.warn({ err: error }, 'old counters could not be deleted'))
  }, everyMs).unref()
  return () => clearInterval(timer)
}
