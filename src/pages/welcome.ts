import type { Middleware } from 'koa'
import { notFound } from '../platform/errors.ts'

/** What the page at `/` says about the service. */
interface Welcome {
  version: string
  /** Base of absolute links, without a trailing slash; known once the process listens. */
  publicUrl: () => string
}

/**
 * `GET /`: redirects browsers to the documentation. Other clients get the name and version of the service, and where
 * its documentation is. `console` is null because the service has none.
 */
export function welcomePage({ version, publicUrl }: Welcome): Record<string, Middleware> {
  const serve: Middleware = (ctx) => {
    if (ctx.path !== '/') throw notFound() // the router treats `//` as `/`
    ctx.vary('Accept')
    ctx.set('Cache-Control', 'no-cache')
    const base = publicUrl()
    if (ctx.accepts('json', 'html') === 'html') {
      // Only a path, because the browser may use another host name than the public one.
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
