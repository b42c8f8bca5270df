import type { Queue } from 'bullmq'
import type { Sample } from '../metrics/read-sources.ts'

const states = ['waiting', 'active', 'delayed'] as const

/** How many jobs are on a queue, and how long the first of those that wait has waited. */
export async function measureQueue(name: string, queue: Queue): Promise<Sample[]> {
  const counts = await queue.getJobCounts(...states)
  const [oldest] = await queue.getJobs(['waiting'], 0, 0, true)
  // What was delayed waits from the end of its delay on. BullMQ writes times by the clock of the machine.
  const since = oldest && oldest.timestamp + (oldest.opts.delay ?? 0)
  const lag = since === undefined ? 0 : Math.max(0, Date.now() - since) / 1_000
  return [
    { gauge: 'queueLag', labels: { queue: name }, value: lag },
    ...states.map(
      (state) => ({ gauge: 'queueJobs', labels: { queue: name, state }, value: counts[state] ?? 0 }) as const,
    ),
  ]
}
