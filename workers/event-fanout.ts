import { listEventsOf } from '../src/platform/outbox/list-events-of.ts'
import { settleTogether } from '../src/platform/outbox/settle-together.ts'
import { defineActor } from './actor.ts'

/** The relay that put it on the queue died before the number was committed; it comes again. */
class EventWithoutSequence extends Error {
  override name = 'EventWithoutSequence'
}

/** Hands events, numbered by now, to who subscribed. So far these are readers of the feed, who come for them. */
export const eventFanout = defineActor({
  name: 'event-fanout',
  queue: 'event-fanout',
  concurrency: 50,
  attempts: 10,
  backoff: { first: 500, longest: 60_000 },
  lockDuration: 15_000,
  handler({ db, log }) {
    const settle = settleTogether(db, async (tx, messages) => {
      const events = await listEventsOf(tx, messages)
      if (events.some(({ sequence }) => sequence === null)) throw new EventWithoutSequence()
      for (const event of events) log.debug({ event }, 'event is in the feed')
    })
    return async (message) => {
      await settle(message)
    }
  },
})
