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

const hostForm = /^([a-z0-9._~%-]+|\[[0-9a-f:.]+\])?(:\d*)?$/i

/**
 * Refuses a target of more than 8 KiB, a Host that is none (RFC 9112 §3.2), and an Accept that admits no JSON on
 * the API.
 */
export const refuseInvalidRequests: Middleware = async (ctx, next) => {
  const { host, accept } = ctx.req.headers
  // Parameters other than the weight (charset, version) do not tell one JSON from another.
  if (accept) ctx.req.headers.accept = accept.replace(/;(?!\s*q\s*=)[^;,]*/gi, '')
  if (ctx.originalUrl.length > 8_192)
    throw new ApiError(414, 'uri_too_long', 'The address may have 8192 characters at most.')
  if (!hostForm.test(host ?? '') || (host === undefined && ctx.req.httpVersion === '1.1'))
    throw new ApiError(
      400,
      'parse_error',
      'The Host header has to name a host, and a port where it is not 80.',
    )
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
