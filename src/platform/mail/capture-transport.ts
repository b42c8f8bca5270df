import type { DatabasePool } from 'slonik'
import { sql } from '../db/transaction.ts'
import { automatic, messageIdOf, senderOf } from './headers.ts'
import type { MailTransport } from './transport.ts'

/** Keeps mails for the mailbox of development in place of sending them; a mail sent twice is there once. */
export function captureTransport(pool: DatabasePool, from: string): MailTransport {
  const sender = senderOf(from)
  return {
    async send({ id, to, at, subject, text, html }) {
      const headers = {
        'Message-ID': messageIdOf(id, sender),
        Date: new Date(at).toUTCString(),
        ...automatic,
      }
      await pool.query(sql.unsafe`
        insert into captured_mails (id, recipient, sender, subject, text, html, headers, created_at)
        values (${id}, ${to}, ${from}, ${subject}, ${text}, ${html}, ${sql.jsonb(headers)},
                ${sql.timestamp(new Date(at))})
        on conflict (id) do nothing`)
    },
    async verify() {},
    async close() {},
  }
}
