import type { Middleware } from 'koa'
import { ApiError } from '../errors.ts'

/** Headers of every answer (OWASP REST security cheat sheet). */
const fixed = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

/** Sets the security headers; over TLS also HSTS. The service's pages set a looser CSP themselves. */
export function securityHeaders(tls: boolean): Middleware {
  return async (ctx, next) => {
    ctx.set(fixed)
    if (tls) ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains')
    await next()
  }
}

const hostForm = /^([a-z0-9._~%-]+|\[[0-9a-f:.]+\])?(:\d*)?$/i

/** Refuses a target over 8 KiB, an invalid Host (RFC 9112 §3.2), and on API paths an Accept without JSON. */
export const refuseInvalidRequests: Middleware = async (ctx, next) => {
  const { host, accept } = ctx.req.headers
  // Remove parameters other than the weight (charset, version), because Koa would not match JSON with them.
  if (accept) ctx.req.headers.accept = accept.replace(/;(?!\s*q\s*=)[^;,]*/gi, '')
  if (ctx.originalUrl.length > 8_192)
    throw new ApiError(414, 'uri_too_long', 'The address can have 8192 characters at most.')
  if (!hostForm.test(host ?? '') || (host === undefined && ctx.req.httpVersion === '1.1'))
    throw new ApiError(400, 'parse_error', 'The Host header must name a host, and the port if it is not 80.')
  const api = /^\/(api|access|console\/(api|session))(\/|$)/.test(ctx.path)
  if (api && !ctx.accepts('application/json', 'application/problem+json'))
    throw new ApiError(406, 'not_acceptable', 'This API answers JSON. Send Accept: application/json.')
  await next()
}

/** CORS (Fetch standard) for the given origins. Other origins get no CORS header. */
export function cors(origins: readonly string[]): Middleware {
  return async (ctx, next) => {
    const origin = ctx.get('origin')
    ctx.vary('Origin')
    if (origins.includes(origin)) {
      ctx.set({
        'Access-Control-Allow-Origin': origin,
        'Access-Control-Expose-Headers':
          'X-Request-Id, ETag, Location, Preference-Applied, Idempotency-Replayed, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, DPoP-Nonce',
      })
      if (ctx.method === 'OPTIONS')
        ctx.set({
          'Access-Control-Allow-Headers':
            'Authorization, DPoP, Content-Type, If-Match, X-Request-Id, Approval-Request, Idempotency-Key, Prefer',
          'Access-Control-Max-Age': '600',
        })
    }
    await next()
  }
}
