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

/** What a pool has at the moment. */
export interface PoolLoad {
  busy: number
  idle: number
  connecting: number
  /** Callers that wait for a connection. */
  waiting: number
}

/**
 * Opens a pool on which local settings end with their transaction, so connections are not reset on release
 * (DISCARD ALL costs a quarter of the rate and drops prepared plans). Statements end after 5 s. Slonik's own tracing
 * stays off: its spans repeat the words of errors, which hold values.
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
 * What is waited for the database (ms). `transaction` is what callers wait for one, its turn in the pool included: their
 * clients are promised an answer in 5 s. No setting changes them; tests wait longer, so that none fails on a slow machine.
 */
export const timeouts = {
  connect: 2_000,
  lock: 3_000,
  transaction: 4_000,
  statement: 5_000,
  idleInTransaction: 10_000,
  idle: 60_000,
}

/** A database's address, with the settings that every connection of ours begins with. */
export function addressOf(url: string, applicationName: string): string {
  const address = new URL(url)
  address.searchParams.set('application_name', applicationName)
  address.searchParams.set('options', `-c lock_timeout=${timeouts.lock}`)
  return address.href
}

/** Slonik's driver knows no `verify-full`, and reads no certificates: it is given what pg makes of the address. */
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

/** How columns are read, by the name of their type: times as ms since 1970. */
export const typeParsers = [...createTypeParserPreset().filter(({ name }) => name !== 'int8'), wholeNumbers]

/** Slonik attaches the zod schema of `sql.type` but leaves checking to us. */
const validateRows: Interceptor = {
  name: 'validate-rows',
  transformRow: ({ resultParser }, query, row) =>
    checkedRow({ sql: query.sql, ...(resultParser && { parser: resultParser }) }, row),
}

/** A row as its statement's schema reads it. Throws where it does not fit, which is a bug of ours. */
export function checkedRow(
  { sql, parser }: { sql: string; parser?: QuerySqlToken['parser'] },
  row: QueryResultRow,
): QueryResultRow {
  const checked = parser?.['~standard'].validate(row)
  if (!checked) return row
  if (checked instanceof Promise) throw new Error('Row schemas are checked synchronously')
  if (!checked.issues) return checked.value as QueryResultRow
  // Names of columns and what is wrong with them; never the row, which may hold a secret.
  const faults = checked.issues.map(({ path, message }) => `${path?.join('.')}: ${message}`)
  throw new Error(`A row of ${sql.trim().slice(0, 60)}… does not fit: ${faults.join('; ')}`)
}

const nameStatements: Interceptor = {
  name: 'name-statements',
  transformQuery: (_context, query) => ({ ...query, name: statementName(query.sql) }),
}

const names = new Map<string, string>()

/** The name of a statement: a digest of its text. Texts are few, for values are always bound. */
export function statementName(text: string): string {
  let name = names.get(text)
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 20)
    names.set(text, name)
  }
  return name
}
