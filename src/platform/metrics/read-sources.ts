import { withTimeLimit } from '../time-limit.ts'
import type { Catalogue, LabelsOf, MetricName } from './catalogue.ts'

type GaugeName = { [Name in MetricName]: Catalogue[Name]['kind'] extends 'gauge' ? Name : never }[MetricName]

/** What a gauge stands at. */
export type Sample = {
  [Name in GaugeName]: { gauge: Name; labels: Record<LabelsOf<Name>, string>; value: number }
}[GaugeName]

/** Figures that have to be asked for: of Postgres, or of the queues. */
export interface Source {
  /** Gives the newest figures, null where they did not come in time or could not be had. Never rejects. */
  read(): Promise<readonly Sample[] | null>
}

/** How long a scrape waits for a source, and how long what it said counts as new (ms). */
const patienceMs = 1_500
const rememberedMs = 3_000

/**
 * Makes a source of a question. It is asked again after 3 s at the earliest, after a failure too, and never while it
 * is still being answered: however often we are scraped, and by how many, what answers is asked once.
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
        await withTimeLimit(asking.since + patienceMs - performance.now(), asking.answer, () => undefined)
      }
      return known && isNew() ? known.samples : null
    },
  }
}
