import { type QueryResultRow, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import type { Answer } from './flush.ts'
import { rowsOf } from './statement.ts'

type Schema = QuerySqlToken['parser']
type Row<T extends Schema> = NonNullable<T['~standard']['types']>['output']
/** The value of a row's only column. */
type Value<T extends Schema> = Row<T> extends Record<string, unknown> ? Row<T>[keyof Row<T>] : unknown

/** The result of a statement whose number of rows matters. */
export interface Result<T> {
  rows: readonly T[]
  /** Rows returned or changed. */
  rowCount: number
}

/**
 * Ways to ask for the answer of a statement, by the number of rows and columns that it has. Statements that are asked
 * for together, without an await between them, go out together in one round trip.
 */
export abstract class Statements {
  /** Whether Postgres coordinates a Citus cluster. */
  abstract readonly distributed: boolean

  protected abstract ask(token: QuerySqlToken): Promise<Answer>

  async any<T extends Schema>(token: QuerySqlToken<T>): Promise<readonly Row<T>[]> {
    return rowsOf(token, await this.ask(token)) as Row<T>[]
  }

  async anyFirst<T extends Schema>(token: QuerySqlToken<T>): Promise<readonly Value<T>[]> {
    return (await this.any(token)).map((row) => onlyValue(row) as Value<T>)
  }

  /** Throws when there is more than one row. */
  async maybeOne<T extends Schema>(token: QuerySqlToken<T>): Promise<Row<T> | null> {
    const [row, ...more] = await this.any(token)
    if (more.length > 0) throw new Error('A statement for at most one row found more')
    return row ?? null
  }

  async maybeOneFirst<T extends Schema>(token: QuerySqlToken<T>): Promise<Value<T> | null> {
    const row = await this.maybeOne(token)
    return row === null ? null : (onlyValue(row) as Value<T>)
  }

  /** Throws when there is not exactly one row. */
  async one<T extends Schema>(token: QuerySqlToken<T>): Promise<Row<T>> {
    const row = await this.maybeOne(token)
    if (row === null) throw new Error('A statement for one row found none')
    return row
  }

  async oneFirst<T extends Schema>(token: QuerySqlToken<T>): Promise<Value<T>> {
    return onlyValue(await this.one(token)) as Value<T>
  }

  async exists(token: QuerySqlToken): Promise<boolean> {
    return this.oneFirst(sql.type(existsRow)`select exists (${token}) as exists`)
  }

  async query<T extends Schema>(token: QuerySqlToken<T>): Promise<Result<Row<T>>> {
    const answer = await this.ask(token)
    return { rows: rowsOf(token, answer) as Row<T>[], rowCount: countOf(answer) }
  }
}

const existsRow = z.object({ exists: z.boolean() })

const onlyValue = (row: unknown) => Object.values(row as QueryResultRow)[0]

/** The last word of a command's tag, such as `INSERT 0 3` or `UPDATE 3`; 0 for a command without rows. */
const countOf = ({ tag }: Answer) => Number(tag.slice(tag.lastIndexOf(' ') + 1)) || 0
