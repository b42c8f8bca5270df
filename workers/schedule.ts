import { describeError } from '../src/platform/describe-error.ts'
import type { QueueName } from '../src/platform/jobs/queues.ts'
import { type Actor, pollingEvery, type Running } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { inScheduledSpan } from './job-span.ts'
import { measureJob } from './measure-job.ts'

/** What is done again and again, however many processes run: by one of them at a time. */
export interface ScheduledDefinition {
  name: string
  queue: QueueName
  /** ms between two runs */
  every: number
  /** ms after which the run of a process that died is given to another */
  lockDuration: number
  /** Gives figures for the log. A run that fails is not repeated: the next one comes anyway. */
  run(deps: WorkerDeps): Promise<Record<string, number>>
}

/** An actor that a schedule calls instead of messages; `every` may be given in place of the definition's. */
export interface ScheduledActor extends Actor {
  start(deps: WorkerDeps, backend: Parameters<Actor['start']>[1], every?: number): Promise<Running>
}

const soon = 1_000

/**
 * Makes an actor of what is done at intervals. Each process names the schedule when it starts and from time to time
 * again, so that a queue server that was away or lost it has it; the queue keeps one under that name.
 */
export function defineScheduled(definition: ScheduledDefinition): ScheduledActor {
  const { name, queue, lockDuration, run } = definition
  return {
    name,
    description: { ...pollingEvery(definition.every), queue, lockDuration },
    async start(deps, backend, every = definition.every) {
      const log = deps.log.child({ actor: name })
      const work = () =>
        inScheduledSpan(queue, () => measureJob(deps.metrics, name, run(deps))).then(
          (figures) => log.info(figures, 'tidied up'),
          (error) => log.warn({ error: describeError(error) }, 'not done; the next run tries again'),
        )
      const options = {
        concurrency: 1,
        lockDuration,
        retryDelay: () => every,
        abandoned: async () => undefined,
      }
      const consumer = await backend.consume(queue, options, work)
      const arrangement = keepArranged(() => backend.schedule(queue, every), every)
      return {
        async stop(force) {
          arrangement.end()
          await consumer.close(force)
        },
        isRunning: consumer.isRunning,
      }
    },
  }
}

/** The backend itself reports that its server is away; here it is only tried again. */
function keepArranged(arrange: () => Promise<void>, every: number): { end(): void } {
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const round = async () => {
    const wait = await arrange().then(
      () => every,
      () => Math.min(soon, every),
    )
    if (!ended) timer = setTimeout(round, wait).unref()
  }
  round()
  return {
    end() {
      ended = true
      clearTimeout(timer)
    },
  }
}
