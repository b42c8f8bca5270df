import { asWorker, type Tx } from '../../platform/db/transaction.ts'
import { attempt, type DeliverDeps, noteAttempt } from './attempt.ts'
import { type Claimed, claimHead, findFrontier } from './attempt-store.ts'
import { AttemptOverdue, type Concluded, concludeAttempt } from './conclude-attempt.ts'
import { type Rest, settleIfIdle, type WebhookKey } from './delivery-store.ts'

/** The message of a webhook: `id` is its outbox row's. */
export interface WebhookMessage extends WebhookKey {
  id: string
}

/** What a run does at most before others have their turn: deliveries, and ms, which a stop of the process awaits. */
const most = 100
const longest = 5_000

/** What is put off is looked at again after a minute at the latest: an activation changes when it is due. */
const longestWait = 60_000
const fanOutWait = 250

/**
 * Delivers what is open for a webhook, one after the other in the order of their sequence, until nothing is due. Gives
 * the ms after which the message is to come again, or null where it is settled.
 */
export async function deliverInOrder(deps: DeliverDeps, message: WebhookMessage): Promise<number | null> {
  const { db, clock } = deps
  const begun = performance.now()
  const next = claimer(message, clock)
  let claimed = await asWorker(db, next)
  for (let count = 1; claimed; count++) {
    const full = count >= most || performance.now() - begun > longest
    claimed = await deliverOne(deps, message, claimed, full ? async () => null : next)
    if (full) return 0
  }
  return rest(deps, message)
}

/** Claims the next delivery; where the events up to the known frontier are through, it looks for the new one. */
function claimer(webhook: WebhookKey, clock: () => number) {
  let frontier = 0
  return async (tx: Tx): Promise<Claimed | null> => {
    const known = frontier > 0 && (await claimHead(tx, webhook, frontier, clock()))
    if (known) return known
    frontier = await findFrontier(tx, webhook.tenantId)
    return claimHead(tx, webhook, frontier, clock())
  }
}

/** Tries a delivery, records how that ended, and claims the next one in the same transaction where it was taken. */
async function deliverOne(
  deps: DeliverDeps,
  webhook: WebhookKey,
  claimed: Claimed,
  next: (tx: Tx) => Promise<Claimed | null>,
): Promise<Claimed | null> {
  const answer = await attempt(deps, webhook, claimed)
  noteAttempt(deps, webhook, claimed, answer)
  const after = await asWorker(deps.db, async (tx) => {
    const concluded = await concludeAttempt(tx, webhook, claimed, answer, deps.clock())
    return { concluded, claimed: concluded === 'taken' ? await next(tx) : null }
  }).catch(unlessOverdue)
  if (after) tellDisabled(deps, webhook, after.concluded)
  return after?.claimed ?? null
}

function unlessOverdue(error: unknown): null {
  if (error instanceof AttemptOverdue) return null
  throw error
}

function tellDisabled({ log }: DeliverDeps, { tenantId, webhookId }: WebhookKey, concluded: Concluded) {
  if (concluded === 'gone' || concluded === 'failing')
    log.warn({ tenant_id: tenantId, webhook_id: webhookId, reason: concluded }, 'a webhook was disabled')
}

async function rest({ db, clock }: DeliverDeps, message: WebhookMessage): Promise<number | null> {
  return asWorker(db, async (tx) => {
    const rest = await settleIfIdle(tx, message, message.id)
    const frontier = typeof rest === 'string' ? 0 : await findFrontier(tx, message.tenantId)
    return waitFor(rest, frontier, clock())
  })
}

/** Due and yet not claimed: it became so a moment ago, or an earlier event is still on its way to its deliveries. */
function waitFor(rest: Rest, frontier: number, now: number): number | null {
  if (rest === 'settled') return null
  if (rest === 'tenant') return longestWait
  if (rest.dueAt > now) return Math.min(rest.dueAt - now, longestWait)
  return rest.sequence < frontier ? 0 : fanOutWait
}
