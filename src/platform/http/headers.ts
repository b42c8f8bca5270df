import type { Middleware } from 'koa'
import { ApiError } from '../errors.ts'

/** OWASP REST security cheat sheet: what a JSON API sends with every answer. */
const fixed = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

/** Sets the security headers, over TLS also HSTS; pages of the service loosen the CSP for themselves. */
export function securityHeaders(tls: boolean): Middleware {
  return async (ctx, next) => {
    ctx.set(fixed)
    if (tls) ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains')
    await next()
  }
}

/** Refuses a target of more than 8 KiB, and an Accept that admits no JSON on the API. */
export const refuseOddRequests: Middleware = async (ctx, next) => {
  if (ctx.originalUrl.length > 8_192)
    throw new ApiError(414, 'uri_too_long', 'The address may have 8192 characters at most.')
  const api = /^\/(api|access)\//.test(ctx.path)
  if (api && !ctx.accepts('application/json', 'application/problem+json'))
    throw new ApiError(406, 'not_acceptable', 'This API answers JSON: Accept application/json.')
  await next()
}

/** CORS (Fetch standard) for the origins named; without an allowed origin no header at all. */
export function cors(origins: readonly string[]): Middleware {
  return async (ctx, next) => {
    const origin = ctx.get('origin')
    ctx.vary('Origin')
    if (origins.includes(origin)) {
      ctx.set({
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Expose-Headers':
          'X-Request-Id, ETag, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate',
      })
      if (ctx.method === 'OPTIONS')
        ctx.set({
          'Access-Control-Allow-Headers':
            'Authorization, Content-Type, If-Match, X-Request-Id, Approval-Request',
          'Access-Control-Max-Age': '600',
        })
    }
    await next()
  }
}
