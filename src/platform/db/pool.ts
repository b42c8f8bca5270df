import { createHash } from 'node:crypto'
import { createPgDriverFactory } from '@slonik/pg-driver'
import {
  createPool,
  createTypeParserPreset,
  type DatabasePool,
  type Interceptor,
  type QueryResultRow,
} from 'slonik'

/** How a pool is opened: at most `size` connections; `prepared` names statements so that they are parsed once. */
export interface PoolOptions {
  size: number
  prepared: boolean
  applicationName: string
}

/**
 * Opens a pool on which local settings end with their transaction, so connections are not reset on release
 * (DISCARD ALL costs a quarter of the rate and drops prepared plans). Statements end after 5 s.
 */
export function openPool(
  url: string,
  { size, prepared, applicationName }: PoolOptions,
): Promise<DatabasePool> {
  const address = new URL(url)
  address.searchParams.set('application_name', applicationName)
  address.searchParams.set('options', '-c lock_timeout=3s')
  return createPool(address.href, {
    driverFactory: createPgDriverFactory(),
    maxPoolSize: size,
    connectionTimeout: 2_000,
    connectionRetryLimit: 0,
    idleTimeout: 60_000,
    statementTimeout: 5_000,
    idleInTransactionSessionTimeout: 10_000,
    resetConnection: async () => {},
    typeParsers: [...createTypeParserPreset().filter(({ name }) => name !== 'int8'), wholeNumbers],
    interceptors: prepared ? [nameStatements(), validateRows] : [validateRows],
  })
}

/** Counts, sequences and revisions stay far below 2^53. */
const wholeNumbers = { name: 'int8', parse: Number }

/** Slonik attaches the zod schema of `sql.type` but leaves checking to us: a row that does not fit is a bug of ours. */
const validateRows: Interceptor = {
  name: 'validate-rows',
  transformRow: ({ resultParser }, query, row) => {
    const checked = resultParser?.['~standard'].validate(row)
    if (!checked) return row
    if (checked instanceof Promise) throw new Error('Row schemas are checked synchronously')
    if (!checked.issues) return checked.value as QueryResultRow
    // Names of columns and what is wrong with them; never the row, which may hold a secret.
    const faults = checked.issues.map(({ path, message }) => `${path?.join('.')}: ${message}`)
    throw new Error(`A row of ${query.sql.trim().slice(0, 60)}… does not fit: ${faults.join('; ')}`)
  },
}

/** Names each statement by a digest of its text; texts are few, for values are always bound. */
function nameStatements(): Interceptor {
  const names = new Map<string, string>()
  return {
    name: 'name-statements',
    transformQuery: (_context, query) => {
      let name = names.get(query.sql)
      if (!name) {
        name = createHash('sha256').update(query.sql).digest('base64url').slice(0, 20)
        names.set(query.sql, name)
      }
      return { ...query, name }
    },
  }
}
