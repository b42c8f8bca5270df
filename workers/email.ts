import { asWorker } from '../src/platform/db/transaction.ts'
import { RefusedForGood, UnrecoverableError } from '../src/platform/describe-error.ts'
import { claimMail, markFailed, markSent } from '../src/platform/mail/mail-store.ts'
import { writeLetter } from '../src/platform/mail/templates.ts'
import { acknowledge } from '../src/platform/outbox/acknowledge.ts'
import { appendEvent } from '../src/platform/outbox/append-event.ts'
import { untilRecorded } from '../src/platform/outbox/until-recorded.ts'
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
    const record = () =>
      acknowledge(deps.db, delivery, async (tx) => {
        if (mail) await markSent(tx, tenantId, id, deps.clock())
      })
    await untilRecorded(deps.log, { mail_id: id }, record)
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

interface SmtpError {
  code?: string
  responseCode?: number
  /** The command that the server answered, such as `RCPT TO`. */
  command?: string
  /** The answer of the server. It can repeat the address, so it is not logged. */
  response?: string
}

/**
 * A 5xx about the envelope or the content is permanent (RFC 5321 §4.2.1). It is the recipient's if the server says so
 * (RFC 3463: X.1.Z about the address but not the sender's, X.2.Z about the mailbox), or refuses `RCPT TO` without a code
 * of RFC 3463. Every other refusal, such as of the sender or the relay, is a fault that an operator has to mend.
 */
function refuse(error: unknown): never {
  const { code, responseCode, command, response = '' } = error as SmtpError
  const final = code === 'EENVELOPE' || code === 'EMESSAGE'
  if (!final || !responseCode || responseCode < 500) throw error
  const [, subject, detail] = /^\d{3}[ -]5\.(\d{1,3})\.(\d{1,3})\b/.exec(response) ?? []
  const aboutSender = subject === '1' && (detail === '7' || detail === '8')
  const aboutRecipient =
    subject === undefined ? command === 'RCPT TO' : (subject === '1' || subject === '2') && !aboutSender
  const message = `The mail server refused it for good: ${responseCode}`
  throw aboutRecipient ? new RefusedForGood(message) : new UnrecoverableError(message)
}
