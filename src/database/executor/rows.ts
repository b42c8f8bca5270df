import { type FragmentSqlToken, sql } from 'slonik'

/** The values of one row to insert: texts in Postgres's form of the column (JSON, ISO 8601), numbers, booleans, null. */
export type NewRow = readonly (string | number | boolean | Buffer | null)[]

/** More rows would need more parameters than a statement can have (65,535), and a longer text than helps. */
const maxRows = 128

/**
 * `values (…), (…)` for rows of the same number of columns. Each list goes into an insert of its own; no rows give no
 * list. The lists have 128, 64, 32, … rows, so an insert has few texts, which Postgres parses
 * once. Citus takes no other form: it would copy the rows of a `select` to its nodes, which row-level security refuses.
 */
export function listsOfValues(rows: readonly NewRow[]): FragmentSqlToken[] {
  const lists: FragmentSqlToken[] = []
  for (let done = 0; done < rows.length; ) {
    const size = Math.min(maxRows, 2 ** Math.floor(Math.log2(rows.length - done)))
    lists.push(values(rows.slice(done, done + size)))
    done += size
  }
  return lists
}

const values = (rows: readonly NewRow[]): FragmentSqlToken =>
  sql.fragment(textsOf(rows.length, rows[0]!.length), ...rows.flat().map(toValue))

const toValue = (value: NewRow[number]) => (value instanceof Buffer ? sql.binary(value) : value)

/** The texts around the values, as a template literal would pass them. */
function textsOf(rows: number, columns: number): TemplateStringsArray {
  const between = Array.from({ length: rows * columns - 1 }, (_, at) =>
    (at + 1) % columns === 0 ? '), (' : ', ',
  )
  const list = ['values (', ...between, ')']
  return Object.freeze(Object.assign(list, { raw: Object.freeze([...list]) }))
}
