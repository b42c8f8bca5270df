import pg from 'pg'
import type { PrimitiveValueExpression, QueryResultRow, QuerySqlToken } from 'slonik'
import { sqlState } from './database-errors.ts'
import {
  addressOf,
  checkedRow,
  type PoolLoad,
  type PoolOptions,
  statementName,
  timeouts,
  typeParsers,
} from './pool.ts'
import { ReadFlush, type Statement, type WireValue } from './read-flush.ts'

/** Connections on which nothing but reads of one statement each happens. */
export interface ReadPool {
  /** The rows of one statement, checked by its schema; `scope` are the values of the tenant's and person's settings. */
  read(scope: readonly [string, string] | null, token: QuerySqlToken): Promise<QueryResultRow[]>
  load(): PoolLoad
  end(): Promise<void>
}

/** As of other pools; `waited` is told the seconds that each read waited for a connection. */
export interface ReadPoolOptions extends PoolOptions {
  waited?: (seconds: number) => void
}

/** Opens such a pool of at most `size` connections, none before the first read. */
export function openReadPool(
  url: string,
  { size, prepared, applicationName, waited = () => undefined }: ReadPoolOptions,
): ReadPool {
  const pool = new pg.Pool({
    connectionString: addressOf(url, applicationName),
    max: size,
    connectionTimeoutMillis: timeouts.connect,
    idleTimeoutMillis: timeouts.idle,
    statement_timeout: timeouts.statement,
    idle_in_transaction_session_timeout: timeouts.idleInTransaction,
  })
  // A connection that is lost fails the read that it carries; without a read there is nothing to tell.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  return {
    async read(scope, token) {
      const asked = statementOf(token, prepared)
      const setting = scope
        ? { ...(prepared ? setScope : { ...setScope, name: '' }), values: scope }
        : undefined
      const { columns, rows, set } = await carry(pool, waited, new ReadFlush(setting, asked, prepared))
      if (scope?.some((value, index) => set[index] !== value)) throw new Error('The scope was not set')
      const parsers = columns.map(({ name, dataTypeID }) => [name, parserOf(dataTypeID)] as const)
      return rows.map((row) => checkedRow(token, rowOf(parsers, row)))
    },
    // Of pg's pools those that connect are busy, too.
    load: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      connecting: 0,
      waiting: pool.waitingCount,
    }),
    end: () => pool.end(),
  }
}

const setScope = {
  name: 'scope',
  text: `select set_config('app.tenant_id', $1, true), set_config('app.user_id', $2, true)`,
}

/** What a read waits for Postgres once it has a connection (ms); for that it waits as long again. */
const answerMs = 2_000

/** Postgres refuses a statement by its name: columns changed since it was parsed, or a pooler lost it. */
const forgetful = /^(0A|26)/

/**
 * A connection goes back to the pool only when Postgres says that no transaction is open on it; after an error that
 * takes a rollback. Anything else about it is unknown, and ends it.
 */
async function carry(
  pool: pg.Pool,
  waited: (seconds: number) => void,
  flush: ReadFlush,
): Promise<Awaited<ReadFlush['answer']>> {
  const begun = performance.now()
  const client = await pool.connect().catch(lost)
  waited((performance.now() - begun) / 1_000)
  const timer = setTimeout(() => streamOf(client).destroy(), answerMs)
  try {
    client.query(flush as unknown as pg.Submittable)
    return await flush.answer
  } catch (error) {
    if (forgetful.test(sqlState(error))) streamOf(client).destroy()
    await client.query('rollback').catch(() => streamOf(client).destroy())
    return lost(error)
  } finally {
    clearTimeout(timer)
    client.release(streamOf(client).destroyed || client.getTransactionStatus() !== 'I')
  }
}

const streamOf = (client: pg.PoolClient) =>
  (client as unknown as { connection: pg.Connection }).connection.stream

/** pg tells a lost connection, and one that did not come in time, by words alone; here by a code, as Postgres does. */
function lost(error: unknown): never {
  if (sqlState(error)) throw error
  throw Object.assign(new Error('Postgres could not be reached', { cause: error }), { code: '08006' })
}

/** Texts of statements as slonik writes them, and as Postgres reads them; they are few, for values are always bound. */
const statements = new Map<string, { name: string; text: string }>()

function statementOf({ sql, values }: QuerySqlToken, prepared: boolean): Statement {
  let known = statements.get(sql)
  if (!known) {
    const text = sql.replaceAll('$slonik_', '$')
    known = { text, name: statementName(text) }
    statements.set(sql, known)
  }
  return { text: known.text, name: prepared ? known.name : '', values: values.map(toWire) }
}

function toWire(value: PrimitiveValueExpression): WireValue {
  if (value === null || value instanceof Buffer) return value
  return Array.isArray(value) ? arrayLiteral(value) : String(value)
}

/** PostgreSQL 18, 8.15.6. */
const arrayLiteral = (items: readonly PrimitiveValueExpression[]): string =>
  `{${items.map((item) => (item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`

type Parse = (text: string) => PrimitiveValueExpression

const ours = new Map<number, Parse>(
  typeParsers.map(({ name, parse }) => [pg.types.builtins[name.toUpperCase() as 'INT8'], parse as Parse]),
)
const parserOf = (oid: number): Parse => ours.get(oid) ?? pg.types.getTypeParser(oid, 'text')

function rowOf(parsers: (readonly [string, Parse])[], row: (string | null)[]): QueryResultRow {
  const read: Record<string, PrimitiveValueExpression> = {}
  parsers.forEach(([name, parse], index) => {
    const text = row[index] ?? null
    read[name] = text === null ? null : parse(text)
  })
  return read
}
