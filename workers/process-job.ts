import type { Span } from '@opentelemetry/api'
import { isDatabaseUnavailable, type Tx } from '../src/database/executor/transaction.ts'
import { deadLetter, findMessage, type NewDeadLetter } from '../src/messages/outbox/acknowledge.ts'
import { DelayedError } from '../src/messages/queues/delayed-error.ts'
import type { QueuedMessage } from '../src/messages/queues/queued-message.ts'
import { type Message, type QueueName, queues } from '../src/messages/queues/queues.ts'
import {
  describeError,
  originOf,
  RefusedForGood,
  serverOf,
  UnrecoverableError,
} from '../src/observe/describe-error.ts'
import type { JobOutcome } from '../src/observe/metrics/metrics.ts'
import { markFailed } from '../src/observe/tracing/span.ts'
import type { ActorDefinition } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { inJobSpan } from './job-span.ts'

/** `failure`: thrown to the queue so that it tries again. */
interface Attempted {
  outcome: JobOutcome
  failure?: Error
}

/** Thrown to the queue: the message comes again after `ms`. The queue stores its message and stack, so both are ours. */
export class Retry extends Error {
  override name = 'Retry'
  readonly ms: number
  constructor(cause: unknown, ms: number) {
    super(describeError(cause))
    this.stack = this.message
    this.ms = ms
  }
}

/** ms to wait after `attempt` (from 1), partly random. During an outage of the database the wait is short. */
export function pauseBefore(
  backoff: { first: number; longest: number },
  attempt: number,
  error: unknown,
): number {
  if (isDatabaseUnavailable(error)) return 500
  const full = Math.min(backoff.first * 2 ** (attempt - 1), backoff.longest)
  return Math.round(full * (1 - Math.random() / 2))
}

/** Connects a queue to an actor: parses messages, decides between retry and dead letter, logs and measures. */
export function jobProcessor<Queue extends QueueName>(definition: ActorDefinition<Queue>, deps: WorkerDeps) {
  const handle = definition.handler(deps)
  const read = (payload: unknown) => queues[definition.queue].parse(payload) as Message<Queue>

  const giveUp = async ({ id, tenantId, others = [] }: QueuedMessage, attempts: number, error: unknown) => {
    if (others.length > 0) {
      const facts = { outbox_id: id, count: others.length + 1, attempts, error: describeError(error) }
      return deps.log.warn(facts, 'each message of this job will be tried by itself')
    }
    const reason = error instanceof RefusedForGood ? 'refused' : 'failed'
    const death: NewDeadLetter = {
      id,
      tenantId,
      queue: definition.queue,
      attempts,
      reason,
      error: describeError(error),
      at: deps.clock(),
    }
    const effect = async (tx: Tx, payload: unknown) => {
      const readable = queues[definition.queue].safeParse(payload).success
      if (readable) await definition.onDeadLetter?.(read(payload), death)(tx)
    }
    if (!(await deadLetter(deps.db, death, effect))) return
    const facts = { outbox_id: id, tenant_id: tenantId, attempts, reason, error: death.error }
    if (reason === 'refused') deps.log.warn(facts, 'became a dead letter')
    else deps.log.error({ ...facts, origin: originOf(error) }, 'became a dead letter')
  }

  /** A job that carries several messages is not compared: its handler takes only their keys. */
  const payloadOf = async ({ id, tenantId, payload, others = [] }: QueuedMessage) =>
    others.length > 0 ? { payload } : findMessage(deps.db, { id, tenantId, queue: definition.queue })

  const handleOnce = async (queued: QueuedMessage, attempt: number) => {
    const started = performance.now()
    const { id, tenantId, others = [] } = queued
    const found = await payloadOf(queued)
    if (!found) return deps.log.debug({ outbox_id: id, tenant_id: tenantId }, 'the message is gone')
    const { payload } = found
    const message = unlessUnreadable(read, payload)
    await handle({ id, tenantId, queue: definition.queue, message, attempt, others })
    const duration_ms = Math.round((performance.now() - started) * 10) / 10
    const { request_id } = message
    const count = others.length > 0 ? { count: others.length + 1 } : undefined
    deps.log.info({ outbox_id: id, tenant_id: tenantId, request_id, attempt, duration_ms, ...count }, 'job')
  }

  const tryOnce = async (queued: QueuedMessage, attempt: number, span: Span): Promise<Attempted> => {
    try {
      await handleOnce(queued, attempt)
      return { outcome: 'done' }
    } catch (error) {
      if (error instanceof DelayedError) return { outcome: 'later', failure: error }
      markFailed(span, error)
      const last = error instanceof UnrecoverableError || attempt >= definition.attempts
      if (last && !isDatabaseUnavailable(error)) {
        await giveUp(queued, attempt, error)
        return { outcome: queued.others ? 'split' : 'dead' }
      }
      const pause = pauseBefore(definition.backoff, attempt, error)
      const facts = {
        outbox_id: queued.id,
        tenant_id: queued.tenantId,
        attempt,
        error: describeError(error),
        server: serverOf(error),
        next_attempt_at: new Date(deps.clock() + pause).toISOString(),
      }
      deps.log.warn(facts, 'will be tried again')
      return { outcome: 'retry', failure: new Retry(error, pause) }
    }
  }

  return {
    async processJob(queued: QueuedMessage, attempt: number): Promise<void> {
      const started = performance.now()
      const { outcome, failure } = await inJobSpan(definition.queue, queued, attempt, (span) =>
        tryOnce(queued, attempt, span),
      )
      deps.metrics.jobEnded(definition.name, outcome, (performance.now() - started) / 1_000)
      if (failure) throw failure
    },
    abandoned: (queued: QueuedMessage, attempt: number) =>
      definition.abandoned?.(deps, queued) ??
      giveUp(queued, attempt, new UnrecoverableError('The processes that handled it died')),
  }
}

function unlessUnreadable<T>(read: (payload: unknown) => T, payload: unknown): T {
  try {
    return read(payload)
  } catch (error) {
    throw new UnrecoverableError(describeError(error))
  }
}
