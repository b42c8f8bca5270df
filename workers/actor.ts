import type { QueueBackend } from '../src/platform/jobs/queue-backend.ts'
import type { Message, QueueName } from '../src/platform/jobs/queues.ts'
import type { Death, Delivery, Effect } from '../src/platform/outbox/acknowledge.ts'
import type { WorkerDeps } from './deps.ts'
import { jobProcessor } from './process-job.ts'
import { pauseBefore, Retry } from './retry.ts'

// An actor handles the messages of one queue. It may be handed the same message twice, at the same time even, and
// has one way to be done with it: to settle it, which deletes the outbox row in the transaction of the effect, so
// that the second delivery finds no row and changes nothing. What fails is tried again; what fails for the last
// time, or cannot be read, is moved to the dead letters and blocks nobody.

/** A message as its actor sees it; `attempt` counts from 1. */
export interface ActorMessage<Queue extends QueueName> extends Delivery {
  message: Message<Queue>
  attempt: number
}

export interface ActorDefinition<Queue extends QueueName> {
  name: string
  queue: Queue
  /** Messages handled at a time by one process. */
  concurrency: number
  attempts: number
  /** ms before the second attempt and at most; it doubles in between, and up to half of it is left to chance. */
  backoff: { first: number; longest: number }
  /** ms after which the message of a process that died is given to another; renewed while it lives. */
  lockDuration: number
  /** Asked once per process for what handles each message, and settles it or throws DelayedError. */
  handler(deps: WorkerDeps): (message: ActorMessage<Queue>) => Promise<void>
  /** In place of a dead letter, where the processes that handled a message kept dying. */
  abandoned?(deps: WorkerDeps, delivery: Delivery): Promise<void>
  /** Writes what else belongs to the transaction in which a message becomes a dead letter. */
  onDeath?(message: Message<Queue>, death: Death): Effect
}

/** A running part of a worker. */
export interface Running {
  /** Takes no more work and waits for what is at hand, unless forced. */
  stop(force?: boolean): Promise<void>
  /** Whether it still takes work; what has no such question runs until it is stopped. */
  isRunning?(): boolean
}

/** What an operator plans with; docs/reference/workers.md is compared with it. Times in ms. */
export interface ActorDescription {
  readonly queue: QueueName | null
  /** Between two runs, where no message asks for one. */
  readonly every: number | null
  /** Handled at a time by one process. */
  readonly concurrency: number
  /** Infinity: until it is done. */
  readonly attempts: number
  readonly backoff: { readonly first: number; readonly longest: number } | null
  readonly lockDuration: number | null
  /** What becomes of that which fails for good. */
  readonly afterwards: 'dead letter' | 'begun anew' | 'next run'
}

/** What `npm run worker -- <name>` starts. */
export interface Actor {
  name: string
  description: ActorDescription
  start(deps: WorkerDeps, backend: QueueBackend): Promise<Running>
}

/** Makes an actor of what it does and how often it tries. */
export function defineActor<Queue extends QueueName>(definition: ActorDefinition<Queue>): Actor {
  const { name, queue, concurrency, attempts, lockDuration, backoff } = definition
  const afterwards = definition.abandoned ? 'begun anew' : 'dead letter'
  return {
    name,
    description: { queue, every: null, concurrency, attempts, backoff, lockDuration, afterwards },
    async start(deps, backend) {
      const { attend, abandoned } = jobProcessor(definition, {
        ...deps,
        log: deps.log.child({ actor: name }),
      })
      // The log has told when it comes again; an error of the queue's own has not.
      const delay = (attempt: number, error: unknown) =>
        error instanceof Retry ? error.ms : pauseBefore(backoff, attempt, error)
      const options = { concurrency, lockDuration, retryDelay: delay, abandoned }
      const consumer = await backend.consume(queue, options, attend)
      return { stop: (force) => consumer.close(force), isRunning: consumer.isRunning }
    },
  }
}

/** Of an actor without a queue, which looks by itself for what is to be done; `every` in ms. */
export const pollingEvery = (every: number): ActorDescription => ({
  queue: null,
  every,
  concurrency: 1,
  attempts: 1,
  backoff: null,
  lockDuration: null,
  afterwards: 'next run',
})
