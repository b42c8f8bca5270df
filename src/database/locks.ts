import type { FragmentSqlToken } from 'slonik'
import { sql, type Tx } from './executor/transaction.ts'

// Changes of one person or of one tenant wait for each other. On one Postgres the lock of the row in `users` or `tenants` sees to that:
// an update takes it by itself, a foreign key that names the row shares it, a select says `for …`.
//
// On a cluster every node has a copy of these rows, and Citus locks the whole table for each lock of a row: sign-ins of different people
// would wait for one another, and two locks `for share` are a deadlock. There a lock of the coordinator, by the id of the row, takes
// their place. It comes before the statement, which so reads in a snapshot behind the lock.
//
// A transaction that needs both kinds says willChange first: two that share a lock and want more are a deadlock. Without a lock are
// rows that no other transaction sees (`insertUsers`) or changes (`deletePurged`), and `forgetPastAddresses`, which
// changes columns of many people that no other statement reads first.

/**
 * Call it before a statement that changes the row of a person or a tenant by its id, or inserts one by its address or slug: no two
 * transactions do that at the same time.
 */
export function willChange(tx: Tx, id: string): void {
  if (tx.distributed) tx.later(sql.unsafe`select pg_advisory_xact_lock(hashtextextended(${id}, 89))`)
}

/** Call it before a statement that inserts a row which names a person: nothing changes or deletes the person meanwhile. */
export function willName(tx: Tx, id: string): void {
  if (tx.distributed) tx.later(sql.unsafe`select pg_advisory_xact_lock_shared(hashtextextended(${id}, 89))`)
}

const clauses = {
  update: sql.fragment`for update`,
  'no key update': sql.fragment`for no key update`,
  share: sql.fragment`for share`,
}

/** The clause at the end of a select by which it locks the row that it reads, of the person or tenant with this id. */
export function lock(tx: Tx, id: string, how: keyof typeof clauses): FragmentSqlToken {
  if (!tx.distributed) return clauses[how]
  if (how === 'share') willName(tx, id)
  else willChange(tx, id)
  return sql.fragment``
}
