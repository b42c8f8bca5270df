import { createHash } from 'node:crypto'
import pg from 'pg'
import {
  createTypeParserPreset,
  type PrimitiveValueExpression,
  type QueryResultRow,
  type QuerySqlToken,
} from 'slonik'
import type { Answer, Column, Statement, WireValue } from './flush.ts'

/** Statements by slonik's text, with the text for Postgres. There are few texts, because values are always bound. */
const statements = new Map<string, { name: string; text: string }>()

/** A slonik query for the wire. `prepared` names it after its text, so that Postgres parses it once per connection. */
export function statementOf({ sql, values }: QuerySqlToken, prepared: boolean): Statement {
  let known = statements.get(sql)
  if (!known) {
    const text = sql.replaceAll('$slonik_', '$')
    known = { text, name: statementName(text) }
    statements.set(sql, known)
  }
  return { text: known.text, name: prepared ? known.name : '', values: values.map(toWire) }
}

const statementName = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 20)

function toWire(value: PrimitiveValueExpression): WireValue {
  if (value === null || typeof value === 'string' || value instanceof Buffer) return value
  return Array.isArray(value) ? arrayLiteral(value) : String(value)
}

/** PostgreSQL 18 documentation, 8.15.6. Bytes are in hex (8.4.1). */
const arrayLiteral = (items: readonly PrimitiveValueExpression[]): string =>
  `{${items
    .map((item) => {
      if (item === null) return 'NULL'
      if (Array.isArray(item)) return arrayLiteral(item)
      const text = item instanceof Buffer ? `\\x${item.toString('hex')}` : String(item)
      return `"${text.replace(/["\\]/g, '\\$&')}"`
    })
    .join(',')}}`

type Parse = (text: string) => PrimitiveValueExpression

/** Counts, sequences and revisions stay far below 2^53. */
const wholeNumbers = { name: 'int8', parse: Number }

/** Parsers of column values by type name. Times become ms since 1970. */
const typeParsers = [...createTypeParserPreset().filter(({ name }) => name !== 'int8'), wholeNumbers]

/** The OIDs of the array types, which pg has no names for (pg_type.dat of Postgres). */
const arrayOids: Record<string, number> = {
  int8: 1016,
  timestamp: 1115,
  date: 1182,
  timestamptz: 1185,
  interval: 1187,
  numeric: 1231,
}

// Its declared type is another one.
const arrays = pg.types.arrayParser as unknown as {
  create(text: string, parse: Parse): { parse(): PrimitiveValueExpression }
}

const ownParsers = new Map<number, Parse>(
  typeParsers.flatMap(({ name, parse }) => {
    const items = (text: string) => arrays.create(text, parse as Parse).parse()
    const oid = pg.types.builtins[name.toUpperCase() as 'INT8']
    return [[oid, parse as Parse] as const, [arrayOids[name]!, items as Parse] as const]
  }),
)

const parserOf = ({ name, dataTypeID }: Column): readonly [string, Parse] => [
  name,
  ownParsers.get(dataTypeID) ?? pg.types.getTypeParser(dataTypeID, 'text'),
]

/** The rows of an answer, each parsed by the schema of its query. Throws (a bug of ours) when one does not match. */
export function rowsOf(token: QuerySqlToken, { columns, rows }: Answer): QueryResultRow[] {
  const parsers = columns.map(parserOf)
  return rows.map((row) => checkedRow(token, rowOf(parsers, row)))
}

function rowOf(parsers: (readonly [string, Parse])[], row: (string | null)[]): QueryResultRow {
  const read: Record<string, PrimitiveValueExpression> = {}
  for (let index = 0; index < parsers.length; index++) {
    const [name, parse] = parsers[index]!
    const text = row[index] ?? null
    read[name] = text === null ? null : parse(text)
  }
  return read
}

/** The row, if it matches the schema of its query; throws (a bug of ours) otherwise. */
export function checkedRow({ sql, parser }: QuerySqlToken, row: QueryResultRow): QueryResultRow {
  const checked = parser['~standard'].validate(row)
  if (checked instanceof Promise) throw new Error('Row schemas are checked synchronously')
  if (!checked.issues) return checked.value as QueryResultRow
  // Names the columns and their faults, never the row, which can contain a secret.
  const faults = checked.issues.map(({ path, message }) => `${path?.join('.')}: ${message}`)
  throw new Error(`A row of ${sql.trim().slice(0, 60)}… does not match its schema: ${faults.join('; ')}`)
}
