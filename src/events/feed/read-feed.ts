import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { envelopeOf } from '../envelope.ts'
import { listEventsAfter } from './store.ts'

/** The sequence of the last event that was seen, and how many are wanted. */
interface Place {
  after: number
  page_size: number
}

/**
 * The events after a place in the tenant's sequence, which has no gaps and grows at its end alone: whoever goes on from
 * the last one they saw misses none. `next` is null at the present end.
 */
export async function readFeed(deps: Deps, actor: Actor, { after, page_size }: Place) {
  const { tenantId } = actor
  const rows = await readInTenant(deps.db, actor, (read) =>
    listEventsAfter(read, tenantId, after, page_size + 1),
  )
  const page = rows.slice(0, page_size)
  const last = page.at(-1)?.sequence ?? after
  const link = (from: number, size: number) =>
    `${deps.publicUrl()}/api/v1/events/?after=${from}&page_size=${size}`
  return {
    next: rows.length > page_size ? link(last, page_size) : null,
    previous: after > 0 ? link(Math.max(0, after - page_size), Math.min(after, page_size)) : null,
    results: page.map(envelopeOf),
  }
}
