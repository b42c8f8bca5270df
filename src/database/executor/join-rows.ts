import { type FragmentSqlToken, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import { parameterized } from './parameterized.ts'
import type { Read } from './read.ts'
import { checkedRow } from './statement.ts'

type Schema = QuerySqlToken['parser']
type Row<T extends Schema> = NonNullable<T['~standard']['types']>['output']

/**
 * The columns of several queries as one row that `row` describes; null unless each query gives one row. Each column has its own name.
 *
 * One Postgres joins them in one statement. On a cluster they read tables in different places (rows of people on the coordinator, those of a tenant
 * on its node), which one statement cannot join: there each is a statement, and all are sent together.
 */
export function joinRows<T extends Schema>(
  read: Read,
  row: T,
  queries: readonly FragmentSqlToken[],
): Promise<Row<T> | null> {
  return read.distributed ? joinedHere(read, row, queries) : read.maybeOne(joined(row, queries))
}

/** The same for queries that differ from use to use only in the values that they bind: see {@link parameterized}. */
export function parameterizedJoin<Name extends string, T extends Schema>(
  row: T,
  write: (values: Record<Name, string>, read: Read) => readonly FragmentSqlToken[],
): (read: Read, values: Readonly<Record<Name, string>>) => Promise<Row<T> | null> {
  let statement: ((values: Readonly<Record<Name, string>>) => QuerySqlToken<T>) | undefined
  return (read, values) => {
    if (read.distributed) return joinedHere(read, row, write(values, read))
    statement ??= parameterized((names) => joined(row, write(names, read)))
    return read.maybeOne(statement(values))
  }
}

const joined = <T extends Schema>(row: T, queries: readonly FragmentSqlToken[]): QuerySqlToken<T> =>
  sql.type(row)`select * from ${sql.join(
    queries.map((query, place) => sql.fragment`(${query}) ${sql.identifier([`part_${place}`])}`),
    sql.fragment` cross join `,
  )}` as QuerySqlToken<T>

const anyRow = z.looseObject({})

async function joinedHere<T extends Schema>(read: Read, row: T, queries: readonly FragmentSqlToken[]) {
  const rows = await Promise.all(queries.map((query) => read.maybeOne(sql.type(anyRow)`${query}`)))
  if (rows.includes(null)) return null
  return checkedRow(joined(row, queries), Object.assign({}, ...rows)) as Row<T>
}
