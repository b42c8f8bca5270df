import type { Middleware } from 'koa'
import { notFound } from '../errors.ts'
import { pathPrefix } from '../http/path-prefix.ts'

/** What the page at `/` says about the service. */
interface Welcome {
  version: string
  /** Base of absolute links, without a trailing slash; known once the process listens. */
  publicUrl: () => string
  /** The issuer and the audience of access tokens. */
  tokenNames: () => { issuer: string; audience: string }
  consoleEnabled: boolean
}

/**
 * `GET /`: redirects browsers to the console, or to the documentation where the console is off. Other clients get the
 * name and version of the service, where its documentation and its console are, and what its access tokens name.
 */
export function welcomePage({
  version,
  publicUrl,
  tokenNames,
  consoleEnabled,
}: Welcome): Record<string, Middleware> {
  const serve: Middleware = (ctx) => {
    if (ctx.path !== '/') throw notFound() // the router treats `//` as `/`
    ctx.vary('Accept')
    ctx.set('Cache-Control', 'no-cache')
    const base = publicUrl()
    if (ctx.accepts('json', 'html') === 'html') {
      // Only a path, because the browser may use another host name than the public one.
      ctx.redirect(`${pathPrefix(base)}${consoleEnabled ? '/console/' : '/docs'}`)
      return
    }
    ctx.type = 'application/json; charset=utf-8'
    ctx.body = JSON.stringify({
      name: 'Bailiwick',
      version,
      documentation: `${base}/docs`,
      openapi: `${base}/openapi.json`,
      console: consoleEnabled ? `${base}/console/` : null,
      ...tokenNames(),
    })
  }
  return { '/': serve }
}
