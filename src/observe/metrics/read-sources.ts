import { withTimeLimit } from '../../limits/time-limit.ts'
import type { Catalogue, LabelsOf, MetricName } from './catalogue.ts'

type GaugeName = { [Name in MetricName]: Catalogue[Name]['kind'] extends 'gauge' ? Name : never }[MetricName]

/** A value of a gauge. */
export type Sample = {
  [Name in GaugeName]: { gauge: Name; labels: Record<LabelsOf<Name>, string>; value: number }
}[GaugeName]

/** Values that Postgres or the queues have to be asked for. */
export interface Source {
  /** Gives the newest values; null when the source failed or did not answer in time. Never rejects. */
  read(): Promise<readonly Sample[] | null>
}

/** How long a scrape waits for a source, and how long an answer counts as new (ms). */
const timeoutMs = 1_500
const rememberedMs = 3_000

/**
 * Makes a source from `ask`. It calls `ask` at most once every 3 s, also after a failure, and never while a call is
 * still running. So the load on the source does not depend on the number of scrapes.
 */
export function openSource(ask: () => Promise<readonly Sample[]>, clock: () => number): Source {
  let known: { at: number; samples: readonly Sample[] | null } | undefined
  let asking: { since: number; answer: Promise<void> } | undefined
  const begin = () => {
    const settle = (samples: readonly Sample[] | null) => {
      known = { at: clock(), samples }
      asking = undefined
    }
    return { since: performance.now(), answer: ask().then(settle, () => settle(null)) }
  }
  const isNew = () => known !== undefined && Math.abs(clock() - known.at) < rememberedMs
  return {
    async read() {
      if (!isNew()) {
        asking ??= begin()
        await withTimeLimit(asking.since + timeoutMs - performance.now(), asking.answer, () => undefined)
      }
      return known && isNew() ? known.samples : null
    },
  }
}
