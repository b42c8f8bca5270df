import type { Effect, NewDeadLetter } from '../src/messages/outbox/acknowledge.ts'
import type { QueueBackend } from '../src/messages/queues/queue-backend.ts'
import type { MessageKey } from '../src/messages/queues/queued-message.ts'
import type { Message, QueueName } from '../src/messages/queues/queues.ts'
import type { WorkerDeps } from './deps.ts'
import { jobProcessor, pauseBefore, Retry } from './process-job.ts'

// An actor handles the messages of one queue. It can receive a message twice, even at the same time. It ends a message by
// acknowledging it: this deletes the outbox row in the transaction of the effect, so a second delivery finds no row and
// changes nothing. A failed message is tried again. After its last attempt, or when it cannot be read, it becomes a dead
// letter and blocks no other message. A job that carries several messages has no dead letter: the relay adds each of them
// again by itself.

/** A message for its actor; `attempt` counts from 1. */
export interface ActorMessage<Queue extends QueueName> extends MessageKey {
  queue: Queue
  /** As the outbox has it, whatever the job says; of a job that carries several messages, the job's. */
  message: Message<Queue>
  attempt: number
  /** Messages that the same job carries; only those of a queue in `carriedTogether` have any. */
  others: readonly MessageKey[]
}

export interface ActorDefinition<Queue extends QueueName> {
  name: string
  queue: Queue
  /** Messages that one process handles at the same time. */
  concurrency: number
  attempts: number
  /** ms before the second attempt, and the maximum. The pause doubles each time and is randomly cut by up to half. */
  backoff: { first: number; longest: number }
  /** ms after which another process gets the message of a process that died; renewed while the process lives. */
  lockDuration: number
  /** Called once per process. Returns the function that acknowledges each message or throws, for example DelayedError. */
  handler(deps: WorkerDeps): (message: ActorMessage<Queue>) => Promise<void>
  /** Called instead of writing a dead letter when the processes that handled a message kept dying. */
  abandoned?(deps: WorkerDeps, message: MessageKey): Promise<void>
  /** Writes what else belongs to the transaction in which a message becomes a dead letter. */
  onDeadLetter?(message: Message<Queue>, death: NewDeadLetter): Effect
}

/** A running part of a worker. */
export interface Running {
  /** Takes no more work and waits for the work in progress, unless forced. */
  stop(force?: boolean): Promise<void>
  /** Whether it still takes work. Without this function it runs until it is stopped. */
  isRunning?(): boolean
}

/** Facts for operators; a test compares docs/reference/workers.md with them. Times in ms. */
export interface ActorDescription {
  readonly queue: QueueName | null
  /** Between two runs of an actor that does not wait for messages. */
  readonly every: number | null
  /** Messages that one process handles at the same time. */
  readonly concurrency: number
  /** Infinity: until it succeeds. */
  readonly attempts: number
  readonly backoff: { readonly first: number; readonly longest: number } | null
  readonly lockDuration: number | null
  /** What happens after the last attempt failed. */
  readonly afterwards: 'dead letter' | 'started again' | 'next run'
}

/** Started by `npm run worker -- <name>`. */
export interface Actor {
  name: string
  description: ActorDescription
  start(deps: WorkerDeps, backend: QueueBackend): Promise<Running>
}

/** Makes an actor from its definition. */
export function defineActor<Queue extends QueueName>(definition: ActorDefinition<Queue>): Actor {
  const { name, queue, concurrency, attempts, lockDuration, backoff } = definition
  const afterwards = definition.abandoned ? 'started again' : 'dead letter'
  return {
    name,
    description: { queue, every: null, concurrency, attempts, backoff, lockDuration, afterwards },
    async start(deps, backend) {
      const { processJob, abandoned } = jobProcessor(definition, {
        ...deps,
        log: deps.log.child({ actor: name }),
      })
      // A Retry has the pause that the log announced; an error of the queue itself has none.
      const delay = (attempt: number, error: unknown) =>
        error instanceof Retry ? error.ms : pauseBefore(backoff, attempt, error)
      const options = { concurrency, lockDuration, retryDelay: delay, abandoned }
      const consumer = await backend.consume(queue, options, processJob)
      return { stop: (force) => consumer.close(force), isRunning: consumer.isRunning }
    },
  }
}

/** Describes an actor without a queue, which looks for work itself; `every` in ms. */
export const pollingEvery = (every: number): ActorDescription => ({
  queue: null,
  every,
  concurrency: 1,
  attempts: 1,
  backoff: null,
  lockDuration: null,
  afterwards: 'next run',
})
