import type { Metrics } from '../src/platform/metrics/metrics.ts'

/** Counts what nobody sends a message for; what fails is done at the next time. Gives what the work gives. */
export async function measureJob<T>(metrics: Metrics, actor: string, work: Promise<T>): Promise<T> {
  const begun = performance.now()
  const ended = (outcome: 'done' | 'retry') =>
    metrics.jobEnded(actor, outcome, (performance.now() - begun) / 1_000)
  work.then(
    () => ended('done'),
    () => ended('retry'),
  )
  return work
}
