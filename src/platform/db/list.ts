import { type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { type Keyset, keyset } from './keyset.ts'

/** What a parameter reveals of: paths of the fields of an answer. Where it is absent, the field of the parameter's name. */
interface Revealing {
  reveals?: readonly string[]
}

/** A column that a list is ordered by, never null, and the property of a row that holds it. */
export interface Column extends Revealing {
  column: FragmentSqlToken
  field: string
}

/** A filter: the form of its value in a query string, and what it asks of a row. Values are written into links again. */
export interface Filter extends Revealing {
  schema: z.ZodType<string | boolean, unknown>
  /** `now` in ms since 1970, for what time changes. */
  where(value: string | boolean, now: number): FragmentSqlToken
}

/** A column that is searched: in lower case under the collation C, in an index led by tenant_id. */
export interface Searched {
  column: FragmentSqlToken
  reveals: readonly string[]
}

/** All that is to be said of a list; see {@link defineList}. */
export interface ListDescription {
  id: Column
  /** By the name that callers use. A list is ordered by `created_at` unless they say otherwise. */
  orderings: { created_at: Column } & Record<string, Column>
  filters?: Record<string, Filter>
  search?: readonly Searched[]
  newestFirst?: boolean
}

export type ListQuery = Record<string, unknown>

/** A list: its query parameters and, for values of these, its SQL. */
export interface List {
  query: z.ZodObject
  /** The column that the answer to `query` is ordered by. */
  orderedBy(query: ListQuery): Column
  id: Column
  /**
   * The first filter or ordering of the query that would tell what is in one of the masked fields, or null. A search
   * reveals nothing: it passes over them.
   */
  parameterRevealing(query: ListQuery, masked: readonly string[]): string | null
  page(query: ListQuery, keyset: Keyset, now: number, masked?: readonly string[]): ListPage
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
  const filters = { ...described.filters, ...momentsOf(orderings.created_at) }
  const usual = described.newestFirst ? '-created_at' : 'created_at'
  const shape: Record<string, z.ZodType> = { ordering: orderingOf(Object.keys(orderings), usual) }
  for (const [name, { schema }] of Object.entries(filters)) shape[name] = schema.optional()
  if (search) shape.search = searchText
  const placeOf = (query: ListQuery) => String(query.ordering ?? usual)
  const nameOf = (ordering: string) => ordering.replace('-', '')
  const orderedBy = (query: ListQuery) => orderings[nameOf(placeOf(query))]!
  return {
    query: listQuery.extend(shape),
    id,
    orderedBy,
    parameterRevealing(query, masked) {
      const asked = Object.keys(filters).filter((name) => query[name] !== undefined)
      const filter = asked.find((name) => revealsAny(filters[name]?.reveals ?? [name], masked))
      if (filter !== undefined || typeof query.ordering !== 'string') return filter ?? null
      return revealsAny(orderedBy(query).reveals ?? [nameOf(query.ordering)], masked) ? 'ordering' : null
    },
    page(query, place, now, masked = []) {
      const searched = search
        ?.filter(({ reveals }) => !revealsAny(reveals, masked))
        .map(({ column }) => column)
      const asked = conditionsOf(filters, searched, query, now)
      const conditions = together(asked)
      const end = keyset(place, orderedBy(query).column, id.column, placeOf(query).startsWith('-'))
      return { filtered: asked.length > 0, conditions, end, tail: sql.fragment`${conditions} ${end}` }
    },
  }
}

/** Whether one of the paths is masked, lies in what is masked, or holds it. */
const revealsAny = (paths: readonly string[], masked: readonly string[]) =>
  paths.some((path) =>
    masked.some((mask) => `${path}.`.startsWith(`${mask}.`) || mask.startsWith(`${path}.`)),
  )

function conditionsOf(
  filters: Record<string, Filter>,
  search: readonly FragmentSqlToken[] | undefined,
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
  if (columns.length === 0) return sql.fragment`false`
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

const momentsOf = ({ column, reveals = ['created_at'] }: Column): Record<string, Filter> => ({
  created_at__gte: { schema: moment, reveals, where: (at) => sql.fragment`${column} >= ${instant(at)}` },
  created_at__lte: { schema: moment, reveals, where: (at) => sql.fragment`${column} <= ${instant(at)}` },
})

const instant = (at: string | boolean) => sql.timestamp(new Date(String(at)))

/** A filter by an id; `reveals`: of which field of an answer, if not of the one of its name. */
export const byId = (column: FragmentSqlToken, ...reveals: string[]): Filter => ({
  ...revealing(reveals),
  schema: idText,
  where: (value) => sql.fragment`${column} = ${value}::uuid`,
})

const revealing = (reveals: readonly string[]): Revealing => (reveals.length > 0 ? { reveals } : {})

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
export const byText = (
  column: FragmentSqlToken,
  schema: z.ZodType<string, unknown>,
  ...reveals: string[]
): Filter => ({
  ...revealing(reveals),
  schema,
  where: (value) => sql.fragment`${column} = ${value}`,
})
