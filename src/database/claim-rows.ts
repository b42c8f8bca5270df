import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
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

const answer = z.object({ result: z.string() })

/**
 * Rows of a table of tenants, where a statement over all tenants fails because a part of the database is away: those of the tenants that
 * can be reached. `select` is a whole statement of constants, without user input, with `%s` for the name of the table. The rows are as JSON.
 * Only a cluster has parts: Citus asks each shard on a connection of its own, outside of the transaction.
 */
export async function listReachable(tx: Tx, table: string, select: string): Promise<unknown[]> {
  const command = `select coalesce(json_agg(r), '[]') from (${select}) r`
  const answers = await tx.any(sql.type(answer)`
    select result from run_command_on_shards(${table}::regclass, ${command}) where success`)
  return answers.flatMap(({ result }) => JSON.parse(result) as unknown[])
}
