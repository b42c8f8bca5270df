import { z } from 'zod'
import type { Sealer } from '../crypto/seal.ts'
import type { Keyset } from '../db/keyset.ts'
import type { List, ListPage, ListQuery } from '../db/list.ts'
import type { Caller } from './caller.ts'
import { type CursorPosition, openCursor, sealCursor } from './cursors.ts'
import { fillPage } from './fill-page.ts'

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

/** A page whose rows are decided already. */
export class DecidedPage<T> {
  readonly body: T
  constructor(body: T) {
    this.body = body
  }
}

interface Asked {
  path: string
  query: ListQuery
}

interface Deps {
  sealer: Sealer
  publicUrl: () => string
  clock: () => number
}

/**
 * Answers a page of a list with the rows that the caller may see. `load` gives the rows of `page`, one more when there
 * is a next page, and the count if the list has one. `show` converts a row to its answer. Throws 400 for a cursor of
 * another list, and 403 for a filter or ordering by a field that is masked for the caller.
 */
export async function answerPage<Found extends { rows: readonly object[] }, T>(
  { sealer, publicUrl, clock }: Deps,
  caller: Pick<Caller, 'tenantId' | 'userId' | 'viewOfRows'>,
  list: List,
  { path, query }: Asked,
  load: (page: ListPage) => Promise<Found>,
  show: (row: Found['rows'][number]) => T,
) {
  const view = caller.viewOfRows()
  const revealing = list.parameterRevealing(query, view.masked)
  if (revealing !== null) throw view.refuse(revealing)
  const scope = { path, tenantId: caller.tenantId, userId: caller.userId, query }
  const keyset = keysetOf(query, (cursor) => openCursor(sealer, scope, cursor))
  const now = clock()
  const loadFrom = (from: Keyset['from']) => load(list.page(query, { ...keyset, from }, now, view.masked))
  const positionOf = (row: object): NonNullable<Keyset['from']> => ({
    at: valueIn(row, list.orderedBy(query).field),
    id: String(valueIn(row, list.id.field)),
  })
  const page = await fillPage(view, keyset, loadFrom, show, positionOf)
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

function keysetOf({ page_size, cursor }: ListQuery, open: (cursor: string) => CursorPosition): Keyset {
  const size = Number(page_size)
  if (typeof cursor !== 'string') return { size, from: null, backwards: false }
  const { backwards, ...from } = open(cursor)
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
