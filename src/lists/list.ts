import { type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import { type Keyset, keyset } from './keyset.ts'

/** The answer fields (paths) whose values a parameter reveals. Default: the field with the parameter's name. */
interface Revealing {
  reveals?: readonly string[]
}

/** A column that a list can be ordered by (never null), and the row's property that holds it. */
export interface Column extends Revealing {
  column: FragmentSqlToken
  field: string
}

/** A filter: the form of its value in a query string, the `usual` one if none is given, and its SQL condition. */
export interface Filter extends Revealing {
  schema: z.ZodType<string | boolean, unknown>
  usual?: string
  where(value: string | boolean, scope: ListScope): FragmentSqlToken
  /** For a condition that joins: the same row by row, for rows that are read in the order of the list. */
  whereInOrder?(value: string | boolean, scope: ListScope): FragmentSqlToken
}

/** The tenant whose rows a list reads, and the time (ms since 1970), for conditions that depend on them. */
export interface ListScope {
  tenantId: string
  now: number
}

/** A column to search: in lower case, with the collation C, in an index led by tenant_id. */
export interface Searched {
  column: FragmentSqlToken
  reveals: readonly string[]
}

/** The description of a list for {@link defineList}. */
export interface ListDescription {
  id: Column
  /** By the name that callers use. The default order is by `created_at`. */
  orderings: { created_at: Column } & Record<string, Column>
  filters?: Record<string, Filter>
  search?: readonly Searched[]
  newestFirst?: boolean
}

export type ListQuery = Record<string, unknown>

/** A list: its query parameters, and the SQL for their values. */
export interface List {
  query: z.ZodObject
  /** The column that orders the answer to `query`. */
  orderedBy(query: ListQuery): Column
  id: Column
  /**
   * The first filter or ordering of the query that would reveal a masked field, or null. A search reveals nothing,
   * because it skips masked fields.
   */
  parameterRevealing(query: ListQuery, masked: readonly string[]): string | null
  page(query: ListQuery, keyset: Keyset, scope: ListScope, masked?: readonly string[]): ListPage
}

/** The SQL of a page. `conditions` and `end` begin with `and`, because they follow the condition on the tenant. */
export interface ListPage {
  filtered: boolean
  /** The filters, for the count of matching rows. */
  conditions: FragmentSqlToken
  /** Position, order and limit. */
  end: FragmentSqlToken
  /** `conditions` and `end` together: the end of the list's query. */
  tail: FragmentSqlToken
  /** The same, with conditions that do not join. */
  tailInOrder: FragmentSqlToken
  /** whether a condition joins */
  joins: boolean
}

/** Query parameters of every list: `page_size` (default 20, over 100 gives 100) and the opaque `cursor`. */
export const listQuery = z.object({
  page_size: z
    .string()
    .regex(/^\d{1,6}$/, 'page_size must be a whole number from 1 to 100.')
    .transform((text) => Math.min(Number(text), 100))
    .refine((size) => size > 0, 'page_size must be at least 1.')
    .default(20)
    .meta({
      description: 'Entries per page; a larger number counts as 100',
      override: { type: 'integer', pattern: undefined, minimum: 1, maximum: 100, default: 20 },
    }),
  cursor: z
    .string()
    .max(1_000)
    .optional()
    .meta({ description: 'From `next` or `previous` of an earlier answer' }),
})

/**
 * Makes a list from its description. Adds the parameters `created_at__gte`, `created_at__lte`, `ordering` and `search`.
 */
export function defineList(described: ListDescription): List {
  const { id, orderings, search } = described
  const filters = { ...described.filters, ...momentsOf(orderings.created_at) }
  const usual = described.newestFirst ? '-created_at' : 'created_at'
  const shape: Record<string, z.ZodType> = { ordering: orderingOf(Object.keys(orderings), usual) }
  for (const [name, { schema }] of Object.entries(filters)) shape[name] = schema.optional()
  if (search) shape.search = searchText
  const chosenOrdering = (query: ListQuery) => String(query.ordering ?? usual)
  const nameOf = (ordering: string) => ordering.replace('-', '')
  const orderedBy = (query: ListQuery) => orderings[nameOf(chosenOrdering(query))]!
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
    page(query, position, scope, masked = []) {
      const searched = search
        ?.filter(({ reveals }) => !revealsAny(reveals, masked))
        .map(({ column }) => column)
      const asked = conditionsOf(filters, searched, query, scope)
      const conditions = together(asked)
      const end = keyset(position, orderedBy(query).column, id.column, chosenOrdering(query).startsWith('-'))
      const inOrder = together(conditionsOf(filters, searched, query, scope, true))
      return {
        filtered: asked.length > 0,
        conditions,
        end,
        tail: sql.fragment`${conditions} ${end}`,
        tailInOrder: sql.fragment`${inOrder} ${end}`,
        joins: Object.entries(filters).some(
          ([name, filter]) => filter.whereInOrder && query[name] !== undefined,
        ),
      }
    },
  }
}

