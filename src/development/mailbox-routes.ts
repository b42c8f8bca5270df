import type { Context, Middleware } from 'koa'
import type { Deps } from '../deps.ts'
import { asset } from '../pages/asset.ts'
import { notFound } from '../platform/errors.ts'
import { isLoopbackAddress, isLoopbackHost } from '../platform/loopback.ts'
import { listCapturedMails } from './mailbox.ts'
import { mailboxPage, mailboxStyle } from './mailbox-page.ts'

/**
 * The captured mails, as a page or with `Accept: application/json` as data, as handlers of GET by path. Mails carry
 * tokens: only a caller on this machine that asks by a name of this machine gets them (no DNS rebinding), else 404.
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
    ctx.set(
      'Content-Security-Policy',
      "default-src 'none'; style-src 'self'; frame-src 'self'; frame-ancestors 'none'",
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
