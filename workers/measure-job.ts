import type { Metrics } from '../src/observe/metrics/metrics.ts'

/** Measures a job that no message starts; the next run does a failed one again. Returns the result of `work`. */
export async function measureJob<T>(metrics: Metrics, actor: string, work: Promise<T>): Promise<T> {
  const started = performance.now()
  const ended = (outcome: 'done' | 'retry') =>
    metrics.jobEnded(actor, outcome, (performance.now() - started) / 1_000)
  work.then(
    () => ended('done'),
    () => ended('retry'),
  )
  return work
}
