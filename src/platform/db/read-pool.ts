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

/** Connections for reads of one statement each. */
export interface ReadPool {
  /** The rows of one statement, parsed by its schema. `scope` holds the values for app.tenant_id and app.user_id. */
  read(scope: readonly [string, string] | null, token: QuerySqlToken): Promise<QueryResultRow[]>
  load(): PoolLoad
  end(): Promise<void>
}

/** `waited` is called with the seconds that each read waited for a connection. */
export interface ReadPoolOptions extends PoolOptions {
  waited?: (seconds: number) => void
}

/** Opens a pool of at most `size` connections. It connects at the first read. */
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
  // A lost connection fails its read. Without a read there is nothing to report.
  pool.on('connect', (client) => client.on('error', () => undefined))
  pool.on('error', () => undefined)
  return {
    async read(scope, token) {
      const statement = statementOf(token, prepared)
      const setting = scope
        ? { ...(prepared ? setScope : { ...setScope, name: '' }), values: scope }
        : undefined
      const { columns, rows, set } = await run(pool, waited, new ReadFlush(setting, statement, prepared))
      if (scope?.some((value, index) => set[index] !== value)) throw new Error('The scope was not set')
      const parsers = columns.map(({ name, dataTypeID }) => [name, parserOf(dataTypeID)] as const)
      return rows.map((row) => checkedRow(token, rowOf(parsers, row)))
    },
    // pg's pools count connecting clients as busy.
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

/** How long a read waits for Postgres's answer (ms); it waits as long again for a connection. */
const answerMs = 2_000

/** Postgres refuses a prepared statement: its columns changed since it was parsed, or a pooler lost it. */
const statementLost = /^(0A|26)/

/**
 * Runs the flush on a connection. The connection returns to the pool only when Postgres reports that no transaction is
 * open on it, which takes a rollback after an error. In any other state it is closed.
 */
async function run(
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
    if (statementLost.test(sqlState(error))) streamOf(client).destroy()
    await client.query('rollback').catch(() => streamOf(client).destroy())
    return lost(error)
  } finally {
    clearTimeout(timer)
    client.release(streamOf(client).destroyed || client.getTransactionStatus() !== 'I')
  }
}

const streamOf = (client: pg.PoolClient) =>
  (client as unknown as { connection: pg.Connection }).connection.stream

/** pg reports a lost connection, and a connection timeout, without a code. This adds the SQLSTATE 08006. */
function lost(error: unknown): never {
  if (sqlState(error)) throw error
  throw Object.assign(new Error('Postgres could not be reached', { cause: error }), { code: '08006' })
}

/** Statements by slonik's text, with the text for Postgres. There are few texts, because values are always bound. */
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

/** PostgreSQL 18 documentation, 8.15.6. */
const arrayLiteral = (items: readonly PrimitiveValueExpression[]): string =>
  `{${items.map((item) => (item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, '\\$&')}"`)).join(',')}}`

type Parse = (text: string) => PrimitiveValueExpression

const ownParsers = new Map<number, Parse>(
  typeParsers.map(({ name, parse }) => [pg.types.builtins[name.toUpperCase() as 'INT8'], parse as Parse]),
)
const parserOf = (oid: number): Parse => ownParsers.get(oid) ?? pg.types.getTypeParser(oid, 'text')

function rowOf(parsers: (readonly [string, Parse])[], row: (string | null)[]): QueryResultRow {
  const read: Record<string, PrimitiveValueExpression> = {}
  parsers.forEach(([name, parse], index) => {
    const text = row[index] ?? null
    read[name] = text === null ? null : parse(text)
  })
  return read
}
