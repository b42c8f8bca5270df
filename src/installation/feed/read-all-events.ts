import { nilUuid } from '../../crypto/uuid.ts'
import { readInTenant } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { gone } from '../../errors.ts'
import { type CloudEvent, envelopeOf } from '../../events/envelope.ts'
import { listEventsAfter } from '../../events/feed/store.ts'
import type { Reads } from '../tokens/store.ts'
import { extendFeed, type FeedEntry, findLastEntry, listFeedEntries } from './store.ts'

/**
 * Where a reader of the feed is: behind the event `sequence` of the entry at `position`. `at` (ms since 1970): entries
 * behind it were made no earlier.
 */
export interface FeedCursor {
  position: number
  sequence: number
  at: number
}

/** A page of the feed over all tenants. */
export interface AllEventsPage {
  results: CloudEvent[]
  after: string
  has_more: boolean
}

const day = 86_400_000
const concurrency = 4
const start: FeedCursor = { position: 0, sequence: 0, at: 0 }

/** Parses the cursor of an answer; null for anything else. */
export function parseCursor(text: string): FeedCursor | null {
  const [, position, sequence, at] = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? []
  return at === undefined ? null : { position: Number(position), sequence: Number(sequence), at: Number(at) }
}

const textOf = ({ position, sequence, at }: FeedCursor) => `${position}.${sequence}.${at}`

type Part = FeedEntry & { from: number; to: number }

/**
 * Reads up to `size` events behind `cursor` (null: from the oldest that is kept), and answers those that the token reads. Those
 * of one tenant are in the order of their sequence. A reader that continues with `after` misses none. 410 `gone` if it comes back after
 * EVENT_RETENTION_DAYS.
 */
export async function readAllEvents(
  { db, clock, config }: Pick<Deps, 'db' | 'clock' | 'config'>,
  { eventTypes, tenantIds }: Reads,
  cursor: FeedCursor | null,
  size: number,
): Promise<AllEventsPage> {
  const now = clock()
  if (cursor && cursor.at < now - config.EVENT_RETENTION_DAYS * day)
    throw gone('Events behind this position are no longer kept. Begin again without after.')
  const known = cursor ?? start
  const { entries, end } = await asSystem(db, 'applications read the events of all tenants', async (tx) => {
    await extendFeed(tx, now)
    // That of the cursor, one for each event of the page, and one to know whether there are more.
    const wanted = { position: known.position, tenantIds, limit: size + 2 }
    return { entries: await listFeedEntries(tx, wanted), end: await findLastEntry(tx) }
  })
  const parts = partsOf(entries, known, size)
  const lists = await inTurns(parts, ({ tenant_id: tenantId, from, to }) =>
    readInTenant(db, { tenantId, userId: nilUuid }, (read) =>
      listEventsAfter(read, tenantId, from - 1, to - from + 1),
    ),
  )
  // Some events of a part can be deleted already: then the ones behind them are too many.
  const results = lists.flatMap(({ events }, index) =>
    events
      .filter(
        ({ sequence, type }) => sequence !== null && sequence <= parts[index]!.to && reads(eventTypes, type),
      )
      .map(envelopeOf),
  )
  const last = parts.at(-1)
  const next = last && hasMore(entries, last) ? behind(last) : null
  return {
    results,
    after: textOf(next ?? { ...known, ...endOf(end), at: now }),
    has_more: next !== null,
  }
}

const behind = ({ position, to, created_at }: Part): FeedCursor => ({
  position,
  sequence: to,
  at: created_at,
})

/** At the end: also behind the entries of tenants that the token does not read, so that they are not looked through again. */
const endOf = (end: FeedEntry | null) => end && { position: end.position, sequence: end.last_sequence }

/** Whether `types`, such as identity.*, contain a type; null for all. */
const reads = (types: Reads['eventTypes'], type: string): boolean =>
  types === null ||
  types.some((wanted) => (wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted))

/** The ranges of events behind the cursor, up to `size` events together. */
function partsOf(entries: readonly FeedEntry[], { position, sequence }: FeedCursor, size: number): Part[] {
  const parts: Part[] = []
  let left = size
  for (const entry of entries) {
    const from =
      entry.position === position ? Math.max(sequence + 1, entry.first_sequence) : entry.first_sequence
    const to = Math.min(entry.last_sequence, from + left - 1)
    if (from > entry.last_sequence) continue
    if (left === 0) break
    parts.push({ ...entry, from, to })
    left -= to - from + 1
  }
  return parts
}

const hasMore = (entries: readonly FeedEntry[], last: Part) =>
  last.to < last.last_sequence || entries.at(-1)!.position > last.position

/** Runs `work` on each part, a few at a time; the results are in the order of the parts. */
async function inTurns<T>(parts: readonly Part[], work: (part: Part) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let index = next++; index < parts.length; index = next++)
        results[index] = await work(parts[index]!)
    }),
  )
  return results
}
