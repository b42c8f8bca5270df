import type { Pool } from '../../database/executor/pool.ts'
import { asWorker, sql } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { isLoopbackHost } from '../../settings/loopback.ts'
import { automatic, messageIdOf, senderOf } from './headers.ts'
import type { Letter } from './letter.ts'
import { smtpTransport } from './smtp-transport.ts'

/** A mail to be sent: `to` is one bare address; `id` makes the Message-ID, so that servers recognise a repetition. */
export interface OutgoingMail extends Letter {
  id: string
  to: string
  /** ms since 1970 */
  at: number
}

/** Delivers mails. `send` resolves once the mail server has taken responsibility for the mail. */
export interface MailTransport {
  send(mail: OutgoingMail): Promise<void>
  /** Connects and logs in without sending anything. Rejects when the server does not answer or refuses the login. */
  verify(): Promise<void>
  close(): Promise<void>
}

interface TransportOptions {
  smtpUrl?: string | undefined
  /** Default: true, unless the server is on this machine. */
  requireTls?: boolean | undefined
  /** `Name <address>` or an address */
  from: string
  /** Pool of the worker role. Mail is stored there when there is no mail server. */
  capture: Pool
}

/** Opens SMTP when there is a mail server, else the development mailbox. Counts each attempt in `metrics`. */
export function openMailTransport(
  { smtpUrl, requireTls, from, capture }: TransportOptions,
  metrics?: Metrics,
): MailTransport {
  const transport = smtpUrl
    ? smtpTransport(smtpUrl, from, requireTls ?? !isLoopbackHost(new URL(smtpUrl).hostname))
    : captureTransport(capture, from)
  return metrics ? measured(transport, metrics) : transport
}

/** Stores mails for the development mailbox instead of sending them. A mail sent twice is stored once. */
function captureTransport(worker: Pool, from: string): MailTransport {
  const sender = senderOf(from)
  return {
    async send({ id, to, at, subject, text, html }) {
      const headers = {
        'Message-ID': messageIdOf(id, sender),
        Date: new Date(at).toUTCString(),
        ...automatic,
      }
      await asWorker({ worker }, (tx) =>
        tx.query(sql.unsafe`
        insert into captured_mails (id, recipient, sender, subject, text, html, headers, created_at)
        values (${id}, ${to}, ${from}, ${subject}, ${text}, ${html}, ${sql.jsonb(headers)},
                ${instant(at)})
        on conflict (id) do nothing`),
      )
    },
    async verify() {},
    async close() {},
  }
}

const measured = (transport: MailTransport, metrics: Metrics): MailTransport => ({
  ...transport,
  async send(mail) {
    try {
      await transport.send(mail)
      metrics.mailEnded('sent')
    } catch (error) {
      metrics.mailEnded('failed')
      throw error
    }
  },
})
