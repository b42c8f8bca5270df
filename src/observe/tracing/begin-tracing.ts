import type { Logger } from 'pino'

/** The settings of tracing, named by OpenTelemetry. */
export interface TracingSettings {
  /** False turns tracing off. */
  tracing: boolean
  OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string | undefined
  OTEL_SERVICE_NAME: string | undefined
  OTEL_TRACES_SAMPLER: SamplerName | undefined
  OTEL_TRACES_SAMPLER_ARG: number
}

export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof samplerNames)[number]

/** The export of spans to a collector. */
export interface Tracing {
  /** Sends the remaining spans within 1.5 s; spans that take longer are lost. Never rejects. */
  end(): Promise<void>
}

const nothing: Tracing = { end: async () => undefined }

/**
 * Starts to send the spans of this process by OTLP/HTTP, when the settings say so; otherwise the SDK is not loaded.
 * `service` names the process in traces, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES do.
 */
export async function beginTracing(
  settings: TracingSettings,
  service: { name: string; version: string },
  log: Logger,
): Promise<Tracing> {
  if (!settings.tracing) return nothing
  const { openExport } = await import('./open-export.ts')
  return openExport(settings, service, log)
}
