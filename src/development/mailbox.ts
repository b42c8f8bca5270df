import { z } from 'zod'
import { asSystem, type Databases, sql } from '../platform/db/transaction.ts'

const capturedMail = z.object({
  id: z.string(),
  to: z.string(),
  from: z.string(),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
  headers: z.record(z.string(), z.string()),
  created_at: z.number().transform((ms) => new Date(ms).toISOString()),
})

export type CapturedMail = z.output<typeof capturedMail>

/** The newest 200 mails that were captured in place of being sent, newest first; `count` is how many are listed. */
export async function listCapturedMails(
  db: Pick<Databases, 'system'>,
  { to }: { to?: string | undefined } = {},
): Promise<{ count: number; results: CapturedMail[] }> {
  const recipient = to?.trim().toLowerCase() ?? null
  const results = await asSystem(db, 'mail of all tenants, in development alone', (tx) =>
    tx.any(sql.type(capturedMail)`
      select id, recipient as to, sender as from, subject, text, html, headers, created_at
      from captured_mails where ${recipient}::text is null or recipient = ${recipient}
      order by id desc limit 200`),
  )
  return { count: results.length, results: [...results] }
}
