import { isPartAway } from '../src/database/executor/database-errors.ts'
import { asWorker, isDatabaseUnavailable, type Tx } from '../src/database/executor/transaction.ts'
import { deadLetter } from '../src/messages/outbox/acknowledge.ts'
import {
  claimOverdue,
  claimReachable,
  claimWaiting,
  type EnqueuedMessage,
  listForUnknownQueues,
  markEnqueued,
  noteFound,
  type OutboxMessage,
} from '../src/messages/outbox/claim.ts'
import { type Newest, numberEvents } from '../src/messages/outbox/event-store.ts'
import { openOutboxListener } from '../src/messages/outbox/outbox-listener.ts'
import { timeOrderedId } from '../src/messages/outbox/time-ordered-id.ts'
import type { QueueBackend } from '../src/messages/queues/queue-backend.ts'
import type { QueuedMessage } from '../src/messages/queues/queued-message.ts'
import { carriedTogether } from '../src/messages/queues/queues.ts'
import { describeError } from '../src/observe/describe-error.ts'
import { type Actor, pollingEvery, type Running } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { outageLog } from './outage-log.ts'

// The relay moves messages from the outbox to their queues. It adds jobs inside the transaction that marks the rows:
// after a crash a message can be in two jobs, which is harmless because its row is acknowledged once. The other order
// could leave a message waiting for minutes. The rows are locked meanwhile, so several relays share the work.

const batch = 100
const poll = 1_000

/** ms until a relay asks a node again that was away. */
const partRetryMs = 10_000

// During an upgrade, relays of the newer release take the messages for its queues; a day is enough for that.
const unknownAfter = 86_400_000

/** `overdueAfter`: ms after which the relay checks that an unacknowledged message is still in its queue. */
export interface RelayOptions {
  overdueAfter?: number
  pollEvery?: number
}

export const outboxRelay: Actor = {
  name: 'outbox-relay',
  description: pollingEvery(poll),
  start: (deps, backend) => startRelay(deps, backend),
}

/** Starts a relay. Any number can run, in one process or several. */
export async function startRelay(
  deps: WorkerDeps,
  backend: QueueBackend,
  { overdueAfter = 120_000, pollEvery = poll }: RelayOptions = {},
): Promise<Running> {
  const outage = outageLog(deps.log, 'What the relay needs')
  const report = (error: unknown): undefined => {
    if (isDatabaseUnavailable(error) || !(error instanceof Error)) outage.failed(error)
    else deps.log.warn({ error: describeError(error) }, 'the relay will try again')
  }
  const listener = openOutboxListener(deps.config.DATABASE_WORKER_URL!, report)
  let stopped = false
  let nextCheck = 0
  // The first check covers all enqueued messages: this process can be the first on a new queue backend.
  let checkBefore: number | null = deps.clock() - 1
  const check = async () => {
    if (checkBefore === null && performance.now() < nextCheck) return false
    checkBefore ??= deps.clock() - overdueAfter
    if (await relayOverdue(deps, backend, checkBefore)) return true
    await deadLetterUnknown(deps)
    checkBefore = null
    nextCheck = performance.now() + Math.min(overdueAfter / 4, 30_000)
    return false
  }
  const round = async () => {
    const more = await check()
    const full = (await relayWaiting(deps, backend, claimWaiting)) === batch
    outage.recovered()
    return full || more
  }
  let awayUntil = 0
  /** While a part of the database is away, the tenants of the other parts are served. Nothing else is checked meanwhile. */
  const roundWithoutAway = async () => {
    if (performance.now() < awayUntil) return (await relayWaiting(deps, backend, claimReachable)) === batch
    return round().catch((error: Error) => {
      if (!isPartAway(error)) throw error
      report(error)
      awayUntil = performance.now() + partRetryMs
      return true
    })
  }
  const loop = async () => {
    while (!stopped) if (!(await roundWithoutAway().catch(report))) await listener.written(pollEvery)
  }
  const running = loop()
  return {
    async stop() {
      stopped = true
      listener.close()
      await running
    },
  }
}

