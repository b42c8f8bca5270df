import type { Middleware } from 'koa'
import { notFound } from '../platform/errors.ts'

/** Where the service begins for people and for programs that know its address alone. */
interface Welcome {
  version: string
  /** Base of absolute links, without a trailing slash; known once the process listens. */
  publicUrl: () => string
}

/**
 * `GET /`: browsers are sent to the documentation; other clients get what this is and where to read on. `console` is
 * null where the service has none.
 */
export function welcomePage({ version, publicUrl }: Welcome): Record<string, Middleware> {
  const serve: Middleware = (ctx) => {
    if (ctx.path !== '/') throw notFound() // the router takes `//` for it
    ctx.vary('Accept')
    ctx.set('Cache-Control', 'no-cache')
    const base = publicUrl()
    if (ctx.accepts('json', 'html') === 'html') {
      // A path without a host: the browser may have come by another name than the public one.
      ctx.redirect(`${new URL(base).pathname.replace(/\/$/, '')}/docs`)
      return
    }
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = JSON.stringify({
      name: 'Bailiwick',
      version,
      documentation: `${base}/docs`,
      openapi: `${base}/openapi.json`,
      console: null,
    })
  }
  return { '/': serve }
}
