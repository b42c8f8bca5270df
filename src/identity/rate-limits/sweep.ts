import type { Logger } from 'pino'
import { asSystem, type Databases } from '../../platform/db/transaction.ts'
import { forgetPastAddresses } from '../users/address-store.ts'
import { forgetOld } from './store.ts'

const everyMs = 10 * 60_000

/** Deletes counters and windows that limit nobody any more, and old addresses to which no codes go any more, every ten minutes; gives what ends it. */
export function sweepGuards(db: Pick<Databases, 'system'>, clock: () => number, log: Logger): () => void {
  const sweep = () =>
    asSystem(db, 'counters belong to no tenant', async (tx) => {
      await forgetOld(tx, clock())
      await forgetPastAddresses(tx, clock())
    })
  const timer = setInterval(() => {
    sweep().catch((error) => log.warn({ err: error }, 'old counters could not be deleted'))
  }, everyMs).unref()
  return () => clearInterval(timer)
}
