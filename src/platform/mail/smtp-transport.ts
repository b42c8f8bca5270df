import { createTransport } from 'nodemailer'
import { automatic, messageIdOf, senderOf } from './headers.ts'
import type { MailTransport } from './transport.ts'

const patience = 10_000

/**
 * Sends by SMTP over at most 5 connections that stay open: one per mail costs 100 ms each. Rejects with
 * nodemailer's errors, whose `responseCode` is the server's.
 */
export function smtpTransport(smtpUrl: string, from: string): MailTransport {
  const sender = senderOf(from)
  const smtp = createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: 5,
    maxMessages: Number.POSITIVE_INFINITY,
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    dnsTimeout: patience,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  smtp.on('error', () => undefined) // an idle connection was closed; the next mail opens another
  return {
    async send({ id, to, at, subject, text, html }) {
      // An address that is parsed can turn into several, or into one of another domain.
      await smtp.sendMail({
        from: sender,
        to: { name: '', address: to },
        envelope: { from: sender.address, to: [to] },
        messageId: messageIdOf(id, sender),
        date: new Date(at),
        headers: automatic,
        subject,
        text,
        html,
      })
    },
    async close() {
      smtp.close()
    },
  }
}
