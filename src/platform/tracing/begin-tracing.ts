import type { Logger } from 'pino'

/** The settings of tracing, under the names that OpenTelemetry gives them. */
export interface TracingSettings {
  /** Whether anything is traced. */
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

/** Spans on their way to a collector. */
export interface Tracing {
  /** Sends what is left, within 1.5 s; what does not get through then is lost. Never rejects. */
  end(): Promise<void>
}

const nothing: Tracing = { end: async () => undefined }

/**
 * Has spans of this process sent by OTLP/HTTP where the settings say so; else the SDK is not even loaded. `service`
 * is what it is called in traces unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES say otherwise.
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
