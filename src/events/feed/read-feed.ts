import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import { gone } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { envelopeOf } from '../envelope.ts'
import { listEventsAfter } from './store.ts'

/** The sequence of the last event that was seen (absent: none), and how many are wanted. */
interface FeedPosition {
  after?: number | undefined
  page_size: number
}

/**
 * The events after a position in the tenant's sequence, which has no gaps and grows at its end alone: whoever goes on
 * from the last one they saw misses none. Without a position it begins with the oldest event that is kept. `next` is
 * null at the present end. 410 `gone` for a position behind which events were deleted.
 */
export async function readFeed(deps: Deps, caller: Caller, { after: asked, page_size }: FeedPosition) {
  const { tenantId } = caller
  const { events, deletedUpTo } = await readInTenant(deps.db, caller, (read) =>
    listEventsAfter(read, tenantId, asked ?? null, page_size + 1),
  )
  const after = asked ?? deletedUpTo
  if (after < deletedUpTo)
    throw gone(`Events up to ${deletedUpTo} are no longer kept. Go on with after=${deletedUpTo}.`, {
      oldest: deletedUpTo,
    })
  const page = events.slice(0, page_size)
  const last = page.at(-1)?.sequence ?? after
  const link = (from: number, size: number) =>
    `${deps.publicUrl()}/api/v1/events/?after=${from}&page_size=${size}`
  const before = Math.min(after - deletedUpTo, page_size)
  return {
    next: events.length > page_size ? link(last, page_size) : null,
    previous: before > 0 ? link(after - before, before) : null,
    results: page.map(envelopeOf),
  }
}
