import { setTimeout as sleep } from 'node:timers/promises'
import type { QueueName } from '../src/messages/queues/queues.ts'
import { describeError } from '../src/observe/describe-error.ts'
import { type Actor, pollingEvery, type Running } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { inScheduledSpan } from './job-span.ts'
import { measureJob } from './measure-job.ts'

/** A job that runs at intervals. However many processes there are, one of them runs it at a time. */
export interface ScheduledDefinition {
  name: string
  queue: QueueName
  /** ms between two runs */
  every: number
  /** ms after which another process gets the run of a process that died */
  lockDuration: number
  /** Returns figures for the log. A failed run is not repeated: the next one follows anyway. */
  run(deps: WorkerDeps): Promise<Record<string, number>>
}

/** An actor that a schedule starts instead of messages; `every` overrides the interval of the definition. */
export interface ScheduledActor extends Actor {
  start(deps: WorkerDeps, backend: Parameters<Actor['start']>[1], every?: number): Promise<Running>
}

const soon = 1_000

/**
 * Makes an actor from a definition. Each process registers the schedule at its start and again at each interval, in case
 * the queue server was unavailable or lost it. The queue keeps one schedule per name.
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
      const registration = keepRegistered(() => backend.schedule(queue, every), every)
      return {
        async stop(force) {
          registration.end()
          await consumer.close(force)
        },
        isRunning: consumer.isRunning,
      }
    },
  }
}

/** A job that each process runs at its start and at intervals, without a queue, which would need four connections. */
export interface TimedDefinition {
  name: string
  /** ms between the end of a run and the next one */
  every: number
  /** Returns figures for the log. Runs of several processes must share the work. It ends early when `stopped`. */
  run(deps: WorkerDeps, stopped: () => boolean): Promise<Record<string, number>>
}

/** Makes an actor from a definition. A run that found nothing to do is not logged. */
export function defineTimed({ name, every, run }: TimedDefinition): Actor {
  return {
    name,
    description: pollingEvery(every),
    async start(deps) {
      const log = deps.log.child({ actor: name })
      const end = new AbortController()
      const { signal } = end
      const loop = async () => {
        while (!signal.aborted) {
          await measureJob(
            deps.metrics,
            name,
            run(deps, () => signal.aborted),
          ).then(
            (figures) => Object.values(figures).some(Boolean) && log.info(figures, 'tidied up'),
            (error) => log.warn({ error: describeError(error) }, 'not done; the next run tries again'),
          )
          await sleep(every, undefined, { signal, ref: false }).catch(() => undefined)
        }
      }
      const running = loop()
      return {
        async stop() {
          end.abort()
          await running
        },
      }
    },
  }
}

/** Errors are only retried here: the backend itself reports that its server is unavailable. */
function keepRegistered(register: () => Promise<void>, every: number): { end(): void } {
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const round = async () => {
    const wait = await register().then(
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
