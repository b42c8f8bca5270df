import { asWorker } from '../src/database/executor/transaction.ts'
import type { Brand } from '../src/messages/mail/brand.ts'
import type { Letter } from '../src/messages/mail/letter.ts'
import {
  type ClaimedMail,
  claimMail,
  deleteMail,
  findReader,
  markFailed,
  markSent,
} from '../src/messages/mail/mail-store.ts'
import { decideNotice, type NoticeDecision } from '../src/messages/mail/notice-windows.ts'
import { stationeryFor } from '../src/messages/mail/stationery.ts'
import { hourlyLimitOf, isOfTenant, summaryOf, writeLetter } from '../src/messages/mail/templates.ts'
import { acknowledge, type Effect, type NewDeadLetter } from '../src/messages/outbox/acknowledge.ts'
import { appendEvent } from '../src/messages/outbox/append-event.ts'
import { untilRecorded } from '../src/messages/outbox/until-recorded.ts'
import { DelayedError } from '../src/messages/queues/delayed-error.ts'
import type { MailQueue, Message } from '../src/messages/queues/queues.ts'
import { RefusedForGood, UnrecoverableError } from '../src/observe/describe-error.ts'
import { findBrand } from '../src/tenancy/tenants/brand-store.ts'
import type { ActorMessage } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { fairSlots, type Slots } from './fair-slots.ts'

type Delivery = ActorMessage<MailQueue>

/** ms. Sending takes less time than what other queues do, so the wait for a slot is short. */
const step = 50

/**
 * Returns what handles a message of a mail queue. A mail goes pending → sending → sent. After a crash the worker cannot
 * know whether the mail server accepted the mail before `sent` was committed, so it sends the mail again, with the same
 * Message-ID. A notice beyond the limit of its address is deleted instead, or waits to say how many were.
 */
export function mailDeliverer(deps: WorkerDeps, slots: Slots) {
  const inFairSlot = fairSlots({ ...slots, step })
  return (delivery: Delivery) => inFairSlot(delivery.id, [delivery.tenantId], () => deliver(deps, delivery))
}

async function deliver(deps: WorkerDeps, delivery: Delivery): Promise<void> {
  const { tenantId, message } = delivery
  const id = message.mail_id
  const { mail, reader, brand, decision } = await claim(deps, delivery)
  if (decision.act === 'wait') throw new DelayedError(decision.waitMs)
  if (mail && decision.act !== 'withhold') {
    const letter = letterOf(deps, mail, { reader, brand, decision })
    await deps.mail.send({ id, to: mail.to, at: deps.clock(), ...letter }).catch(refuse)
  }
  const record = () =>
    acknowledge(deps.db, delivery, async (tx) => {
      if (decision.act === 'withhold') await deleteMail(tx, tenantId, id)
      else if (mail) await markSent(tx, tenantId, id, deps.clock())
    })
  await untilRecorded(deps.log, { mail_id: id }, record)
  const facts = { mail_id: id, template: mail?.template, request_id: message.request_id }
  deps.log.info(facts, mail ? said[decision.act] : 'mail was sent before')
}

const said = {
  send: 'mail sent',
  summarise: 'mail sent',
  withhold: 'mail not sent',
}

interface Claimed {
  mail: ClaimedMail | null
  /** Null for an address without an account. */
  reader: Awaited<ReturnType<typeof findReader>>
  /** Null for a mail in the name of the service. */
  brand: Brand | null
  decision: NoticeDecision
}

/** Marks the mail as being sent, and decides about a notice in the same transaction. */
function claim({ db, sealer, clock, config }: WorkerDeps, delivery: Delivery): Promise<Claimed> {
  const id = delivery.message.mail_id
  return asWorker(db, async (tx) => {
    const mail = await claimMail(tx, sealer, delivery, id)
    if (!mail) return { mail, reader: null, brand: null, decision: { act: 'send' } }
    const [reader, brand] = await Promise.all([
      findReader(tx, mail.to),
      isOfTenant(mail.template) ? findBrand(tx, delivery.tenantId, publicUrlOf(config)) : null,
    ])
    const perHour = hourlyLimitOf(mail.template)
    if (perHour === null) return { mail, reader, brand, decision: { act: 'send' } }
    return { mail, reader, brand, decision: await decideNotice(tx, { ...mail, id, perHour, at: clock() }) }
  })
}

/** In development the API of the same process has no other address. */
const publicUrlOf = ({ PUBLIC_URL, PORT }: WorkerDeps['config']) => PUBLIC_URL ?? `http://localhost:${PORT}`

function letterOf(
  { config }: WorkerDeps,
  { template, variables, languages }: ClaimedMail,
  { reader, brand, decision }: Omit<Claimed, 'mail'>,
): Letter {
  const stationery = stationeryFor(config, { ...reader, languages }, brand)
  const letter = writeLetter(template, variables, stationery)
  return decision.act === 'summarise' ? summaryOf(stationery, letter, decision.notSent) : letter
}

/** Writes what else follows when a mail becomes a dead letter. */
export const dropMail =
  (message: Message<MailQueue>, { tenantId, reason, at }: NewDeadLetter): Effect =>
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
  }

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
