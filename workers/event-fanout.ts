import { createDeliveries } from '../src/events/webhooks/create-deliveries.ts'
import { sumPerMinute } from '../src/limits/sum-per-minute.ts'
import { acknowledgeTogether } from '../src/messages/outbox/acknowledge-together.ts'
import { listEventsOf } from '../src/messages/outbox/event-store.ts'
import { defineActor } from './actor.ts'

/** The relay enqueued the event and died before it committed the sequence. The message is tried again. */
class EventWithoutSequence extends Error {
  override name = 'EventWithoutSequence'
}

/** Creates the deliveries of numbered events for the webhooks that subscribe to them. The feed needs no fan-out. */
export const eventFanout = defineActor({
  name: 'event-fanout',
  queue: 'event-fanout',
  concurrency: 50,
  attempts: 10,
  backoff: { first: 500, longest: 60_000 },
  lockDuration: 15_000,
  handler({ db, log, clock, config, metrics }) {
    const warn = sumPerMinute<{ count: number }>((tenant_id, sums) =>
      log.warn(
        { tenant_id, ...sums },
        'deliveries were dropped: the tenant has used up its deliveries of the day',
      ),
    )
    const acknowledge = acknowledgeTogether(db, 'event-fanout', async (tx, messages) => {
      const events = await listEventsOf(tx, messages)
      if (events.some(({ sequence }) => sequence === null)) throw new EventWithoutSequence()
      const now = clock()
      const dropped = await createDeliveries(tx, messages, now, config.LIMIT_DELIVERIES_PER_DAY)
      for (const { tenantId, count } of dropped) {
        metrics.deliveriesDropped(count)
        warn(tenantId, { count }, now)
      }
      for (const event of events) log.debug({ event }, 'event is in the feed')
    })
    return async (message) => {
      await Promise.all([message, ...message.others].map(acknowledge))
    }
  },
})
