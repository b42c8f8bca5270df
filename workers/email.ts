import { defineActor } from './actor.ts'
import { dropMail, mailDeliverer } from './deliver-mail.ts'

/** Slots of one tenant at most. */
const slots = { total: 5, perKey: 4 }

/** Sends the mails with codes and links, for which people wait. */
export const email = defineActor({
  name: 'email',
  queue: 'email',
  concurrency: slots.total,
  attempts: 30,
  backoff: { first: 1_000, longest: 600_000 },
  lockDuration: 15_000,
  handler: (deps) => mailDeliverer(deps, slots),
  onDeadLetter: dropMail,
})
