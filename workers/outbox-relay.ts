import { asWorker, isDatabaseUnavailable, type Tx } from '../src/platform/db/transaction.ts'
import { describeError } from '../src/platform/describe-error.ts'
import type { QueueBackend } from '../src/platform/jobs/queue-backend.ts'
import { deadLetter } from '../src/platform/outbox/acknowledge.ts'
import {
  claimOverdue,
  claimWaiting,
  listForUnknownQueues,
  markEnqueued,
  type OutboxMessage,
} from '../src/platform/outbox/claim.ts'
import { type Newest, numberEvents } from '../src/platform/outbox/event-store.ts'
import { openOutboxListener } from '../src/platform/outbox/outbox-listener.ts'
import { type Actor, pollingEvery, type Running } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { outageLog } from './outage-log.ts'

// The relay moves messages from the outbox to their queues. Adding a job is the one thing it does to the outside
// inside a transaction: a crash between the two would otherwise leave a message that waits for minutes, while a
// job added twice is no harm, for it carries the id of its row. Rows are locked meanwhile, so several relays share
// the work.

const batch = 100
const poll = 1_000

// Relays of a newer release take its messages; an upgrade during which none of them ran a whole day is none.
const strangeAfter = 86_400_000

/** `overdueAfter`: ms after which a message that was enqueued and not settled is looked for in its queue. */
export interface RelayOptions {
  overdueAfter?: number
  pollEvery?: number
}

export const outboxRelay: Actor = {
  name: 'outbox-relay',
  description: pollingEvery(poll),
  start: (deps, backend) => startRelay(deps, backend),
}

/** Starts a relay; any number may run, in one process or in many. */
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
  let nextLook = 0
  // The first look is at all that was enqueued before: this process may be the first on its backend.
  let lookedAt: number | null = deps.clock() - 1
  const look = async () => {
    if (lookedAt === null && performance.now() < nextLook) return false
    lookedAt ??= deps.clock() - overdueAfter
    if (await relayOverdue(deps, backend, lookedAt)) return true
    await deadLetterUnknown(deps)
    lookedAt = null
    nextLook = performance.now() + Math.min(overdueAfter / 4, 30_000)
    return false
  }
  const round = async () => {
    const more = await look()
    const full = (await relayWaiting(deps, backend)) === batch
    outage.recovered()
    return full || more
  }
  const loop = async () => {
    while (!stopped) if (!(await round().catch(report))) await listener.written(pollEvery)
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

/** Moves one batch of waiting messages; gives how many. */
function relayWaiting(deps: WorkerDeps, backend: QueueBackend): Promise<number> {
  return asWorker(deps.db, async (tx) => {
    const messages = await claimWaiting(tx, batch)
    await numberEvents(tx, newestEvents(messages))
    await put(backend, messages)
    if (messages.length > 0) await markEnqueued(tx, messages, deps.clock())
    return messages.length
  })
}

/** Ids ascend, so the last of a tenant in the batch is its newest; an event's message has the event's id. */
function newestEvents(messages: OutboxMessage[]): Newest[] {
  const events = messages.filter((message) => message.queue === 'event-fanout')
  const newest = new Map(events.map(({ tenantId, id }) => [tenantId, { tenantId, eventId: id }]))
  return [...newest.values()]
}

async function put(backend: QueueBackend, messages: OutboxMessage[]): Promise<void> {
  for (const [queue, part] of Map.groupBy(messages, (message) => message.queue))
    await backend.add(queue, part)
}

/**
 * Puts those on their queue again that it has lost: flushed, restored from a backup, or left on another backend. One
 * batch of those enqueued until `before` (ms) at a time, so that new ones need not wait; gives whether there may be more.
 */
async function relayOverdue(deps: WorkerDeps, backend: QueueBackend, before: number): Promise<boolean> {
  const { found, lost } = await asWorker(deps.db, async (tx) => {
    const overdue = await claimOverdue(tx, before, batch)
    return { found: overdue.length, lost: await requeueLost(tx, deps, backend, overdue) }
  })
  if (lost > 0)
    deps.log.warn({ count: lost }, 'messages were missing from their queues and are put there again')
  return found === batch
}

async function requeueLost(tx: Tx, deps: WorkerDeps, backend: QueueBackend, overdue: OutboxMessage[]) {
  let lost = 0
  for (const [queue, part] of Map.groupBy(overdue, (message) => message.queue)) {
    const missing = await backend.findLost(queue, part)
    if (missing.length > 0) await backend.add(queue, missing)
    lost += missing.length
  }
  if (overdue.length > 0) await markEnqueued(tx, overdue, deps.clock())
  return lost
}

/** Left by hand, or by a newer version that was taken back. */
async function deadLetterUnknown(deps: WorkerDeps): Promise<void> {
  const strange = await asWorker(deps.db, (tx) =>
    listForUnknownQueues(tx, deps.clock() - strangeAfter, batch),
  )
  for (const { id, tenantId, queue } of strange) {
    deps.log.error(
      { outbox_id: id, tenant_id: tenantId, queue },
      'became a dead letter: there is no such queue',
    )
    await deadLetter(deps.db, {
      id,
      tenantId,
      attempts: 0,
      reason: 'failed',
      error: 'There is no such queue',
      at: deps.clock(),
    })
  }
}
