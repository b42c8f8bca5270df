import { type Context, isSpanContextValid, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api'

/** W3C Trace Context §3.2, version 00. Ids of zeros only are invalid. */
const form = /^00-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})$/

/** True for a well-formed traceparent. */
export const isTraceparent = (text: string): boolean => form.test(text)

/** The context of a span that continues a traceparent's trace. A missing or malformed one starts a new trace. */
export function contextOf(traceparent: unknown): Context {
  const [, traceId, spanId, flags] = (typeof traceparent === 'string' && form.exec(traceparent)) || []
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** The active span as a traceparent, for work that runs after it; undefined when nothing is traced. */
export function currentTraceparent(): string | undefined {
  const span = trace.getActiveSpan()?.spanContext()
  if (!span || !isSpanContextValid(span)) return undefined
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`
}
