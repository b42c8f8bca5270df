import { asWorker } from '../src/platform/db/transaction.ts'
import { RefusedForGood } from '../src/platform/describe-error.ts'
import { claimMail, markFailed, markSent } from '../src/platform/mail/mail-store.ts'
import { writeLetter } from '../src/platform/mail/templates.ts'
import { acknowledge } from '../src/platform/outbox/acknowledge.ts'
import { appendEvent } from '../src/platform/outbox/append-event.ts'
import { defineActor } from './actor.ts'

/**
 * Sends a mail: pending → sending → sent. After a crash the worker cannot know whether the mail server accepted the
 * mail before `sent` was committed, so it sends the mail again, with the same Message-ID.
 */
export const email = defineActor({
  name: 'email',
  queue: 'email',
  concurrency: 5,
  attempts: 30,
  backoff: { first: 1_000, longest: 600_000 },
  lockDuration: 15_000,
  handler: (deps) => async (delivery) => {
    const { tenantId, message } = delivery
    const id = message.mail_id
    const mail = await asWorker(deps.db, (tx) => claimMail(tx, deps.sealer, delivery, id))
    if (mail) {
      const letter = writeLetter(mail.template, mail.variables)
      await deps.mail.send({ id, to: mail.to, at: deps.clock(), ...letter }).catch(refuse)
    }
    await acknowledge(deps.db, delivery, async (tx) => {
      if (mail) await markSent(tx, tenantId, id, deps.clock())
    })
    const facts = { mail_id: id, template: mail?.template, request_id: message.request_id }
    deps.log.info(facts, mail ? 'mail sent' : 'mail was sent before')
  },
  onDeadLetter:
    (message, { tenantId, reason, at }) =>
    async (tx) => {
      const template = await markFailed(tx, tenantId, message.mail_id)
      if (reason === 'refused' && template !== null)
        await appendEvent(tx, {
          type: 'tenant.mail_refused',
          tenantId,
          subject: message.mail_id,
          data: { mail_id: message.mail_id, template },
          actorId: null,
          requestId: message.request_id ?? message.mail_id,
          at,
        })
    },
})

/** A 5xx about the recipient or the content is permanent (RFC 5321 §4.2.1). */
function refuse(error: unknown): never {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  const final = code === 'EENVELOPE' || code === 'EMESSAGE'
  if (final && responseCode && responseCode >= 500)
    throw new RefusedForGood(`The mail server refused it for good: ${responseCode}`)
  throw error
}
