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
      of.httpDuration.add(seconds, action, status)
    },
    decided: (action, effect) => of.decisions.add(1, action, effect),
    decisionDropped: (effect, reason) => of.decisionsDropped.add(1, effect, reason),
    shadowed: (outcome) => of.shadowDecisions.add(1, outcome),
    evaluated: (seconds) => of.decisionDuration.add(seconds),
    evaluationFailed: () => of.decisionFailures.add(1),
    moduleLate: (why) => of.modulesLate.add(1, why),
    moduleEnded: () => of.moduleThreadsEnded.add(1),
    policiesFound: (inMemory) => (inMemory ? of.policyHits : of.policyMisses).add(1),
    passwordHashed: (seconds) => of.hashDuration.add(seconds),
    passwordRefused: () => of.hashesRefused.add(1),
    connectionWaited: (pool, seconds) => of.dbWait.add(seconds, pool),
    transactionRetried: (pool) => of.dbRetries.add(1, pool),
    limitRefused: (limit) => of.rateLimitRefusals.add(1, limit),
    jobEnded(actor, outcome, seconds) {
      of.jobs.add(1, actor, outcome)
      of.jobDuration.add(seconds, actor)
    },
    mailEnded: (outcome) => of.mails.add(1, outcome),
    webhookAttempt(outcome, seconds) {
      of.webhookAttempts.add(1, outcome)
      of.webhookDuration.add(seconds)
    },
    deliveriesDropped: (count) => of.deliveriesDropped.add(count),
  }) satisfies Partial<Metrics>
