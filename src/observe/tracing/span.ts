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
import { ApiError } from '../../errors.ts'
import { describeError } from '../describe-error.ts'

// Imports only the API of OpenTelemetry. Without an SDK its spans do nothing and cost nothing.

// Fetched each time, because a tracer keeps the SDK it was first used with.
const tracer = () => trace.getTracer('bailiwick')

/** Runs `work` in a span. An error marks the span with its kind and codes, and is rethrown. */
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

/** Runs `work`, a call to Postgres, in a child of the active span. Without an active span it only runs `work`. */
export function inPostgresSpan<T>(
  name: string,
  attributes: () => Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (!trace.getActiveSpan()) return work()
  const options = { kind: SpanKind.CLIENT, attributes: { 'db.system.name': 'postgresql', ...attributes() } }
  return inSpan(name, options, context.active(), work)
}

/** Runs `work` outside any trace. For work that several requests share: it would appear in the trace of the first. */
export const outsideSpans = <T>(work: () => T): T => context.with(ROOT_CONTEXT, work)

/**
 * Marks a span as failed, without the error's message, which can repeat values. A refusal (below 500) is not a failure.
 */
export function markFailed(span: Span, error: unknown): void {
  if (error instanceof ApiError && error.status < 500) return
  const kind = error instanceof ApiError ? error.code : error instanceof Error ? error.name : 'unknown'
  span.setAttribute('error.type', kind)
  span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error) })
}

/** The fields of a log line that name the active span. */
export function spanFields(): { trace_id?: string; span_id?: string } {
  const span = trace.getActiveSpan()?.spanContext()
  return span ? { trace_id: span.traceId, span_id: span.spanId } : {}
}
