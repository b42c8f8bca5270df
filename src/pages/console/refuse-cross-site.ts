import type { Middleware } from 'koa'
import { ApiError } from '../../errors.ts'

const safe = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Refuses requests that another site caused: 403 `cross_site_request`. Requests that can change something need the
 * header `X-Bailiwick-Console: 1`, which pages of other origins cannot send, and the browser's word that they come from
 * this origin: `Sec-Fetch-Site`, or `Origin` where that is absent (plain http). `publicUrl` names the origin.
 */
export function refuseCrossSite(publicUrl: () => string): Middleware {
  return (ctx, next) => {
    const changes = !safe.has(ctx.method)
    const site = ctx.get('sec-fetch-site')
    const own =
      site === ''
        ? !changes || ctx.get('origin') === new URL(publicUrl()).origin
        : site === 'same-origin' || (site === 'none' && !changes)
    if (!own || (changes && ctx.get('x-bailiwick-console') !== '1')) throw crossSite()
    return next()
  }
}

const crossSite = () =>
  new ApiError(
    403,
    'cross_site_request',
    'The console takes requests from its own pages only. Programs use /api/v1/ with a token.',
  )
