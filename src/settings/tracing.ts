import { samplerNames } from '../observe/tracing/begin-tracing.ts'
import { boolean, fraction, oneOf, setting, text, url } from './forms.ts'

/** Settings of traces, with the names that OpenTelemetry gives them. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    url('http:', 'https:'),
    undefined,
    'Collector that receives traces by OTLP/HTTP, at `/v1/traces` below this address; when unset, nothing is traced',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    url('http:', 'https:'),
    undefined,
    'The same as a full address, for traces only',
  ),
  TRACING_REQUIRE_TLS: setting(
    boolean,
    true,
    'Production refuses a collector at `http://` instead of `https://`, unless it is on this machine',
  ),
  OTEL_SDK_DISABLED: setting(boolean, false, '`true` turns tracing off regardless of the other settings'),
  OTEL_SERVICE_NAME: setting(text, undefined, 'Name of the process in traces', {
    shown: '`bailiwick-api`, `bailiwick-worker`; `bailiwick` when one process is both',
  }),
  OTEL_TRACES_SAMPLER: setting(
    oneOf(...samplerNames),
    undefined,
    'Which traces are kept; `parentbased_…` follows the sampled flag of a `traceparent`, the other samplers ignore it',
    { shown: '`always_on`' },
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(fraction, 1, 'Share of traces that `…traceidratio` keeps, from 0 to 1'),
}
