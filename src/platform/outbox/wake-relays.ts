import { sql, type Tx } from '../db/transaction.ts'

const woken = new WeakSet<Tx>()

/**
 * Wakes the relays, which LISTEN, when the transaction commits. Each function that inserts into the outbox calls it; the
 * first call sends the notification. No trigger does it, because a distributed table cannot have one.
 */
export function wakeRelays(tx: Tx): void {
  if (woken.has(tx)) return
  woken.add(tx)
  tx.later(sql.unsafe`notify outbox`)
}
