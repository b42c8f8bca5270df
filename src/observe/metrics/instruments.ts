import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Catalogue, catalogue, type Definition, type LabelsOf, type MetricName } from './catalogue.ts'

type Instrument<Name extends MetricName> = {
  counter: Counter<LabelsOf<Name>>
  gauge: Gauge<LabelsOf<Name>>
  histogram: Histogram<LabelsOf<Name>>
}[Catalogue[Name]['kind']]

/** One instrument for each metric of the catalogue. */
export type Instruments = { readonly [Name in MetricName]: Instrument<Name> }

/** Makes every metric of the catalogue, and those of Node and the process, in a new registry. */
export function makeInstruments(): { registry: Registry; instruments: Instruments } {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 })
  const made = Object.entries(catalogue).map(([name, definition]) => [name, make(definition, registry)])
  return { registry, instruments: Object.fromEntries(made) as Instruments }
}

function make({ kind, labels, buckets, ...named }: Definition, registry: Registry) {
  const options = { ...named, labelNames: [...labels], registers: [registry] }
  if (kind === 'gauge') return emptied(new Gauge(options))
  return kind === 'counter' ? new Counter(options) : new Histogram({ ...options, buckets: [...buckets] })
}

/** Empties a gauge until it is set again. prom-client would show a gauge without labels as 0. */
export function emptied<Label extends string>(gauge: Gauge<Label>): Gauge<Label> {
  gauge.reset()
  if ((gauge as unknown as { labelNames: string[] }).labelNames.length === 0) gauge.remove()
  return gauge
}
