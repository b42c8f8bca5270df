import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Context, Middleware } from 'koa'
import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { ApiError } from '../errors.ts'
import { inSpan } from '../tracing/span.ts'
import { contextOf } from '../tracing/traceparent.ts'

const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])

/**
 * Gives each request a span, named by method and pattern of the route, in the trace that its traceparent names. It
 * says what was asked for and what came of it; never who asked, from where, for which id, or with which words.
 */
export const traceRequests: Middleware = (ctx, next) => {
  const method = known.has(ctx.method) ? ctx.method : '_OTHER'
  const options = { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } }
  return inSpan(nameOf(method), options, contextOf(ctx.get('traceparent')), async (span) => {
    ctx.state.span = span
    await next()
    tellOutcome(ctx, span, method)
  })
}

/** Semantic conventions for HTTP: methods that are not known are not repeated. */
const nameOf = (method: string) => (method === '_OTHER' ? 'HTTP' : method)

function tellOutcome(ctx: Context, span: Span, method: string) {
  const { action, error } = ctx.state as { action?: string; error?: ApiError }
  const route = typeof ctx._matchedRoute === 'string' ? ctx._matchedRoute : undefined
  if (route) span.updateName(`${nameOf(method)} ${route}`)
  span.setAttributes({
    'http.response.status_code': ctx.status,
    ...(route && { 'http.route': route }),
    ...(action && { 'bailiwick.action': action }),
    ...(error && { 'bailiwick.code': error.code }),
  })
  if (ctx.status < 500) return
  span.setAttribute('error.type', error?.code ?? String(ctx.status))
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** Notes on the request's span, where there is one, what was decided, and how far the question went. */
export function traceDecision(ctx: Context, phase: string, { effect, reasons }: Decision): void {
  const span = ctx.state.span as Span | undefined
  span?.addEvent('decision', {
    'bailiwick.phase': phase,
    'bailiwick.effect': effect,
    'bailiwick.reasons': reasons.map(({ code }) => code),
  })
}
