import { isDatabaseUnavailable } from '../src/platform/db/transaction.ts'
import type { QueueBackend, QueuedMessage } from '../src/platform/jobs/queue-backend.ts'
import { type Message, type QueueName, queues } from '../src/platform/jobs/queues.ts'
import { bury, type Delivery, settle } from '../src/platform/outbox/settle.ts'
import type { WorkerDeps } from './deps.ts'
import { describeError, Hopeless, originOf } from './describe-error.ts'

// An actor handles the messages of one queue. It may be handed the same message twice, at the same time even, and
// has one way to be done with it: `settle`, which deletes the outbox row in the transaction of the effect, so that
// the second delivery finds no row and changes nothing. What fails is tried again; what fails for the last time,
// or cannot be read, is moved to the dead letters and blocks nobody.

/** A message as its actor sees it; `attempt` counts from 1. */
export interface ActorMessage<Queue extends QueueName> extends Delivery {
  message: Message<Queue>
  attempt: number
  /** Carries out the effect and marks the message done, in one transaction; false where it was done before. */
  settle: (effect: Parameters<typeof settle>[2]) => Promise<boolean>
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
  handle(deps: WorkerDeps, message: ActorMessage<Queue>): Promise<void>
  /** What else is to be written when the message becomes a dead letter. */
  onDeath?(message: Message<Queue>, delivery: Delivery): Parameters<typeof settle>[2]
}

/** A running part of a worker. */
export interface Running {
  /** Takes no more work and waits for what is at hand, unless forced. */
  stop(force?: boolean): Promise<void>
}

/** What `npm run worker -- <name>` starts. */
export interface Actor {
  name: string
  start(deps: WorkerDeps, backend: QueueBackend): Promise<Running>
}

/** Makes an actor of what it does and how often it tries. */
export function defineActor<Queue extends QueueName>(definition: ActorDefinition<Queue>): Actor {
  const { name, queue, concurrency, lockDuration } = definition
  return {
    name,
    async start(deps, backend) {
      const log = deps.log.child({ actor: name })
      const consumer = await backend.consume(
        queue,
        {
          concurrency,
          lockDuration,
          retryDelay: (attempt, error) => retryDelay(definition, attempt, error),
          abandoned: (message, attempt) =>
            giveUp(
              definition,
              { ...deps, log },
              message,
              attempt,
              new Hopeless('The processes that handled it died'),
            ),
        },
        (message, attempt) => attend(definition, { ...deps, log }, message, attempt),
      )
      return { stop: (force) => consumer.close(force) }
    },
  }
}

async function attend<Queue extends QueueName>(
  definition: ActorDefinition<Queue>,
  deps: WorkerDeps,
  queued: QueuedMessage,
  attempt: number,
): Promise<void> {
  const { id, tenantId } = queued
  const read = queues[definition.queue].safeParse(queued.payload)
  if (!read.success) return giveUp(definition, deps, queued, attempt, read.error)
  const message = read.data as Message<Queue>
  try {
    await definition.handle(deps, {
      id,
      tenantId,
      message,
      attempt,
      settle: (effect) => settle(deps.db, { id, tenantId }, effect),
    })
  } catch (error) {
    const last = error instanceof Hopeless || attempt >= definition.attempts
    if (last && !isDatabaseUnavailable(error)) return giveUp(definition, deps, queued, attempt, error)
    deps.log.warn(
      { outbox_id: id, attempt, request_id: message.request_id, error: describeError(error) },
      'will be tried again',
    )
    throw retryable(error)
  }
}

/** BullMQ stores message and stack of what is thrown at it, so it gets neither. */
function retryable(error: unknown): Error {
  const safe = new Error(describeError(error))
  if (isDatabaseUnavailable(error)) safe.name = 'DatabaseUnavailable'
  safe.stack = safe.message
  return safe
}

function retryDelay(
  { backoff }: { backoff: { first: number; longest: number } },
  attempt: number,
  error: unknown,
) {
  if (error instanceof Error && error.name === 'DatabaseUnavailable') return 500
  const full = Math.min(backoff.first * 2 ** (attempt - 1), backoff.longest)
  return Math.round(full * (1 - Math.random() / 2))
}

async function giveUp<Queue extends QueueName>(
  definition: ActorDefinition<Queue>,
  deps: WorkerDeps,
  queued: QueuedMessage,
  attempts: number,
  error: unknown,
): Promise<void> {
  const { id, tenantId } = queued
  const read = queues[definition.queue].safeParse(queued.payload)
  const reason = describeError(error)
  const effect = read.success
    ? definition.onDeath?.(read.data as Message<Queue>, { id, tenantId })
    : undefined
  const moved = await bury(deps.db, { id, tenantId, attempts, reason, at: deps.clock() }, effect)
  if (moved)
    deps.log.error(
      { outbox_id: id, tenant_id: tenantId, attempts, error: reason, origin: originOf(error) },
      'became a dead letter',
    )
}
