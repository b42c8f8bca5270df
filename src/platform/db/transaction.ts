import { type DatabasePool, type DatabaseTransactionConnection, sql } from 'slonik'
import { z } from 'zod'

export { sql } from 'slonik'

/** Inside a transaction: SQL and nothing else, for the callback runs again after a serialization failure. */
export type Tx = DatabaseTransactionConnection

/** The pools of one process, one per database role. */
export interface Databases {
  api: DatabasePool
  system: DatabasePool
  worker: DatabasePool
}

/** Whose rows a transaction sees: row-level security compares both with each row. */
export interface Scope {
  tenantId: string
  userId: string
}

const scopeSet = z.object({ tenant: z.string(), person: z.string() })

/**
 * Runs `work` in one transaction that sees the rows of one tenant and one person. What `work` throws rolls
 * everything back and is thrown on; the connection survives it.
 */
export function inTenant<T>(
  db: Pick<Databases, 'api'>,
  scope: Scope,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return transact(db.api, async (tx) => {
    const set = await tx.one(sql.type(scopeSet)`
      select set_config('app.tenant_id', ${scope.tenantId}, true) as tenant,
             set_config('app.user_id', ${scope.userId}, true) as person`)
    if (set.tenant !== scope.tenantId || set.person !== scope.userId) throw new Error('The scope was not set')
    return work(tx)
  })
}

/**
 * Runs `work` before a tenant is known (login, refresh, verify, accept), under a role of its own with narrow
 * grants. `reason` says why, for the reader; a walk lists the callers.
 */
export function asSystem<T>(
  db: Pick<Databases, 'system'>,
  _reason: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return transact(db.system, work)
}

/** Runs `work` under the workers' role: the outbox, mails and events of all tenants. */
export function asWorker<T>(db: Pick<Databases, 'worker'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  return transact(db.worker, work)
}

type Outcome<T> = { value: T } | { error: unknown }

/**
 * Slonik destroys a connection when anything is thrown through it, which turns every refused request into a new
 * Postgres backend. So errors leave the transaction as values, after a rollback of our own (slonik's COMMIT then
 * finds no transaction, which Postgres answers with a notice), and are thrown outside. Two kinds still go the hard
 * way: serialization failures, which slonik retries, and lost connections.
 */
async function transact<T>(pool: DatabasePool, work: (tx: Tx) => Promise<T>): Promise<T> {
  const outcome = await pool.transaction<Outcome<T>>(async (tx) => {
    try {
      return { value: await work(tx) }
    } catch (error) {
      if (/^(40|08|57P)/.test(sqlState(error))) throw error
      await tx.query(sql.unsafe`rollback`)
      return { error }
    }
  })
  if ('error' in outcome) throw outcome.error
  return outcome.value
}

/** SQLSTATE of a database error, also where slonik wrapped it; empty for anything else. */
export function sqlState(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const code = (error as { code?: unknown }).code ?? (error.cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

/** True when Postgres is out of reach, shutting down or too slow: the request may be repeated later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return (
    /^(08|53|57|55P03|25P03|ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)/.test(sqlState(error)) ||
    /^(ConnectionError|BackendTerminated|StatementTimeout|StatementCancelled|IdleTransactionTimeout)/.test(
      error.name,
    ) ||
    (error.cause instanceof Error && isDatabaseUnavailable(error.cause))
  )
}
