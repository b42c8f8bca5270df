import { type Span, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Context, Middleware } from 'koa'
import type { ApiError } from '../errors.ts'
import { inSpan } from '../observe/tracing/span.ts'
import { contextOf } from '../observe/tracing/traceparent.ts'
import type { Decision } from '../policy-engine/evaluate/decision.ts'

const known = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', 'TRACE'])

/**
 * Gives each request a span in the trace of its traceparent, named by the method and path pattern of its route. The
 * span has the action and the outcome, but never the user, the address, an id or the content.
 */
export const traceRequests: Middleware = (ctx, next) => {
  const method = known.has(ctx.method) ? ctx.method : '_OTHER'
  const options = { kind: SpanKind.SERVER, attributes: { 'http.request.method': method } }
  return inSpan(nameOf(method), options, contextOf(ctx.get('traceparent')), async (span) => {
    ctx.state.span = span
    await next()
    setOutcome(ctx, span, method)
  })
}

/** Unknown methods are not repeated (OpenTelemetry's semantic conventions for HTTP). */
const nameOf = (method: string) => (method === '_OTHER' ? 'HTTP' : method)

function setOutcome(ctx: Context, span: Span, method: string) {
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

/** Adds a decision, with its phase and reasons, to the request's span, if there is one. */
export function traceDecision(
  ctx: { state: Record<string, unknown> },
  phase: string,
  { effect, reasons }: Decision,
): void {
  const span = ctx.state.span as Span | undefined
  span?.addEvent('decision', {
    'bailiwick.phase': phase,
    'bailiwick.effect': effect,
    'bailiwick.reasons': reasons.map(({ code }) => code),
  })
}
