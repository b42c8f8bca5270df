import { AsyncLocalStorage } from 'node:async_hooks'
import { withTimeLimit } from '../../limits/time-limit.ts'
import { inPostgresSpan } from '../../observe/tracing/span.ts'
import { sqlState } from './database-errors.ts'
import { type Connection, type Pool, timeouts } from './pool.ts'
import { type Scope, Tx } from './tx.ts'

export { sql } from 'slonik'
export { isDatabaseUnavailable, sqlState } from './database-errors.ts'
export type { Scope } from './tx.ts'
export type { Tx }

// docs/explanation/architecture.md lists the ways into the database, each with what the others do not have.
//
// What a transaction can do besides asking (tx.ts):
//
// - later: a statement without an answer costs no round trip.
// - atCommit: what is known at the end only: the bytes that a change logged.
// - afterCommit: NOTIFY, which would let no two transactions commit together, and what is counted only if it is stored.
// - attempt: what an approval would do is tried and undone.
// - addScope: the scope of the next person of a batch, and of a purge, in the form that reaches every node.

/** The pools of one process: one per database role. */
export interface Databases {
  api: Pool
  system: Pool
  worker: Pool
  /** As `api`, on a replica of the database, which is a moment behind. */
  replica?: Pool
}

/**
 * Runs `work` in one transaction that sees the rows of one tenant and one user. An error of `work` rolls back and is
 * rethrown; the connection survives it. `work` does SQL only, because it runs again after a serialization failure.
 */
export function inTenant<T>(
  db: Pick<Databases, 'api'>,
  { tenantId, userId, impersonator }: Scope,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return inPostgresSpan(
    'transaction',
    () => ({ 'bailiwick.role': 'api' }),
    () => transact(db.api, { tenantId, userId, impersonator }, work, timeouts.transaction),
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
  return inPostgresSpan(
    'transaction',
    () => ({ 'bailiwick.role': 'system' }),
    () => transact(db.system, null, work, timeouts.transaction),
  )
}

/** Runs `work` as the worker role, which sees the outbox, mails and events of all tenants. */
export function asWorker<T>(db: Pick<Databases, 'worker'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inPostgresSpan(
    'transaction',
    () => ({ 'bailiwick.role': 'worker' }),
    () => transact(db.worker, null, work),
  )
}

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

async function transact<T>(
  pool: Pool,
  scope: Scope | null,
  work: (tx: Tx) => Promise<T>,
  limitMs?: number,
): Promise<T> {
  assertOutside()
  const mark = { open: true, late: false }
  const attempt = async (connection: Connection): Promise<T> => {
    if (mark.late) throw noAnswer()
    const tx = new Tx(connection, scope, pool)
    try {
      const value = await work(tx)
      if (mark.late) throw noAnswer()
      await tx.commit()
      return value
    } catch (error) {
      await tx.rollBack()
      throw error
    }
  }
  const running = surrounding
    .run(mark, () => pool.forTransaction((connection) => repeated(() => attempt(connection), pool.retried)))
    .finally(() => {
      mark.open = false
    })
  const giveUp = (): never => {
    mark.late = true
    throw noAnswer()
  }
  return limitMs === undefined ? running : withTimeLimit(limitMs, running, giveUp)
}

const maxTries = 6

/** Repeats work that Postgres ended with a serialization failure or a deadlock (class 40). */
export async function repeated<T>(work: () => Promise<T>, onRetry: () => void): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!sqlState(error).startsWith('40') || tries === maxTries) throw error
      onRetry()
    }
  }
}
