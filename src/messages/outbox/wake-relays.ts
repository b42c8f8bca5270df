import { sql, type Tx } from '../../database/executor/transaction.ts'

const woken = new WeakSet<Tx>()

/**
 * Wakes the relays, which LISTEN, when the transaction has committed. Each function that inserts into the outbox calls it;
 * the first call sends the notification. Tables have no triggers (src/database/forms.md). A relay also
 * looks by itself, so a notification can be lost.
 *
 * NOTIFY comes behind the commit, because Postgres lets only one transaction with a notification commit at a time (a lock
 * in PreCommit_Notify), and each would wait for the disk alone: 4,000 commits a second on 32 connections, in place of 14,000.
 */
export function wakeRelays(tx: Tx): void {
  if (woken.has(tx)) return
  woken.add(tx)
  tx.afterCommit(sql.unsafe`notify outbox`)
}
