import { ROOT_CONTEXT, type Span, SpanKind, trace } from '@opentelemetry/api'
import type { QueuedMessage } from '../src/messages/queues/queued-message.ts'
import { inSpan } from '../src/observe/tracing/span.ts'
import { contextOf } from '../src/observe/tracing/traceparent.ts'

const attributesOf = (queue: string) => ({
  'messaging.system': 'bullmq',
  'messaging.operation.type': 'process',
  'messaging.destination.name': queue,
})

/** Handles one job in a span of the trace that wrote its message, with links to those of the others that it carries. */
export function inJobSpan<T>(
  queue: string,
  { id, payload, others = [] }: QueuedMessage,
  attempt: number,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const attributes = { ...attributesOf(queue), 'messaging.message.id': id, 'bailiwick.attempt': attempt }
  const parent = contextOf((payload as { traceparent?: unknown } | null)?.traceparent)
  const links = others.flatMap(({ traceparent }) => {
    const context = trace.getSpanContext(contextOf(traceparent))
    return context ? [{ context }] : []
  })
  return inSpan(`process ${queue}`, { kind: SpanKind.CONSUMER, attributes, links }, parent, work)
}

/** Runs a scheduled job in a trace of its own. */
export const inScheduledSpan = <T>(queue: string, work: () => Promise<T>): Promise<T> =>
  inSpan(`process ${queue}`, { kind: SpanKind.CONSUMER, attributes: attributesOf(queue) }, ROOT_CONTEXT, work)
