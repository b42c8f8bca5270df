import type { Context, Middleware } from 'koa'
import { z } from 'zod'
import { asSystem, type Databases, sql } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { asset } from '../../pages/asset.ts'
import { isLoopbackAddress, isLoopbackHost } from '../../settings/loopback.ts'
import { mailboxPage, mailboxStyle } from './mailbox-page.ts'

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

/** The newest 200 captured mails, newest first; `count` is the number of mails in the list. */
export async function listCapturedMails(
  db: Pick<Databases, 'system'>,
  { to }: { to?: string | undefined } = {},
): Promise<{ count: number; results: CapturedMail[] }> {
  const recipient = to?.trim().toLowerCase() ?? null
  const results = await asSystem(db, 'in development, mail of all tenants', (tx) =>
    tx.any(sql.type(capturedMail)`
      select id, recipient as to, sender as from, subject, text, html, headers, created_at
      from captured_mails where ${recipient}::text is null or recipient = ${recipient}
      order by id desc limit 200`),
  )
  return { count: results.length, results: [...results] }
}

/**
 * Handlers of GET by path, for the captured mails: as a page, or as data with `Accept: application/json`. Mails contain
 * tokens, so both the peer address and the Host header must be of this machine (against DNS rebinding). Otherwise 404.
 */
export function mailboxPages({ db }: Pick<Deps, 'db'>): Record<string, Middleware> {
  const style = asset('/dev/mailbox.css', Buffer.from(mailboxStyle))
  const serve: Middleware = async (ctx) => {
    if (!isLocal(ctx)) throw notFound()
    const to = typeof ctx.query.to === 'string' ? ctx.query.to : undefined
    const mails = await listCapturedMails(db, { to })
    ctx.set('Cache-Control', 'no-store')
    ctx.vary('Accept')
    if (ctx.accepts('html', 'json') === 'json') {
      ctx.type = 'application/json; charset=utf-8'
      ctx.body = JSON.stringify(mails)
      return
    }
    // Mails have inline styles, and a frame has the policy of its page.
    ctx.set(
      'Content-Security-Policy',
      "default-src 'none'; style-src 'self' 'unsafe-inline'; frame-src 'self'; frame-ancestors 'none'",
    )
    ctx.type = 'html'
    ctx.body = mailboxPage(mails.results)
  }
  return { '/dev/mailbox': serve, [style.path]: style.serve }
}

function isLocal(ctx: Context): boolean {
  const peer = (ctx.req.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  return isLoopbackAddress(peer) && isLoopbackHost(ctx.hostname)
}
