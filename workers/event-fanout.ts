import { createDeliveries } from '../src/events/webhooks/create-deliveries.ts'
import { acknowledgeTogether } from '../src/platform/outbox/acknowledge-together.ts'
import { listEventsOf } from '../src/platform/outbox/event-store.ts'
import { sumPerMinute } from '../src/platform/sum-per-minute.ts'
import { defineActor } from './actor.ts'

/** The relay that put it on the queue died before the number was committed; it comes again. */
class EventWithoutSequence extends Error {
  override name = 'EventWithoutSequence'
}

/** Hands events, numbered by now, to the webhooks that want them; readers of the feed come for theirs. */
export const eventFanout = defineActor({
  name: 'event-fanout',
  queue: 'event-fanout',
  concurrency: 50,
  attempts: 10,
  backoff: { first: 500, longest: 60_000 },
  lockDuration: 15_000,
  handler({ db, log, clock, config, metrics }) {
    const tell = sumPerMinute<{ count: number }>((tenant_id, sums) =>
      log.warn(
        { tenant_id, ...sums },
        'deliveries of a tenant are not made: it has had its number for the day',
      ),
    )
    const acknowledge = acknowledgeTogether(db, async (tx, messages) => {
      const events = await listEventsOf(tx, messages)
      if (events.some(({ sequence }) => sequence === null)) throw new EventWithoutSequence()
      const now = clock()
      for (const { tenantId, count } of await createDeliveries(
        tx,
        messages,
        now,
        config.LIMIT_DELIVERIES_PER_DAY,
      )) {
        metrics.deliveriesDropped(count)
        tell(tenantId, { count }, now)
      }
      for (const event of events) log.debug({ event }, 'event is in the feed')
    })
    return async (message) => {
      await acknowledge(message)
    }
  },
})
