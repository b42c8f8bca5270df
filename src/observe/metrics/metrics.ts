import { emptied, type Instruments, makeInstruments } from './instruments.ts'
import { openSource, type Sample, type Source } from './read-sources.ts'

/** How an attempt at a job ended: done, delayed without a failure, failed with a retry, or failed for good. */
export type JobOutcome = 'done' | 'later' | 'retry' | 'dead' | 'split'

/** How an attempt to deliver to a webhook ended: a 2xx, another status, or no answer. */
export type WebhookOutcome = 'succeeded' | 'refused' | 'unreachable'

/** The metrics of one process. Times are in seconds. No function throws. */
export interface Metrics {
  requestBegan(): void
  /** `action` is an action of the catalogue, an operation id, or `none`. */
  requestEnded(action: string, status: number, seconds: number): void
  decided(action: string, effect: string): void
  /** `reason` says why a decision was not kept. */
  decisionDropped(effect: string, reason: string): void
  /** `outcome`: what a policy in shadow mode would have done. */
  shadowed(outcome: string): void
  evaluated(seconds: number): void
  evaluationFailed(): void
  /** `why` a module of a policy gave no answer in time, from a fixed list. */
  moduleLate(why: string): void
  /** A module took too long, and its thread had to end. */
  moduleEnded(): void
  policiesFound(inMemory: boolean): void
  passwordHashed(seconds: number): void
  passwordRefused(): void
  connectionWaited(pool: string, seconds: number): void
  transactionRetried(pool: string): void
  /** `limit` is the name of the limit, never its key. */
  limitRefused(limit: string): void
  jobEnded(actor: string, outcome: JobOutcome, seconds: number): void
  mailEnded(outcome: 'sent' | 'failed'): void
  webhookAttempt(outcome: WebhookOutcome, seconds: number): void
  /** Deliveries that were not made because their tenant had reached its limit of the day. */
  deliveriesDropped(count: number): void
  /** The content hash of the policy bundle in use. */
  policyRevision(revision: string): void
  /** Registers gauges of this process: `now` runs at each scrape. */
  sample(now: () => readonly Sample[]): void
  /** Registers gauges of another server: `ask` runs at most every 3 s. `name` labels it in `scrape_source_up`. */
  source(name: string, ask: () => Promise<readonly Sample[]>): void
  /** All metrics in the text format of Prometheus, within 2 s even when a source does not answer. Never rejects. */
  scrape(): Promise<string>
}

/** Media type of {@link Metrics.scrape}. */
export const textFormat = 'text/plain; version=0.0.4; charset=utf-8'

/** Makes the metrics in a new registry. `clock` (ms) measures the age of the sources' answers. */
export function createMetrics(version: string, clock: () => number = () => performance.now()): Metrics {
  const { registry, instruments } = makeInstruments()
  const samplers: (() => readonly Sample[])[] = []
  const sources = new Map<string, Source>()
  const known = new Set<Sample['gauge']>()

  /** Sets the gauges. Gauges of an unavailable source show nothing instead of old values. */
  const show = (samples: readonly Sample[]) => {
    for (const gauge of known) emptied(instruments[gauge])
    for (const { gauge, labels, value } of samples) {
      known.add(gauge)
      instruments[gauge].set(labels, value)
    }
  }
  const readSources = async () => {
    const read = await Promise.all(
      [...sources].map(async ([name, source]) => ({ name, samples: await source.read() })),
    )
    for (const { name, samples } of read) instruments.sourceUp.set({ source: name }, samples ? 1 : 0)
    return read.flatMap(({ samples }) => samples ?? [])
  }
  const metrics: Metrics = {
    ...countingBy(instruments),
    policyRevision(revision) {
      instruments.buildInfo.reset()
      instruments.buildInfo.set({ version, policy_revision: revision }, 1)
    },
    sample: (now) => void samplers.push(now),
    source: (name, ask) => void sources.set(name, openSource(ask, clock)),
    async scrape() {
      const asked = await readSources()
      show([...samplers.flatMap((sampler) => sampler()), ...asked])
      return registry.metrics()
    },
  }
  metrics.policyRevision('')
  return metrics
}

/** The counting functions, which requests call. */
const countingBy = (of: Instruments) =>
  ({
    requestBegan: () => of.httpInFlight.inc(),
    requestEnded(action, status, seconds) {
      of.httpInFlight.dec()
      of.httpDuration.observe({ action, status }, seconds)
    },
    decided: (action, effect) => of.decisions.inc({ action, effect }),
    decisionDropped: (effect, reason) => of.decisionsDropped.inc({ effect, reason }),
    shadowed: (outcome) => of.shadowDecisions.inc({ outcome }),
    evaluated: (seconds) => of.decisionDuration.observe(seconds),
    evaluationFailed: () => of.decisionFailures.inc(),
    moduleLate: (why) => of.modulesLate.inc({ why }),
    moduleEnded: () => of.moduleThreadsEnded.inc(),
    policiesFound: (inMemory) => (inMemory ? of.policyHits : of.policyMisses).inc(),
    passwordHashed: (seconds) => of.hashDuration.observe(seconds),
    passwordRefused: () => of.hashesRefused.inc(),
    connectionWaited: (pool, seconds) => of.dbWait.observe({ pool }, seconds),
    transactionRetried: (pool) => of.dbRetries.inc({ pool }),
    limitRefused: (limit) => of.rateLimitRefusals.inc({ limit }),
    jobEnded(actor, outcome, seconds) {
      of.jobs.inc({ actor, outcome })
      of.jobDuration.observe({ actor }, seconds)
    },
    mailEnded: (outcome) => of.mails.inc({ outcome }),
    webhookAttempt(outcome, seconds) {
      of.webhookAttempts.inc({ outcome })
      of.webhookDuration.observe(seconds)
    },
    deliveriesDropped: (count) => of.deliveriesDropped.inc(count),
  }) satisfies Partial<Metrics>
