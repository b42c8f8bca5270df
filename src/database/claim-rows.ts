import type { FragmentSqlToken } from 'slonik'
import { lockedRow } from './executor/row-schemas.ts'
import { sql, type Tx } from './executor/transaction.ts'

/** Row locks of a claim: rows that another claim has locked are left to it. */
export const skippingLocked = (tx: Tx): FragmentSqlToken =>
  tx.distributed ? sql.fragment`` : sql.fragment`for update skip locked`

/**
 * False when another transaction claims under the same key, so that this one claims nothing. Only on a cluster: Citus
 * does not lock rows of several shards, so claims take turns there, by a lock of the coordinator. `key` names the claim
 * among the advisory locks.
 */
export async function mayClaim(tx: Tx, key: number): Promise<boolean> {
  if (!tx.distributed) return true
  return tx.oneFirst(sql.type(lockedRow)`select pg_try_advisory_xact_lock(${key}) as locked`)
}
