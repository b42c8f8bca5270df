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
import { withTimeLimit } from '../../limits/time-limit.ts'
import { describeError } from '../describe-error.ts'
import type { Tracing, TracingSettings } from './begin-tracing.ts'
import { samplerOf } from './sampler.ts'

// The only file that loads the SDK; it is loaded only when tracing is on. Spans wait in memory, 2048 at most, and a
// timer sends them every two seconds. No request waits for the collector. While it is unavailable, spans are dropped.

const sendIntervalMs = 2_000
const shutdownMs = 1_500

/** Registers the SDK. The exporter reads its own settings (headers, certificates, timeouts). */
export function openExport(
  settings: TracingSettings,
  service: { name: string; version: string },
  log: Logger,
): Tracing {
  const exporter = logOutages(new OTLPTraceExporter({ url: addressOf(settings) }), log)
  const provider = new TracerProvider({
    resource: resourceOf(settings, service),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: sendIntervalMs })],
    spanLimits: { attributeValueLengthLimit: 4_000 },
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  return {
    async end() {
      await withTimeLimit(
        shutdownMs,
        provider.shutdown().catch(() => undefined),
        () => undefined,
      )
      trace.disable()
      context.disable()
    },
  }
}

/** OTLP exporter specification: the traces endpoint is used as it is; the common endpoint gets the path of traces. */
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

/** Logs one line when the collector stops accepting spans, and one when it accepts them again. */
function logOutages(exporter: SpanExporter, log: Logger): SpanExporter {
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
