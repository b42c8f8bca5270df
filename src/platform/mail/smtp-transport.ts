import { createTransport } from 'nodemailer'
import { automatic, messageIdOf, senderOf } from './headers.ts'
import type { MailTransport } from './transport.ts'

const patience = 10_000
const plainAddress = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9.-]+$/i

/**
 * Sends by SMTP over at most 5 connections that stay open: one per mail costs 100 ms each. `requireTls`: to a server
 * that does not take STARTTLS nothing is sent, no password either (RFC 3207). Rejects with
 * nodemailer's errors, whose `responseCode` is the server's and whose `server` is its host and port.
 */
export function smtpTransport(smtpUrl: string, from: string, requireTls: boolean): MailTransport {
  const sender = senderOf(from)
  const smtp = createTransport({
    url: requireTls ? requiringTls(smtpUrl) : smtpUrl,
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
  const { hostname, port, protocol } = new URL(smtpUrl)
  const server = `${hostname}:${port || (protocol === 'smtps:' ? 465 : 587)}`
  const naming = (error: Error): never => {
    throw Object.assign(error, { server })
  }
  return {
    async verify() {
      await smtp.verify().catch(naming)
    },
    async send({ id, to, at, subject, text, html }) {
      refuseOddAddress(to)
      const mail = {
        from: sender,
        to: { name: '', address: to },
        messageId: messageIdOf(id, sender),
        date: new Date(at),
        headers: automatic,
        subject,
        text,
        html,
      }
      await smtp.sendMail(mail).catch(naming)
    },
    async close() {
      smtp.close()
    },
  }
}

/** What the address says counts more than other options, so it is said there. */
function requiringTls(smtpUrl: string): string {
  const url = new URL(smtpUrl)
  url.searchParams.delete('ignoreTLS')
  url.searchParams.set('requireTLS', 'true')
  return url.href
}

/**
 * Addresses were checked when they were taken in. Once more here, because a parser makes several recipients, or one
 * of another domain, of what is not plain (RFC 5321 reply 553).
 */
function refuseOddAddress(to: string): void {
  if (plainAddress.test(to)) return
  throw Object.assign(new Error('The address is not a plain one'), { code: 'EENVELOPE', responseCode: 553 })
}
