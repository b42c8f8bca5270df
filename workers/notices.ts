import { defineActor } from './actor.ts'
import { dropMail, mailDeliverer } from './deliver-mail.ts'

/** Slots of one tenant at most. */
const slots = { total: 3, perKey: 2 }

/** Sends the mails about what happened, a few an hour of a kind to one address. A process that runs `email` runs it too. */
export const notices = defineActor({
  name: 'notices',
  queue: 'notices',
  concurrency: slots.total,
  attempts: 30,
  backoff: { first: 1_000, longest: 600_000 },
  lockDuration: 15_000,
  handler: (deps) => mailDeliverer(deps, slots),
  onDeadLetter: dropMail,
})
