import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { createPgDriverFactory } from '@slonik/pg-driver'
import {
  createPool,
  createTypeParserPreset,
  type DatabasePool,
  type Interceptor,
  type QueryResultRow,
  type QuerySqlToken,
} from 'slonik'

/** How a pool is opened: at most `size` connections; `prepared` names statements so that they are parsed once. */
export interface PoolOptions {
  size: number
  prepared: boolean
  applicationName: string
}

/** The current connections of a pool. */
export interface PoolLoad {
  busy: number
  idle: number
  connecting: number
  /** Callers that wait for a connection. */
  waiting: number
}

/**
 * Opens a pool. All settings are local to a transaction, so connections are not reset on release (DISCARD ALL costs a
 * quarter of the throughput and drops prepared plans). Statements time out after 5 s. Slonik's own tracing stays off,
 * because its spans repeat error messages, which contain values.
 */
export function openPool(
  url: string,
  { size, prepared, applicationName }: PoolOptions,
): Promise<DatabasePool> {
  const { address, tls } = withoutTls(addressOf(url, applicationName))
  return createPool(address, {
    ...(tls && { ssl: tls }),
    driverFactory: createPgDriverFactory(),
    maxPoolSize: size,
    connectionTimeout: timeouts.connect,
    connectionRetryLimit: 0,
    idleTimeout: timeouts.idle,
    statementTimeout: timeouts.statement,
    idleInTransactionSessionTimeout: timeouts.idleInTransaction,
    resetConnection: async () => {},
    typeParsers,
    interceptors: prepared ? [nameStatements, validateRows] : [validateRows],
  })
}

/**
 * Timeouts of the database (ms). `transaction` includes the wait for a connection, because clients are promised an
 * answer within 5 s. No setting changes them. Tests set longer ones, so that none fails on a slow machine.
 */
export const timeouts = {
  connect: 2_000,
  lock: 3_000,
  transaction: 4_000,
  statement: 5_000,
  idleInTransaction: 10_000,
  idle: 60_000,
}

/** A database's address, with the settings of all our connections. */
export function addressOf(url: string, applicationName: string): string {
  const address = new URL(url)
  address.searchParams.set('application_name', applicationName)
  address.searchParams.set('options', `-c lock_timeout=${timeouts.lock}`)
  return address.href
}

/** Slonik's driver does not know `verify-full` and reads no certificate files, so both are converted to TLS options. */
function withoutTls(url: string): { address: string; tls: ConnectionOptions | undefined } {
  const address = new URL(url)
  const [mode, ca, cert, key] = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'].map((name) => {
    const value = address.searchParams.get(name)
    address.searchParams.delete(name)
    return value
  })
  const tls = {
    rejectUnauthorized: mode !== 'no-verify',
    ...(ca && { ca: readFileSync(ca, 'utf8') }),
    ...(cert && { cert: readFileSync(cert, 'utf8') }),
    ...(key && { key: readFileSync(key, 'utf8') }),
  }
  return { address: address.href, tls: !mode || mode === 'disable' ? undefined : tls }
}

/** Counts, sequences and revisions stay far below 2^53. */
const wholeNumbers = { name: 'int8', parse: Number }

/** Parsers of column values by type name. Times become ms since 1970. */
export const typeParsers = [...createTypeParserPreset().filter(({ name }) => name !== 'int8'), wholeNumbers]

/** Slonik attaches the zod schema of `sql.type` to a query, but does not apply it. */
const validateRows: Interceptor = {
  name: 'validate-rows',
  transformRow: ({ resultParser }, query, row) =>
    checkedRow({ sql: query.sql, ...(resultParser && { parser: resultParser }) }, row),
}

/** Parses a row with its statement's schema. Throws (a bug of ours) when it does not match. */
export function checkedRow(
  { sql, parser }: { sql: string; parser?: QuerySqlToken['parser'] },
  row: QueryResultRow,
): QueryResultRow {
  const checked = parser?.['~standard'].validate(row)
  if (!checked) return row
  if (checked instanceof Promise) throw new Error('Row schemas are checked synchronously')
  if (!checked.issues) return checked.value as QueryResultRow
  // Names the columns and their faults, never the row, which can contain a secret.
  const faults = checked.issues.map(({ path, message }) => `${path?.join('.')}: ${message}`)
  throw new Error(`A row of ${sql.trim().slice(0, 60)}… does not match its schema: ${faults.join('; ')}`)
}

const nameStatements: Interceptor = {
  name: 'name-statements',
  transformQuery: (_context, query) => ({ ...query, name: statementName(query.sql) }),
}

const names = new Map<string, string>()

/** The name of a statement: a digest of its text. There are few texts, because values are always bound. */
export function statementName(text: string): string {
  let name = names.get(text)
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 20)
    names.set(text, name)
  }
  return name
}