/** True when one of the paths is masked, or is inside a masked path, or contains one. */
const revealsAny = (paths: readonly string[], masked: readonly string[]) =>
  paths.some((path) =>
    masked.some((mask) => `${path}.`.startsWith(`${mask}.`) || mask.startsWith(`${path}.`)),
  )

function conditionsOf(
  filters: Record<string, Filter>,
  search: readonly FragmentSqlToken[] | undefined,
  query: ListQuery,
  scope: ListScope,
  inOrder = false,
): FragmentSqlToken[] {
  const asked = Object.entries(filters)
    .filter(([name, { usual }]) => (query[name] ?? usual) !== undefined)
    .map(([name, filter]) => {
      const value = (query[name] ?? filter.usual) as string | boolean
      return (inOrder && filter.whereInOrder?.(value, scope)) || filter.where(value, scope)
    })
  return search && typeof query.search === 'string' ? [...asked, beginsWith(search, query.search)] : asked
}

const together = (conditions: FragmentSqlToken[]) =>
  conditions.reduce((all, one) => sql.fragment`${all} and ${one}`, sql.fragment``)

const last = '\u{10ffff}'

/** A column begins with the text. A range, because LIKE is not leakproof: with RLS it cannot use an index. */
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
      `Order by ${names.join(' or ')}; put - before it for the reverse order.`,
    )
    .optional()
    .meta({ description: `Default: ${usual}` })

const searchText = z
  .string()
  .max(254, 'Search for at most 254 characters.')
  .transform((text) => text.trim() || undefined)
  .optional()
  .meta({
    description: 'Beginning of an e-mail address or a name, in any case',
    override: { type: 'string' },
  })

const moment = z.iso
  .datetime({ offset: true, error: 'Give a time as RFC 3339, such as 2026-11-21T09:30:00Z.' })
  .transform((text) => new Date(text).toISOString())
  .meta({ override: { type: 'string', format: 'date-time' } })

const momentsOf = ({ column, reveals = ['created_at'] }: Column): Record<string, Filter> => ({
  created_at__gte: { schema: moment, reveals, where: (at) => sql.fragment`${column} >= ${instant(at)}` },
  created_at__lte: { schema: moment, reveals, where: (at) => sql.fragment`${column} <= ${instant(at)}` },
})

const instant = (at: string | boolean) => sql.timestamp(new Date(String(at)))

/** A filter by an id. `reveals`: the fields it reveals, unless it is the field of its own name. */
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
  schema: z.enum([...words], `This must be ${words.join(' or ')}.`),
  where: (value) => sql.fragment`${column} = ${value}`,
})

/** A filter by true or false. */
export const byFlag = (column: FragmentSqlToken): Filter => ({
  schema: z
    .string()
    .toLowerCase()
    .pipe(z.enum(['true', 'false', '1', '0'], 'This must be true or false.'))
    .transform((word) => word === 'true' || word === '1')
    .meta({ override: { type: 'boolean' } }),
  where: (value) => sql.fragment`${column} = ${value}`,
})

/** A filter by a text. `schema` converts it to its stored form. */
export const byText = (
  column: FragmentSqlToken,
  schema: z.ZodType<string, unknown>,
  ...reveals: string[]
): Filter => ({
  ...revealing(reveals),
  schema,
  where: (value) => sql.fragment`${column} = ${value}`,
})
