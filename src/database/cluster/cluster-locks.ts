import type { FragmentSqlToken } from 'slonik'
import { sql, type Tx } from '../executor/transaction.ts'

// Row locks of tables that every node of a cluster has. There Citus takes a lock of the whole table for each row, so that sign-ins of
// different people wait for one another, and two locks `for share` are a deadlock. A lock of the coordinator, by the id of the row,
// takes the place of these: the statements below lock first and read afterwards, in a snapshot behind the lock.

/** The clause that locks rows of a table which every node of a cluster has; none on a cluster, see {@link lockOnCluster}. */
export const rowLock = (tx: Tx, how: 'update' | 'no key update' | 'share'): FragmentSqlToken =>
  tx.distributed ? sql.fragment`` : clauses[how]

const clauses = {
  update: sql.fragment`for update`,
  'no key update': sql.fragment`for no key update`,
  share: sql.fragment`for share`,
}

/**
 * On a cluster, locks what has this id, address or slug until the transaction ends; on one Postgres it does nothing. `shared`
 * locks exclude only others. Take it before a statement that changes or locks a row of `users` or `tenants` by its id. A transaction
 * that needs both kinds takes the other kind first: two that hold a shared lock and want more are a deadlock. Without it are rows
 * that no other transaction sees (`insertVerifiedUsers`) or changes (`deletePurged`), and `forgetPastAddresses`, which changes
 * columns of many people that no other statement reads first.
 */
export function lockOnCluster(tx: Tx, id: string, { shared = false } = {}): void {
  if (!tx.distributed) return
  if (shared) tx.later(sql.unsafe`select pg_advisory_xact_lock_shared(hashtextextended(${id}, 89))`)
  else tx.later(sql.unsafe`select pg_advisory_xact_lock(hashtextextended(${id}, 89))`)
}
