import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Catalogue, catalogue, type Definition, type LabelsOf, type MetricName } from './catalogue.ts'

type Instrument<Name extends MetricName> = {
  counter: Counter<LabelsOf<Name>>
  gauge: Gauge<LabelsOf<Name>>
  histogram: Histogram<LabelsOf<Name>>
}[Catalogue[Name]['kind']]

/** The metrics of the catalogue, to be counted with. */
export type Instruments = { readonly [Name in MetricName]: Instrument<Name> }

/** Makes every metric of the catalogue, and those of Node and the process, in a registry of its own. */
export function makeInstruments(): { registry: Registry; instruments: Instruments } {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 })
  const made = Object.entries(catalogue).map(([name, definition]) => [name, make(definition, registry)])
  return { registry, instruments: Object.fromEntries(made) as Instruments }
}

function make({ kind, name, help, labels, buckets }: Definition, registry: Registry) {
  const common = { name, help, labelNames: [...labels], registers: [registry] }
  if (kind === 'counter') return new Counter(common)
  if (kind === 'gauge') return emptied(new Gauge(common))
  return new Histogram({ ...common, buckets: [...buckets] })
}

/** A gauge that shows nothing until it is set; prom-client itself puts one without labels at 0. */
export function emptied<Label extends string>(gauge: Gauge<Label>): Gauge<Label> {
  gauge.reset()
  gauge.remove({} as never)
  return gauge
}
