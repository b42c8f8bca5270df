import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import type { Keyset } from '../db/keyset.ts'
import type { List, ListPage, ListQuery } from '../db/list.ts'
import { invalidField } from '../errors.ts'

/** The shape of a page of `item` of a list that is only ever added to: nobody counts that. */
export const uncountedPageOf = <T extends z.ZodType>(item: T) =>
  z.object({ next: z.url().nullable(), previous: z.url().nullable(), results: z.array(item) })

/** The shape of a page of `item`. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  uncountedPageOf(item).extend({
    count: z.int().nullable().meta({
      description:
        'Entries in the whole list, as far as the filters leave them; null while a policy decides its rows one by one',
    }),
  })

/** What is asked for: a cursor belongs to its path, its tenant, filters and ordering; one of another is refused. */
interface Asked {
  path: string
  tenantId: string
  query: ListQuery
}

/** A list as one request asks for it. */
type Context = Asked & { sealer: Sealer; publicUrl: () => string; list: List }

/**
 * Answers a page of a list. `load` gives the rows that `page` asks for, one more than it holds where there is
 * another, and the count where the list has one. 400 for a cursor that this list never gave.
 */
export async function answerPage<Found extends { rows: readonly object[] }, T>(
  deps: { sealer: Sealer; publicUrl: () => string; clock: () => number },
  list: List,
  asked: Asked,
  load: (page: ListPage) => Promise<Found>,
  show: (row: Found['rows'][number]) => T,
): Promise<Omit<Found, 'rows'> & { next: string | null; previous: string | null; results: T[] }> {
  const context = { ...deps, ...asked, list }
  const keyset = openCursor(context)
  const { rows, ...counted } = await load(list.page(asked.query, keyset, deps.clock()))
  const page = rows.slice(0, keyset.size)
  if (keyset.backwards) page.reverse()
  const more = rows.length > keyset.size
  const first = page[0]
  const last = page.at(-1)
  const hasNext = keyset.backwards || more
  const hasPrevious = keyset.backwards ? more : keyset.from !== null
  return {
    ...counted,
    next: hasNext && last ? link(context, false, last) : null,
    previous: hasPrevious && first ? link(context, true, first) : null,
    results: page.map(show),
  }
}

function openCursor(context: Context): Keyset {
  const { page_size, cursor } = context.query
  const size = Number(page_size)
  if (typeof cursor !== 'string') return { size, from: null, backwards: false }
  const [body = '', mac = '', ...more] = cursor.split('.')
  const genuine =
    more.length === 0 && context.sealer.macs('cursor', bound(context, body)).some((m) => short(m) === mac)
  if (!genuine) throw invalidField('cursor', 'This cursor is not of this list. Begin again without one.')
  const [backwards, at, id] = JSON.parse(Buffer.from(body, 'base64url').toString())
  return { size, from: { at, id }, backwards }
}

function link(context: Context, backwards: boolean, row: object): string {
  const { list, query } = context
  const [at, id] = [list.orderedBy(query), list.id].map(({ field }) => placeIn(row, field))
  const body = Buffer.from(JSON.stringify([backwards, at, id])).toString('base64url')
  const cursor = `${body}.${short(context.sealer.mac('cursor', bound(context, body)))}`
  const url = new URL(`${context.publicUrl()}${context.path}/`)
  for (const [name, value] of Object.entries({ ...query, cursor }))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

function placeIn(row: object, field: string): string | number {
  const value = (row as Record<string, unknown>)[field]
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new Error(`A list is ordered by ${field}, which its rows lack`)
  return value
}

const short = (mac: Buffer) => mac.subarray(0, 16).toString('base64url')

/** What the MAC covers: the place, the list, its tenant, filters and ordering, but not the size of the page. */
const bound = ({ path, tenantId, query }: Asked, body: string) => {
  const { page_size: _size, cursor: _cursor, ...filters } = query
  return JSON.stringify([path, tenantId, Object.entries(filters).sort(), body])
}
