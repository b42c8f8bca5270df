import { asWorker, type Tx } from '../../database/executor/transaction.ts'
import { untilRecorded } from '../../messages/outbox/until-recorded.ts'
import { attempt, type DeliverDeps, logAttempt } from './attempt.ts'
import { type Claimed, claimHead, deleteMessageIfIdle, findFrontier, type WaitsFor } from './attempt-store.ts'
import { AttemptOutdated, type Concluded, concludeAttempt } from './conclude-attempt.ts'
import type { WebhookKey } from './store.ts'

/** The message of a webhook; `id` is the id of its outbox row. */
export interface WebhookMessage extends WebhookKey {
  id: string
}

/**
 * Limits of one run, in deliveries and ms. Then other webhooks have their turn. A stopping process waits for the run, its
 * last attempt and the record of that, 20 s at most.
 */
const maxDeliveries = 100
const maxRun = 5_000

/** ms until a waiting webhook is looked at again, at most: an activation can make it due earlier. */
const maxWait = 60_000
const fanOutWait = 250

/**
 * Delivers the open deliveries of a webhook, one at a time in the order of their sequence, until none is due. Returns the
 * ms after which the message must come again, or null when it is done.
 */
export async function deliverInOrder(deps: DeliverDeps, message: WebhookMessage): Promise<number | null> {
  const { db, clock } = deps
  const started = performance.now()
  const next = claimer(message, clock)
  let claimed = await asWorker(db, next)
  let isOver = false
  for (let count = 1; claimed; count++) {
    claimed = await deliverOne(deps, message, claimed, async (tx) => {
      isOver = count >= maxDeliveries || performance.now() - started > maxRun
      return isOver ? null : next(tx)
    })
    if (isOver) return 0
  }
  return finish(deps, message)
}

/** Claims the next delivery. Reads the frontier again when no delivery below the known one is left. */
function claimer(webhook: WebhookKey, clock: () => number) {
  let frontier = 0
  return async (tx: Tx): Promise<Claimed | null> => {
    const known = frontier > 0 && (await claimHead(tx, webhook, frontier, clock()))
    if (known) return known
    frontier = await findFrontier(tx, webhook.tenantId)
    return claimHead(tx, webhook, frontier, clock())
  }
}

/** Tries a delivery, records the result, and, if it was accepted, claims the next delivery in the same transaction. */
async function deliverOne(
  deps: DeliverDeps,
  webhook: WebhookKey,
  claimed: Claimed,
  next: (tx: Tx) => Promise<Claimed | null>,
): Promise<Claimed | null> {
  const answer = await attempt(deps, webhook, claimed)
  logAttempt(deps, webhook, claimed, answer)
  const conclude = () =>
    asWorker(deps.db, async (tx) => {
      const concluded = await concludeAttempt(tx, webhook, claimed, answer, deps.clock())
      return { concluded, claimed: concluded === 'accepted' ? await next(tx) : null }
    })
  const facts = { webhook_id: webhook.webhookId, delivery_id: claimed.delivery_id }
  const after = await untilRecorded(deps.log, facts, conclude).catch(unlessOutdated)
  if (after) logDisabled(deps, webhook, after.concluded)
  return after?.claimed ?? null
}

function unlessOutdated(error: unknown): null {
  if (error instanceof AttemptOutdated) return null
  throw error
}

function logDisabled({ log }: DeliverDeps, { tenantId, webhookId }: WebhookKey, concluded: Concluded) {
  if (concluded === 'gone' || concluded === 'failing')
    log.warn({ tenant_id: tenantId, webhook_id: webhookId, reason: concluded }, 'a webhook was disabled')
}

async function finish({ db, clock }: DeliverDeps, message: WebhookMessage): Promise<number | null> {
  return asWorker(db, async (tx) => {
    const waitsFor = await deleteMessageIfIdle(tx, message, message.id)
    const frontier = typeof waitsFor === 'string' ? 0 : await findFrontier(tx, message.tenantId)
    return msUntil(waitsFor, frontier, clock())
  })
}

/** A due delivery that was not claimed either became due just now, or waits for the fan-out of an earlier event. */
function msUntil(waitsFor: WaitsFor, frontier: number, now: number): number | null {
  if (waitsFor === 'nothing') return null
  if (waitsFor === 'tenant') return maxWait
  if (waitsFor.dueAt > now) return Math.min(waitsFor.dueAt - now, maxWait)
  return waitsFor.sequence < frontier ? 0 : fanOutWait
}
