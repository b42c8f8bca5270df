import type { QuerySqlToken } from 'slonik'
import { inPostgresSpan } from '../tracing/span.ts'
import { sqlState } from './database-errors.ts'
import type { ReadPool } from './read-pool.ts'
import { assertOutside, type Databases, type Scope, type Tx } from './transaction.ts'

/** Reads with one statement. A transaction has these methods, too. */
export type Read = Pick<Tx, 'any' | 'maybeOne'>

/**
 * As `inTenant`, for a callback that only reads, with a single statement. Begin, scope, statement and commit are sent
 * in one flush. A second statement throws.
 */
export function readInTenant<T>(
  { apiReads }: Pick<Databases, 'apiReads'>,
  { tenantId, userId }: Scope,
  work: (read: Read) => Promise<T>,
): Promise<T> {
  return work(once(apiReads, [tenantId, userId]))
}

/** As `asSystem`, for a single reading statement. `reason` is for readers of the code; a walk lists the callers. */
export function readAsSystem<T>(
  { systemReads }: Pick<Databases, 'systemReads'>,
  _reason: string,
  work: (read: Read) => Promise<T>,
): Promise<T> {
  return work(once(systemReads, null))
}

function once(pool: ReadPool, scope: readonly [string, string] | null): Read {
  let asked = false
  const rowsOf = async (token: QuerySqlToken) => {
    // Two statements would be two transactions, which can see different states.
    if (asked) throw new Error('A read has one statement: take a transaction for more')
    asked = true
    assertOutside()
    // Values are bound, never part of the text.
    return inPostgresSpan('read', { 'db.query.text': token.sql }, () =>
      repeated(() => pool.read(scope, token)),
    )
  }
  const maybeOne = async (token: QuerySqlToken) => {
    const [row = null, ...more] = await rowsOf(token)
    if (more.length > 0) throw new Error('A statement for at most one row found more')
    return row
  }
  return { any: rowsOf, maybeOne } as Read
}

const maxTries = 5

/** Repeats a statement that Postgres ended in a deadlock with a migration, as slonik repeats transactions. */
async function repeated<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (!sqlState(error).startsWith('40') || tries === maxTries) throw error
    }
  }
}
