import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import { type Read, readInTenant } from '../database/executor/read.ts'
import type { Databases } from '../database/executor/transaction.ts'
import { DecidedPage } from '../request/answer/decided-page.ts'
import type { Bearer, Caller, ResourceOf } from '../request/caller.ts'
import { pathId } from '../request/path-id.ts'
import { invalidCursor, openCursor, sealCursor } from './cursors.ts'
import { fillPage } from './fill-page.ts'
import type { Keyset } from './keyset.ts'
import type { List, ListPage, ListQuery, ListScope } from './list.ts'

/** The schema of a page without a count, for append-only lists. */
export const uncountedPageOf = <T extends z.ZodType>(item: T) =>
  z.object({ next: z.url().nullable(), previous: z.url().nullable(), results: z.array(item) })

/** The schema of a page of `item`. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  uncountedPageOf(item).extend({
    count: z.int().nullable().meta({
      description:
        'Entries in the whole list that match the filters; null when a policy decides rows one by one',
    }),
  })

interface PageRequest {
  path: string
  query: ListQuery
}

interface Deps {
  sealer: Sealer
  publicUrl: () => string
  clock: () => number
}

/** The rows of one page, and the count if the list has one. */
interface Page {
  rows: readonly object[]
}

/** A list that is read together with the caller's auth context. */
interface Listing<Found extends Page, T> {
  /** The route's path. */
  path: string
  /** Checks an id in the path. Throws 404. By default it is a UUID. */
  readId?(text: string | undefined): string
  list: List
  /** Asks for all its statements before its first await. */
  rows(read: Read, input: { caller: Bearer; params: Record<string, string> }, page: ListPage): Promise<Found>
  show(row: Found['rows'][number], caller: Bearer): T
}

/** A page and its count, asked for together. */
export async function pageAndCount<Row extends object>(
  page: Promise<readonly Row[]>,
  total: Promise<number>,
): Promise<{ rows: readonly Row[]; count: number }> {
  const [rows, count] = await Promise.all([page, total])
  return { rows, count }
}

/** A page of a list without a count. */
export const uncounted = async <Row extends object>(page: Promise<readonly Row[]>) => ({ rows: await page })

/** An object and the first page of a list of it, asked for together; null without the object. */
export async function together<Found, First>(object: Promise<Found | null>, first: Promise<First>) {
  const [found, page] = await Promise.all([object, first])
  return found && { found, page }
}

/** What the functions of a route need to answer a list: `load` asks for the first page, `handle` answers. */
export function listing<Found extends Page, T>(
  deps: Deps & { db: Pick<Databases, 'api'> },
  { path, readId = pathId, list, rows, show }: Listing<Found, T>,
) {
  type Input = { caller: Bearer; params: Record<string, string>; query: ListQuery }
  const pageRequestOf = ({ params, query }: Input): PageRequest => ({
    path: path.replace(/:(\w+)/g, (_, name) => readId(params[name])),
    query,
  })
  return {
    path,
    query: list.query,
    async load(read: Read, input: Input): Promise<{ first: Found | null }> {
      const keyset = keysetOf(deps, input.caller, pageRequestOf(input))
      if (!keyset) return { first: null }
      return { first: await rows(read, input, list.page(input.query, keyset, scopeOf(deps, input.caller))) }
    },
    handle(input: Input & { caller: Caller }, { first }: { first: Found | null }) {
      const { caller } = input
      const load = (page: ListPage) => readInTenant(deps.db, caller, (read) => rows(read, input, page))
      return answerPage(deps, caller, list, pageRequestOf(input), load, (row) => show(row, caller), { first })
    },
  }
}

interface RowOptions<Found extends Page> {
  first?: Found | null
  resource?: (row: Found['rows'][number]) => ResourceOf | null
}

/**
 * Answers a page of a list with the rows that the caller may see. `load` gives the rows of `page`, one more when there
 * is a next page, and the count if the list has one. `show` converts a row to its answer. `first`: the first page, if it
 * is loaded already with a search in all fields. `resource`: the row as its detail is decided, if its answer does not
 * say it. Throws 400 for a cursor of another list, and 403 for a filter or ordering by a field that is masked for the
 * caller.
 */
export async function answerPage<Found extends Page, T>(
  deps: Deps,
  caller: Pick<Caller, 'tenantId' | 'userId' | 'viewOfRows'>,
  list: List,
  { path, query }: PageRequest,
  load: (page: ListPage) => Promise<Found>,
  show: (row: Found['rows'][number]) => T,
  { first = null, resource }: RowOptions<Found> = {},
) {
  const { sealer, publicUrl } = deps
  const view = caller.viewOfRows()
  const revealing = list.parameterRevealing(query, view.masked)
  if (revealing !== null) throw view.refuse(revealing)
  const scope = { path, tenantId: caller.tenantId, userId: caller.userId, query }
  const keyset = keysetOf(deps, caller, { path, query })
  if (!keyset) throw invalidCursor()
  const at = scopeOf(deps, caller)
  let loaded = view.masked.length > 0 && query.search !== undefined ? null : first
  const loadFrom = async (from: Keyset['from']) => {
    const found = loaded ?? (await load(list.page(query, { ...keyset, from }, at, view.masked)))
    loaded = null
    return found
  }
  const positionOf = (row: object): NonNullable<Keyset['from']> => ({
    at: valueIn(row, list.orderedBy(query).field),
    id: String(valueIn(row, list.id.field)),
  })
  const decidable = (row: Found['rows'][number]) => ({
    row: show(row),
    ...(resource && { resource: resource(row) }),
  })
  const page = await fillPage(view, keyset, loadFrom, decidable, positionOf)
  const link = (backwards: boolean, row: object | undefined) =>
    row
      ? linkTo(publicUrl(), path, query, sealCursor(sealer, scope, { backwards, ...positionOf(row) }))
      : null
  const { ahead, behind } = page
  return new DecidedPage({
    ...page.counted,
    ...(view.selective && 'count' in page.counted && { count: null }),
    next: keyset.backwards ? link(false, behind) : link(false, ahead),
    previous: keyset.backwards ? link(true, ahead) : link(true, behind),
    results: keyset.backwards ? page.results.toReversed() : page.results,
  })
}

const scopeOf = ({ clock }: Deps, { tenantId }: { tenantId: string }): ListScope => ({
  tenantId,
  now: clock(),
})

/** The position that a query asks for; null if its cursor does not open. */
function keysetOf(
  { sealer }: Pick<Deps, 'sealer'>,
  { tenantId, userId }: Pick<Bearer, 'tenantId' | 'userId'>,
  { path, query }: PageRequest,
): Keyset | null {
  const { page_size, cursor } = query
  const size = Number(page_size)
  if (typeof cursor !== 'string') return { size, from: null, backwards: false }
  const position = openCursor(sealer, { path, tenantId, userId, query }, cursor)
  if (!position) return null
  const { backwards, ...from } = position
  return { size, from, backwards }
}

function linkTo(publicUrl: string, path: string, query: ListQuery, cursor: string): string {
  const url = new URL(`${publicUrl}${path}/`)
  for (const [name, value] of Object.entries({ ...query, cursor }))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

function valueIn(row: object, field: string): string | number {
  const value = (row as Record<string, unknown>)[field]
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new Error(`A list is ordered by ${field}, which its rows do not have`)
  return value
}
