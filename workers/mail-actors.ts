import type { MailQueue } from '../src/messages/queues/queues.ts'
import { defineActor } from './actor.ts'
import { dropMail, mailDeliverer } from './deliver-mail.ts'
import type { Slots } from './fair-slots.ts'

/** The actor of a queue of mails, of the same name. Of its `total` slots one tenant gets `perKey` at most. */
const mailActor = (queue: MailQueue, slots: Slots) =>
  defineActor({
    name: queue,
    queue,
    concurrency: slots.total,
    attempts: 30,
    backoff: { first: 1_000, longest: 600_000 },
    lockDuration: 15_000,
    handler: (deps) => mailDeliverer(deps, slots),
    onDeadLetter: dropMail,
  })

/** Sends the mails with codes and links, for which people wait. */
export const email = mailActor('email', { total: 5, perKey: 4 })

/** Sends the mails about what happened, a few an hour of a kind to one address. A process that runs `email` runs it too. */
export const notices = mailActor('notices', { total: 3, perKey: 2 })
