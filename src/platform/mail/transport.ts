import type { DatabasePool } from 'slonik'
import { isLoopbackHost } from '../loopback.ts'
import { captureTransport } from './capture-transport.ts'
import { smtpTransport } from './smtp-transport.ts'
import type { Letter } from './templates.ts'

/** A letter on its way: `to` is one bare address; `id` makes the Message-ID, so a second sending is recognised. */
export interface OutgoingMail extends Letter {
  id: string
  to: string
  /** ms since 1970 */
  at: number
}

/** Takes mails out of the service. `send` resolves once somebody else is responsible for the mail. */
export interface MailTransport {
  send(mail: OutgoingMail): Promise<void>
  /** Connects and logs in, and sends nothing; rejects where the mail server does not answer or refuses that. */
  verify(): Promise<void>
  close(): Promise<void>
}

interface TransportOptions {
  smtpUrl?: string | undefined
  /** Unset: unless the server is on this machine. */
  requireTls?: boolean | undefined
  /** `Name <address>` or an address */
  from: string
  /** Pool of the worker's role: where mail is captured when there is no mail server. */
  capture: DatabasePool
}

/** Opens SMTP where there is a mail server, else the mailbox of development. */
export function openMailTransport({ smtpUrl, requireTls, from, capture }: TransportOptions): MailTransport {
  if (!smtpUrl) return captureTransport(capture, from)
  return smtpTransport(smtpUrl, from, requireTls ?? !isLoopbackHost(new URL(smtpUrl).hostname))
}