/** Moves one batch of waiting messages; returns how many. */
function relayWaiting(deps: WorkerDeps, backend: QueueBackend, claim: typeof claimWaiting): Promise<number> {
  return asWorker(deps.db, async (tx) => {
    const messages = await claim(tx, batch)
    await numberEvents(tx, newestEvents(messages))
    const now = deps.clock()
    for (const [queue, part] of Map.groupBy(messages, (message) => message.queue)) {
      const together = carriedTogether.has(queue) && part.length > 1 ? jobFor(part, now) : null
      await backend.add(queue, together ? [together] : part)
      markEnqueued(tx, part, now, together?.job)
    }
    return messages.length
  })
}

/** The newest event of each tenant: ids ascend, so it is the last in the batch. A message has the id of its event. */
function newestEvents(messages: OutboxMessage[]): Newest[] {
  const events = messages.filter((message) => message.queue === 'event-fanout')
  const newest = new Map(events.map(({ tenantId, id }) => [tenantId, { tenantId, eventId: id }]))
  return [...newest.values()]
}

/** The first message, whose job carries the others. */
function jobFor(messages: OutboxMessage[], now: number): QueuedMessage & { job: string } {
  const [first, ...others] = messages.map(({ id, tenantId, payload }) => ({ id, tenantId, payload }))
  return {
    ...first!,
    job: timeOrderedId(now),
    others: others.map(({ id, tenantId, payload }) => ({ id, tenantId, ...traceOf(payload) })),
  }
}

function traceOf(payload: unknown): { traceparent?: string } {
  const { traceparent } = payload as { traceparent?: string }
  return traceparent ? { traceparent } : {}
}

/**
 * Enqueues messages again that their queue has lost: flushed, restored from a backup, or left on another backend. Checks
 * one batch of those enqueued before `before` (ms since 1970), so that new messages do not wait; returns whether there
 * can be more.
 */
async function relayOverdue(deps: WorkerDeps, backend: QueueBackend, before: number): Promise<boolean> {
  const { found, lost } = await asWorker(deps.db, async (tx) => {
    const overdue = await claimOverdue(tx, before, batch)
    return { found: overdue.length, lost: await requeueLost(tx, deps, backend, overdue) }
  })
  if (lost > 0) deps.log.warn({ count: lost }, 'messages were missing from their queues and were added again')
  return found === batch
}

async function requeueLost(tx: Tx, deps: WorkerDeps, backend: QueueBackend, overdue: EnqueuedMessage[]) {
  let lost = 0
  const now = deps.clock()
  noteFound(tx, overdue, now)
  for (const [queue, part] of Map.groupBy(overdue, (message) => message.queue)) {
    const jobs = new Set(await backend.findLost(queue, [...new Set(part.map(({ carriedBy }) => carriedBy))]))
    const missing = part.filter(({ carriedBy }) => jobs.has(carriedBy))
    if (missing.length > 0) await backend.add(queue, missing)
    markEnqueued(tx, missing, now)
    lost += missing.length
  }
  return lost
}

/** Such messages were written by hand, or by a newer version that was rolled back. */
async function deadLetterUnknown(deps: WorkerDeps): Promise<void> {
  const unknown = await asWorker(deps.db, (tx) =>
    listForUnknownQueues(tx, deps.clock() - unknownAfter, batch),
  )
  for (const { id, tenantId, queue } of unknown) {
    deps.log.error(
      { outbox_id: id, tenant_id: tenantId, queue },
      'became a dead letter: there is no such queue',
    )
    await deadLetter(deps.db, {
      id,
      tenantId,
      queue,
      attempts: 0,
      reason: 'failed',
      error: 'There is no such queue',
      at: deps.clock(),
    })
  }
}
