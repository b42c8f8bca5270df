import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { gone } from '../../errors.ts'
import { envelopeOf } from '../envelope.ts'
import { listEventsAfter } from './store.ts'

/** The sequence of the last event that the caller has seen (absent: none, or all but the newest page), and the page size. */
interface FeedPosition {
  after?: number | undefined
  newest?: boolean | undefined
  page_size: number
}

/** Loads one event more than a page, so that the end is known. */
export const loadFeed = (read: Read, tenantId: string, { after, newest, page_size }: FeedPosition) =>
  listEventsAfter(read, tenantId, after ?? (newest ? 'newest' : null), page_size + 1)

type LoadedFeed = Awaited<ReturnType<typeof loadFeed>>

/**
 * Shows the events after a position in the tenant's sequence. The sequence has no gaps and grows only at its end, so a
 * caller who continues from the last event seen misses none. Without a position the feed starts with the oldest event
 * that is kept, or with the newest page. `next` is null at the end. 410 `gone` when events after the position were deleted.
 */
export function showFeed(
  { publicUrl }: Pick<Deps, 'publicUrl'>,
  { after: given, newest, page_size }: FeedPosition,
  { events, deletedUpTo }: LoadedFeed,
) {
  const first = newest ? events[0]?.sequence : null
  const after = given ?? (first ? first - 1 : deletedUpTo)
  if (after < deletedUpTo)
    throw gone(`Events up to ${deletedUpTo} are no longer kept. Continue with after=${deletedUpTo}.`, {
      oldest: deletedUpTo,
    })
  const page = events.slice(0, page_size)
  const last = page.at(-1)?.sequence ?? after
  const link = (from: number, size: number) => `${publicUrl()}/api/v1/events/?after=${from}&page_size=${size}`
  const before = Math.min(after - deletedUpTo, page_size)
  return {
    next: events.length > page_size ? link(last, page_size) : null,
    previous: before > 0 ? link(after - before, before) : null,
    results: page.map(envelopeOf),
  }
}
