import { AsyncLocalStorage } from 'node:async_hooks'
import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import { z } from 'zod'
import { withTimeLimit } from '../time-limit.ts'
import { inPostgresSpan } from '../tracing/span.ts'
import { sqlState } from './database-errors.ts'
import { timeouts } from './pool.ts'
import type { ReadPool } from './read-pool.ts'
import { watchStatements } from './watch-statements.ts'

export { sql } from 'slonik'
export { isDatabaseUnavailable, sqlState } from './database-errors.ts'

/** A transaction. Its callback does SQL only, because it runs again after a serialization failure. */
export type Tx = DatabaseTransactionConnection

/** The pools of one process: one per database role, and those for reads of one statement. */
export interface Databases {
  api: DatabasePool
  apiReads: ReadPool
  system: DatabasePool
  systemReads: ReadPool
  worker: DatabasePool
}

/** The tenant and user whose rows a transaction sees. Row-level security compares both with each row. */
export interface Scope {
  tenantId: string
  userId: string
}

const scopeSet = z.object({ tenant: z.string(), person: z.string() })

/**
 * Runs `work` in one transaction that sees the rows of one tenant and one user. An error of `work` rolls back and is
 * rethrown; the connection survives it.
 */
export function inTenant<T>(
  db: Pick<Databases, 'api'>,
  scope: Scope,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const scoped = async (tx: Tx) => {
    const set = await tx.one(sql.type(scopeSet)`
      select set_config('app.tenant_id', ${scope.tenantId}, true) as tenant,
             set_config('app.user_id', ${scope.userId}, true) as person`)
    if (set.tenant !== scope.tenantId || set.person !== scope.userId) throw new Error('The scope was not set')
    return work(tx)
  }
  return inPostgresSpan('transaction', { 'bailiwick.role': 'api' }, () =>
    transact(db.api, scoped, timeouts.transaction),
  )
}

/**
 * Runs `work` before a tenant is known (login, refresh, verify, accept), as a separate role with narrow grants.
 * `reason` is for readers of the code; a walk lists the callers.
 */
export function asSystem<T>(
  db: Pick<Databases, 'system'>,
  _reason: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return inPostgresSpan('transaction', { 'bailiwick.role': 'system' }, () =>
    transact(db.system, work, timeouts.transaction),
  )
}

/** Runs `work` as the worker role, which sees the outbox, mails and events of all tenants. */
export function asWorker<T>(db: Pick<Databases, 'worker'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inPostgresSpan('transaction', { 'bailiwick.role': 'worker' }, () => transact(db.worker, work))
}

type Outcome<T> = { value: T } | { error: unknown }

const surrounding = new AsyncLocalStorage<{ open: boolean }>()

/** When Postgres or its network hangs, no statement ends, and the timeouts of Postgres do not help. */
const noAnswer = () => Object.assign(new Error('Postgres did not answer in time'), { code: 'ETIMEDOUT' })

/**
 * Throws inside a transaction. A nested one would hold two connections of a pool, which is a deadlock under load, and
 * would commit separately. Work that started inside a transaction and continues after its end can open a new one.
 */
export function assertOutside(): void {
  if (surrounding.getStore()?.open)
    throw new Error('A transaction began inside another: pass the outer one as an argument')
}

async function transact<T>(pool: DatabasePool, work: (tx: Tx) => Promise<T>, limitMs?: number): Promise<T> {
  assertOutside()
  const mark = { open: true, late: false }
  const running = surrounding
    .run(mark, () => pool.transaction((tx) => attempt(tx, work, mark)))
    .finally(() => {
      mark.open = false
    })
  const giveUp = (): never => {
    mark.late = true
    throw noAnswer()
  }
  const outcome = await (limitMs === undefined ? running : withTimeLimit(limitMs, running, giveUp))
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/**
 * Slonik destroys a connection when an error passes through it, so every refused request would cost a new Postgres
 * backend. Therefore errors leave the transaction as values, after our own rollback, and are thrown outside. (Slonik's
 * COMMIT then finds no transaction, which Postgres answers with a notice.) Two kinds of errors still pass through
 * slonik: serialization failures, which it retries, and lost connections.
 */
async function attempt<T>(
  tx: Tx,
  work: (tx: Tx) => Promise<T>,
  mark: { late: boolean },
): Promise<Outcome<T>> {
  try {
    if (mark.late) throw noAnswer()
    const value = await watchStatements(tx, work)
    if (mark.late) throw noAnswer()
    return { value }
  } catch (error) {
    if (/^(40|08|57P)/.test(sqlState(error))) throw error
    await tx.query(sql.unsafe`rollback`)
    return { error }
  }
}
