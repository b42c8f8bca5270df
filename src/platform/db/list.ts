import { type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { type Keyset, keyset } from './keyset.ts'

/** A column that a list is ordered by, never null, and the property of a row that holds it. */
export interface Column {
  column: FragmentSqlToken
  field: string
}

/** A filter: the form of its value in a query string, and what it asks of a row. Values are written into links again. */
export interface Filter {
  schema: z.ZodType<string | boolean, unknown>
  /** `now` in ms since 1970, for what time changes. */
  where(value: string | boolean, now: number): FragmentSqlToken
}

/** All that is to be said of a list; see {@link defineList}. */
export interface ListDescription {
  id: Column
  /** By the name that callers use. A list is ordered by `created_at` unless they say otherwise. */
  orderings: { created_at: Column } & Record<string, Column>
  filters?: Record<string, Filter>
  /** Columns in lower case under the collation C, each in an index led by tenant_id. */
  search?: readonly FragmentSqlToken[]
  newestFirst?: boolean
}

export type ListQuery = Record<string, unknown>

/** A list: its query parameters and, for values of these, its SQL. */
export interface List {
  query: z.ZodObject
  /** The column that the answer to `query` is ordered by. */
  orderedBy(query: ListQuery): Column
  id: Column
  page(query: ListQuery, keyset: Keyset, now: number): ListPage
}

/** What a store needs of a page. Both fragments begin with `and`: they follow the condition that names the tenant. */
export interface ListPage {
  filtered: boolean
  /** The filters, to count what they leave. */
  conditions: FragmentSqlToken
  /** Place, order and limit. */
  end: FragmentSqlToken
  /** `conditions` and `end` together: the end of the list's query. */
  tail: FragmentSqlToken
}

/** Query parameters of every list: `page_size` (default 20, over 100 gives 100) and the opaque `cursor`. */
export const listQuery = z.object({
  page_size: z
    .string()
    .regex(/^\d{1,6}$/, 'page_size has to be a whole number from 1 to 100.')
    .transform((text) => Math.min(Number(text), 100))
    .refine((size) => size > 0, 'page_size has to be at least 1.')
    .default(20)
    .meta({
      description: 'Entries per page; more than 100 gives 100',
      override: { type: 'integer', pattern: undefined, minimum: 1, default: 20 },
    }),
  cursor: z
    .string()
    .max(1_000)
    .optional()
    .meta({ description: 'From `next` or `previous` of an earlier answer' }),
})

/** Makes a list of its description: `created_at__gte` and `__lte`, `ordering` and `search` come of themselves. */
export function defineList(described: ListDescription): List {
  const { id, orderings, search } = described
  const filters = { ...described.filters, ...momentsOf(orderings.created_at.column) }
  const usual = described.newestFirst ? '-created_at' : 'created_at'
  const shape: Record<string, z.ZodType> = { ordering: orderingOf(Object.keys(orderings), usual) }
  for (const [name, { schema }] of Object.entries(filters)) shape[name] = schema.optional()
  if (search) shape.search = searchText
  const placeOf = (query: ListQuery) => String(query.ordering ?? usual)
  const orderedBy = (query: ListQuery) => orderings[placeOf(query).replace('-', '')]!
  return {
    query: listQuery.extend(shape),
    id,
    orderedBy,
    page(query, place, now) {
      const asked = conditionsOf(filters, search, query, now)
      const conditions = together(asked)
      const end = keyset(place, orderedBy(query).column, id.column, placeOf(query).startsWith('-'))
      return { filtered: asked.length > 0, conditions, end, tail: sql.fragment`${conditions} ${end}` }
    },
  }
}

function conditionsOf(
  filters: Record<string, Filter>,
  search: ListDescription['search'],
  query: ListQuery,
  now: number,
): FragmentSqlToken[] {
  const asked = Object.entries(filters)
    .filter(([name]) => query[name] !== undefined)
    .map(([name, filter]) => filter.where(query[name] as string | boolean, now))
  return search && typeof query.search === 'string' ? [...asked, beginsWith(search, query.search)] : asked
}

const together = (conditions: FragmentSqlToken[]) =>
  conditions.reduce((all, one) => sql.fragment`${all} and ${one}`, sql.fragment``)

const last = '\u{10ffff}'

/** Whether one of the columns begins with the text: a range, for LIKE is not leakproof. */
function beginsWith(columns: readonly FragmentSqlToken[], text: string): FragmentSqlToken {
  const ranges = columns.map(
    (column) => sql.fragment`(${column} >= lower(${text}::text) and ${column} < lower(${text + last}::text))`,
  )
  return sql.fragment`(${sql.join(ranges, sql.fragment` or `)})`
}

const orderingOf = (names: string[], usual: string) =>
  z
    .enum(
      names.flatMap((name) => [name, `-${name}`]),
      `Order by ${names.join(' or ')}, with - before it for the other way round.`,
    )
    .optional()
    .meta({ description: `Default: ${usual}` })

const searchText = z
  .string()
  .max(254, 'Search for 254 characters at most.')
  .transform((text) => text.trim() || undefined)
  .optional()
  .meta({
    description: 'Beginning of an e-mail address or a name, in any case',
    override: { type: 'string' },
  })

const moment = z.iso
  .datetime({ offset: true, error: 'Give a moment as RFC 3339, such as 2026-11-21T09:30:00Z.' })
  .transform((text) => new Date(text).toISOString())
  .meta({ override: { type: 'string', format: 'date-time' } })

const momentsOf = (column: FragmentSqlToken): Record<string, Filter> => ({
  created_at__gte: { schema: moment, where: (at) => sql.fragment`${column} >= ${instant(at)}` },
  created_at__lte: { schema: moment, where: (at) => sql.fragment`${column} <= ${instant(at)}` },
})

const instant = (at: string | boolean) => sql.timestamp(new Date(String(at)))

/** A filter by an id. */
export const byId = (column: FragmentSqlToken): Filter => ({
  schema: idText,
  where: (value) => sql.fragment`${column} = ${value}::uuid`,
})

const idText = z
  .string()
  .toLowerCase()
  .pipe(z.guid('This is not a UUID.'))
  .meta({ override: { type: 'string', format: 'uuid' } })

/** A filter by one of a few words. */
export const byWord = (column: FragmentSqlToken, words: readonly string[]): Filter => ({
  schema: z.enum([...words], `This has to be ${words.join(' or ')}.`),
  where: (value) => sql.fragment`${column} = ${value}`,
})

/** A filter by yes and no. */
export const byFlag = (column: FragmentSqlToken): Filter => ({
  schema: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', 'false', '1', '0'], 'This has to be true or false.'))
    .transform((word) => word === 'true' || word === '1')
    .meta({ override: { type: 'boolean' } }),
  where: (value) => sql.fragment`${column} = ${value}`,
})

/** A filter by text that `schema` brings into the form in which it is stored. */
export const byText = (column: FragmentSqlToken, schema: z.ZodType<string, unknown>): Filter => ({
  schema,
  where: (value) => sql.fragment`${column} = ${value}`,
})
