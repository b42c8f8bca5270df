import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { describeError } from '../describe-error.ts'
import { withTimeLimit } from '../time-limit.ts'
import type { Tracing, TracingSettings } from './begin-tracing.ts'
import { samplerOf } from './sampler.ts'

// The one file that loads the SDK, and itself loaded only where traces are wanted. Spans wait in memory, 2048 at most,
// and are sent every two seconds by a timer: nothing that a request does waits for the collector, and while that is
// away spans are dropped.

const sendEvery = 2_000
const lastWords = 1_500

/** Registers the SDK behind the API of OpenTelemetry. Headers, certificates and time-outs are read by the exporter. */
export function openExport(
  settings: TracingSettings,
  service: { name: string; version: string },
  log: Logger,
): Tracing {
  const exporter = telling(new OTLPTraceExporter({ url: addressOf(settings) }), log)
  const provider = new TracerProvider({
    resource: resourceOf(settings, service),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: sendEvery })],
    spanLimits: { attributeValueLengthLimit: 4_000 },
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  return {
    async end() {
      await withTimeLimit(
        lastWords,
        provider.shutdown().catch(() => undefined),
        () => undefined,
      )
      trace.disable()
      context.disable()
    },
  }
}

/** OTLP exporter specification: the address of traces as it is, else the path of traces below the common one. */
const addressOf = ({
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own,
  OTEL_EXPORTER_OTLP_ENDPOINT: common,
}: TracingSettings) => own ?? `${common?.replace(/\/$/, '')}/v1/traces`

function resourceOf(
  { OTEL_SERVICE_NAME }: TracingSettings,
  { name, version }: { name: string; version: string },
) {
  const ours = resourceFromAttributes({ 'service.name': name, 'service.version': version })
  const given = ours.merge(detectResources({ detectors: [resourceAttributesEnvDetector] }))
  return OTEL_SERVICE_NAME
    ? given.merge(resourceFromAttributes({ 'service.name': OTEL_SERVICE_NAME }))
    : given
}

/** Says in the log when the collector stops taking spans, and when it takes them again: one line each. */
function telling(exporter: SpanExporter, log: Logger): SpanExporter {
  let away = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined
        if (failed && !away)
          log.warn({ error: describeError(result.error) }, 'traces cannot be sent; they are dropped')
        else if (!failed && away) log.info('traces are sent again')
        away = failed
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
}
