import type { Span } from '@opentelemetry/api'
import { isDatabaseUnavailable } from '../src/platform/db/transaction.ts'
import {
  describeError,
  originOf,
  RefusedForGood,
  serverOf,
  UnrecoverableError,
} from '../src/platform/describe-error.ts'
import { DelayedError } from '../src/platform/jobs/delayed-error.ts'
import type { QueuedMessage } from '../src/platform/jobs/queue-backend.ts'
import { type Message, type QueueName, queues } from '../src/platform/jobs/queues.ts'
import type { JobOutcome } from '../src/platform/metrics/metrics.ts'
import { type Death, deadLetter } from '../src/platform/outbox/acknowledge.ts'
import { markFailed } from '../src/platform/tracing/span.ts'
import type { ActorDefinition } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { inJobSpan } from './job-span.ts'
import { pauseBefore, Retry } from './retry.ts'

interface Attended {
  outcome: JobOutcome
  failure?: Error
}

/** What stands between a queue and an actor: reads messages, and tells another attempt from a dead letter. */
export function jobProcessor<Queue extends QueueName>(definition: ActorDefinition<Queue>, deps: WorkerDeps) {
  const handle = definition.handler(deps)
  const read = (payload: unknown) => queues[definition.queue].parse(payload) as Message<Queue>

  const giveUp = async ({ id, tenantId, payload }: QueuedMessage, attempts: number, error: unknown) => {
    const readable = queues[definition.queue].safeParse(payload).success
    const reason = error instanceof RefusedForGood ? 'refused' : 'failed'
    const death: Death = { id, tenantId, attempts, reason, error: describeError(error), at: deps.clock() }
    const effect = readable ? definition.onDeath?.(read(payload), death) : undefined
    if (!(await deadLetter(deps.db, death, effect))) return
    const facts = { outbox_id: id, tenant_id: tenantId, attempts, reason, error: death.error }
    if (reason === 'refused') deps.log.warn(facts, 'became a dead letter')
    else deps.log.error({ ...facts, origin: originOf(error) }, 'became a dead letter')
  }

  const handleOnce = async ({ id, tenantId, payload }: QueuedMessage, attempt: number) => {
    const begun = performance.now()
    const message = unlessUnreadable(read, payload)
    await handle({ id, tenantId, message, attempt })
    const duration_ms = Math.round((performance.now() - begun) * 10) / 10
    const { request_id } = message
    deps.log.info({ outbox_id: id, tenant_id: tenantId, request_id, attempt, duration_ms }, 'job')
  }

  /** Gives how it ended, and what is to be thrown at the queue, for it to try again. */
  const attend = async (queued: QueuedMessage, attempt: number, span: Span): Promise<Attended> => {
    try {
      await handleOnce(queued, attempt)
      return { outcome: 'done' }
    } catch (error) {
      if (error instanceof DelayedError) return { outcome: 'later', failure: error }
      markFailed(span, error)
      const last = error instanceof UnrecoverableError || attempt >= definition.attempts
      if (last && !isDatabaseUnavailable(error)) {
        await giveUp(queued, attempt, error)
        return { outcome: 'dead' }
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
    async attend(queued: QueuedMessage, attempt: number): Promise<void> {
      const begun = performance.now()
      const { outcome, failure } = await inJobSpan(definition.queue, queued, attempt, (span) =>
        attend(queued, attempt, span),
      )
      deps.metrics.jobEnded(definition.name, outcome, (performance.now() - begun) / 1_000)
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
