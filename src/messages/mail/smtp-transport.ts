import { createTransport } from 'nodemailer'
import { automatic, messageIdOf, senderOf } from './headers.ts'
import type { MailTransport } from './transport.ts'

const timeoutMs = 10_000
const plainAddress = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9.-]+$/i

/**
 * Sends by SMTP over at most 8 connections, as many as mails are sent at a time, that stay open, because a new connection takes 100 ms. With `requireTls`,
 * nothing is sent to a server that does not accept STARTTLS, not even the password (RFC 3207). Rejects with
 * nodemailer's errors: `responseCode` is the server's code, and `server` its host and port.
 */
export function smtpTransport(smtpUrl: string, from: string, requireTls: boolean): MailTransport {
  const sender = senderOf(from)
  const smtp = createTransport({
    url: requireTls ? requiringTls(smtpUrl) : smtpUrl,
    pool: true,
    maxConnections: 8,
    maxMessages: Number.POSITIVE_INFINITY,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  smtp.on('error', () => undefined) // an idle connection was closed; the next mail opens a new one
  const { hostname, port, protocol } = new URL(smtpUrl)
  const server = `${hostname}:${port || (protocol === 'smtps:' ? 465 : 587)}`
  const addServer = (error: Error): never => {
    throw Object.assign(error, { server })
  }
  return {
    async verify() {
      await smtp.verify().catch(addServer)
    },
    async send({ id, to, at, subject, text, html }) {
      assertPlainAddress(to)
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
      await smtp.sendMail(mail).catch(addServer)
    },
    async close() {
      smtp.close()
    },
  }
}

/** Sets the option in the URL, because nodemailer gives the URL precedence over other options. */
function requiringTls(smtpUrl: string): string {
  const url = new URL(smtpUrl)
  url.searchParams.delete('ignoreTLS')
  url.searchParams.set('requireTLS', 'true')
  return url.href
}

/**
 * Addresses were validated on input. Validate them again here, because a parser can read several recipients, or one of
 * another domain, from an address that is not plain (RFC 5321 reply 553).
 */
function assertPlainAddress(to: string): void {
  if (plainAddress.test(to)) return
  throw Object.assign(new Error('The address is not plain'), {
    code: 'EENVELOPE',
    responseCode: 553,
    command: 'RCPT TO',
  })
}
