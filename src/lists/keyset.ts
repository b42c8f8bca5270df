import { type FragmentSqlToken, sql } from 'slonik'

/** A page of a list: `size` rows after `from` (or before it), ordered by (at, id). `at` is in ms, or a text. */
export interface Keyset {
  size: number
  from: { at: number | string; id: string } | null
  backwards: boolean
}

/**
 * The end of a list query over the columns (at, id): condition, order, and a limit of one row more than the page, which
 * shows whether there is a next page. Every page costs the same.
 */
export function keyset(
  page: Keyset,
  at: FragmentSqlToken,
  id: FragmentSqlToken,
  newestFirst = false,
): FragmentSqlToken {
  const down = page.backwards !== newestFirst
  const direction = down ? sql.fragment`desc` : sql.fragment`asc`
  const beyond = down ? sql.fragment`<` : sql.fragment`>`
  const position =
    page.from &&
    sql.fragment`and (${at}, ${id}) ${beyond} (${positionOf(page.from.at)}, ${page.from.id}::uuid)`
  return sql.fragment`${position ?? sql.fragment``} order by ${at} ${direction}, ${id} ${direction} limit ${page.size + 1}`
}

const positionOf = (at: number | string) =>
  typeof at === 'number'
    ? sql.fragment`${new Date(at).toISOString()}::timestamptz`
    : sql.fragment`${at}::text`
