import { findEvent } from '../src/platform/outbox/find-event.ts'
import { defineActor } from './actor.ts'

/** Hands an event, numbered by now, to whoever subscribed. Subscribers are the readers of the feed, who come for it. */
export const eventFanout = defineActor({
  name: 'event-fanout',
  queue: 'event-fanout',
  concurrency: 10,
  attempts: 10,
  backoff: { first: 500, longest: 60_000 },
  lockDuration: 15_000,
  async handle(deps, { tenantId, message, settle }) {
    await settle(async (tx) => {
      const event = await findEvent(tx, tenantId, message.event_id)
      deps.log.debug({ event_id: message.event_id, tenant_id: tenantId, ...event }, 'event is in the feed')
    })
  },
})
