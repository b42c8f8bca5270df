import type { Queue } from 'bullmq'
import type { Sample } from '../metrics/read-sources.ts'

const states = ['waiting', 'active', 'delayed'] as const

/** Looked at of those that wait to be tried again: the longest pauses are those of the oldest. */
const sampled = 100

/** How many jobs are on a queue, and how long the oldest of those that wait, or wait to be tried again, has waited. */
export async function measureQueue(name: string, queue: Queue): Promise<Sample[]> {
  const counts = await queue.getJobCounts(...states)
  const [oldest] = await queue.getJobs(['waiting'], 0, 0, true)
  // What was delayed waits from the end of its delay on. BullMQ writes times by the clock of the machine.
  const since = oldest && oldest.timestamp + (oldest.opts.delay ?? 0)
  const delayed = await queue.getJobs(['delayed'], 0, sampled - 1, false)
  // What was put off without a failure is not late: the next run of a schedule, or a webhook that is not due.
  const failed = delayed.filter((job) => job?.attemptsMade > 0).map(({ timestamp }) => timestamp)
  const now = Date.now()
  const lag = Math.max(0, now - Math.min(since ?? now, ...failed)) / 1_000
  return [
    { gauge: 'queueLag', labels: { queue: name }, value: lag },
    ...states.map(
      (state) => ({ gauge: 'queueJobs', labels: { queue: name, state }, value: counts[state] ?? 0 }) as const,
    ),
  ]
}
