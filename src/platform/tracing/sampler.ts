import { randomBytes } from 'node:crypto'
import { SpanKind } from '@opentelemetry/api'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import type { SamplerName, TracingSettings } from './begin-tracing.ts'

/**
 * Decides which traces are kept, as OTEL_TRACES_SAMPLER says; unset, all of them.
 *
 * Anyone can send a traceparent. `parentbased_…` believes its sampled flag, which is right behind a gateway that
 * writes the header itself. The others do not: a request goes on with the trace id it came with, and is kept or not
 * as if it had come without. What is our own, spans below a request and the jobs it causes, follows the request.
 */
export function samplerOf({
  OTEL_TRACES_SAMPLER: name = 'always_on',
  OTEL_TRACES_SAMPLER_ARG: ratio,
}: Pick<TracingSettings, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>): Sampler {
  const root = rootOf(name, ratio)
  if (name.startsWith('parentbased_')) return new ParentBasedSampler({ root })
  const [kept, dropped] = [unbelieving(root, true), unbelieving(root, false)]
  return new ParentBasedSampler({ root, remoteParentSampled: kept, remoteParentNotSampled: dropped })
}

function rootOf(name: SamplerName, ratio: number): Sampler {
  if (name.endsWith('traceidratio')) return new TraceIdRatioBasedSampler(ratio)
  return name.endsWith('always_off') ? new AlwaysOffSampler() : new AlwaysOnSampler()
}

/** A stranger could choose an id that a ratio always keeps, so a request with a parent is judged by a fresh one. */
function unbelieving(root: Sampler, parentSampled: boolean): Sampler {
  const obedient: Sampler = parentSampled ? new AlwaysOnSampler() : new AlwaysOffSampler()
  return {
    shouldSample: (parent, traceId, name, kind, attributes, links) =>
      kind === SpanKind.SERVER
        ? root.shouldSample(parent, randomBytes(16).toString('hex'), name, kind, attributes, links)
        : obedient.shouldSample(parent, traceId, name, kind, attributes, links),
    toString: () => `Unbelieving{${root}}`,
  }
}
