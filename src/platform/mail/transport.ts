import type { Letter } from './templates.ts'

/** A letter on its way: `to` is one bare address, `id` makes the Message-ID, so a second sending is recognised. */
export interface OutgoingMail extends Letter {
  id: string
  to: string
  /** ms since 1970 */
  at: number
}

/** Takes mails out of the service. `send` resolves once somebody else is responsible for the mail. */
export interface MailTransport {
  send(mail: OutgoingMail): Promise<void>
  close(): Promise<void>
}
