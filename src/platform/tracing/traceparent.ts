import { type Context, isSpanContextValid, ROOT_CONTEXT, TraceFlags, trace } from '@opentelemetry/api'

/** W3C Trace Context §3.2, version 00; ids of nothing but zeros are invalid there. */
const form = /^00-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})$/

/** Whether a text is a well-formed traceparent. */
export const isTraceparent = (text: string): boolean => form.test(text)

/** Where a span continues the trace that a traceparent names; one that is missing or malformed begins a new trace. */
export function contextOf(traceparent: unknown): Context {
  const [, traceId, spanId, flags] = (typeof traceparent === 'string' && form.exec(traceparent)) || []
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

/** The span at hand as a traceparent, for what outlives it; undefined where nothing is traced. */
export function currentTraceparent(): string | undefined {
  const span = trace.getActiveSpan()?.spanContext()
  if (!span || !isSpanContextValid(span)) return undefined
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`
}
