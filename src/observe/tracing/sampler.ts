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
 * The sampler that OTEL_TRACES_SAMPLER names; when unset, all traces are kept.
 *
 * Anyone can send a traceparent. `parentbased_…` follows its sampled flag, which is right behind a gateway that writes
 * the header itself. The other samplers ignore the flag: a request keeps the trace id it came with, but is sampled as
 * if it had none. Our own spans below a request, and those of the jobs it causes, follow the request.
 */
export function samplerOf({
  OTEL_TRACES_SAMPLER: name = 'always_on',
  OTEL_TRACES_SAMPLER_ARG: ratio,
}: Pick<TracingSettings, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>): Sampler {
  const root = rootOf(name, ratio)
  if (name.startsWith('parentbased_')) return new ParentBasedSampler({ root })
  const [kept, dropped] = [ignoringFlag(root, true), ignoringFlag(root, false)]
  return new ParentBasedSampler({ root, remoteParentSampled: kept, remoteParentNotSampled: dropped })
}

function rootOf(name: SamplerName, ratio: number): Sampler {
  if (name.endsWith('traceidratio')) return new TraceIdRatioBasedSampler(ratio)
  return name.endsWith('always_off') ? new AlwaysOffSampler() : new AlwaysOnSampler()
}

/** Samples a request with a parent by a new id, because a client could choose an id that a ratio always keeps. */
function ignoringFlag(root: Sampler, parentSampled: boolean): Sampler {
  const byParent: Sampler = parentSampled ? new AlwaysOnSampler() : new AlwaysOffSampler()
  return {
    shouldSample: (parent, traceId, name, kind, attributes, links) =>
      kind === SpanKind.SERVER
        ? root.shouldSample(parent, randomBytes(16).toString('hex'), name, kind, attributes, links)
        : byParent.shouldSample(parent, traceId, name, kind, attributes, links),
    toString: () => `IgnoringFlag{${root}}`,
  }
}
