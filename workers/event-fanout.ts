import { listEventsOf } from '../src/platform/outbox/list-events-of.ts'
import { settleTogether } from '../src/platform/outbox/settle-together.ts'
import { defineActor } from './actor.ts'

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
      for (const event of await listEventsOf(tx, messages)) log.debug({ event }, 'event is in the feed')
    })
    return async (message) => {
      await settle(message)
    }
  },
})
