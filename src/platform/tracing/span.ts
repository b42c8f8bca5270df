import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { describeError } from '../describe-error.ts'
import { ApiError } from '../errors.ts'

// Only the API of OpenTelemetry is known here. Without an SDK behind it, its spans are nothing and cost nothing.

// Asked for each time: a tracer that was handed out keeps the SDK it was first used with.
const tracer = () => trace.getTracer('bailiwick')

/** Runs `work` in a span; what it throws marks the span, by kind and codes, and is thrown on. */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  parent: Context,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer().startActiveSpan(name, options, parent, async (span) => {
    try {
      return await work(span)
    } catch (error) {
      markFailed(span, error)
      throw error
    } finally {
      span.end()
    }
  })
}

/** Runs `work`, a call to Postgres, in a span below the one at hand; where there is none, it just runs. */
export function inPostgresSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  if (!trace.getActiveSpan()) return work()
  const options = { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', ...attributes } }
  return inSpan(name, options, context.active(), work)
}

/** Starts what goes on for others, too, and would else lie in the trace of whoever came first. */
export const outsideSpans = <T>(work: () => T): T => context.with(ROOT_CONTEXT, work)

/** Marks a span as failed, never by the error's own words, which repeat values; a refusal is an answer like others. */
export function markFailed(span: Span, error: unknown): void {
  if (error instanceof ApiError && error.status < 500) return
  const kind = error instanceof ApiError ? error.code : error instanceof Error ? error.name : 'unknown'
  span.setAttribute('error.type', kind)
  span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) })
}

/** What a log line says of the span at hand. */
export function spanFields(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext()
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}
