import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import type { Keyset } from '../db/keyset.ts'
import { invalidField } from '../errors.ts'

const largest = 100

/** Query parameters of every list: `page_size` (default 20, over 100 gives 100) and the opaque `cursor`. */
export const listQuery = z.object({
  page_size: z
    .string()
    .regex(/^\d{1,6}$/, 'page_size has to be a whole number from 1 to 100.')
    .transform((text) => Math.min(Number(text), largest))
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

/** The shape of a page of `item`. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({
    count: z.int().meta({ description: 'Entries in the whole list' }),
    next: z.url().nullable(),
    previous: z.url().nullable(),
    results: z.array(item),
  })

/** A list that a cursor belongs to: its path, its tenant and its filters; a cursor of another is refused. */
export interface ListContext {
  sealer: Sealer
  publicUrl: string
  path: string
  tenantId: string
  query: Record<string, string | number | undefined>
}

/** Where in the list the page begins, for the store. Throws 400 for a cursor that this list never gave. */
export function openPage(list: ListContext): Keyset {
  const size = Number(list.query.page_size)
  const cursor = list.query.cursor
  if (typeof cursor !== 'string') return { size, from: null, backwards: false }
  const [body = '', mac = ''] = cursor.split('.')
  const genuine = list.sealer.macs('cursor', bound(list, body)).some((m) => short(m) === mac)
  if (!genuine) throw invalidField('cursor', 'This cursor is not of this list. Begin again without one.')
  const [backwards, at, id] = JSON.parse(Buffer.from(body, 'base64url').toString())
  return { size, from: { at, id }, backwards }
}

/**
 * Makes the answer of the rows that the store gave for `keyset` (one more than the page holds, in reading order of
 * the query). `keyOf` gives a row's place in the list.
 */
export function closePage<Row, T>(
  list: ListContext,
  keyset: Keyset,
  rows: readonly Row[],
  count: number,
  keyOf: (row: Row) => { at: number | string; id: string },
  show: (row: Row) => T,
) {
  const more = rows.length > keyset.size
  const page = rows.slice(0, keyset.size)
  if (keyset.backwards) page.reverse()
  const first = page[0]
  const last = page.at(-1)
  const hasNext = keyset.backwards || more
  const hasPrevious = keyset.backwards ? more : keyset.from !== null
  return {
    count,
    next: hasNext && last ? link(list, false, keyOf(last)) : null,
    previous: hasPrevious && first ? link(list, true, keyOf(first)) : null,
    results: page.map(show),
  }
}

function link(list: ListContext, backwards: boolean, key: { at: number | string; id: string }): string {
  const body = Buffer.from(JSON.stringify([backwards, key.at, key.id])).toString('base64url')
  const cursor = `${body}.${short(list.sealer.mac('cursor', bound(list, body)))}`
  const url = new URL(`${list.publicUrl}${list.path}/`)
  for (const [name, value] of Object.entries({ ...list.query, cursor }))
    if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

const short = (mac: Buffer) => mac.subarray(0, 16).toString('base64url')

/** What the MAC covers: the place, the list, its tenant and its filters, but not the size of the page. */
const bound = (list: ListContext, body: string) => {
  const { page_size: _size, cursor: _cursor, ...filters } = list.query
  return JSON.stringify([list.path, list.tenantId, Object.entries(filters).sort(), body])
}
