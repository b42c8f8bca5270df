import { asWorker, type Tx } from '../../database/executor/transaction.ts'
import { acknowledge } from '../../messages/outbox/acknowledge.ts'
import { untilRecorded } from '../../messages/outbox/until-recorded.ts'
import type { MessageKey } from '../../messages/queues/queued-message.ts'
import { attempt, attemptOf, type DeliverDeps, logAttempt, resultOf, wasAccepted } from './attempt.ts'
import { type Claimed, claimOnce, endDelivery, findOpenOnce, retryNow } from './attempt-store.ts'
import type { Answer } from './post-event.ts'
import { recordOnceFailure, recordSuccess, type WebhookKey } from './store.ts'

/** The message of a test or a replay; `id` is the id of its outbox row. */
export interface OnceMessage extends WebhookKey, MessageKey {
  deliveryId: string
}

const maxWait = 60_000

/**
 * Tries a test or a replay once, outside the order, and acknowledges its message: the delivery succeeded or is dead. A
 * success shows that the webhook answers again, so its ordered deliveries become due. Returns the ms after which the
 * message must come again, because the tenant is suspended or another process tries it now; else null.
 */
export async function deliverOnce(deps: DeliverDeps, message: OnceMessage): Promise<number | null> {
  const { db, clock } = deps
  const claimed = await asWorker(db, (tx) => claimOnce(tx, message, message.deliveryId, clock()))
  if (!claimed) return finish(deps, message)
  const answer = await attempt(deps, message, claimed)
  logAttempt(deps, message, claimed, answer)
  const facts = { webhook_id: message.webhookId, delivery_id: claimed.delivery_id }
  const record = () =>
    acknowledge(db, keyOf(message), (tx) => conclude(tx, message, claimed, answer, clock()))
  await untilRecorded(deps.log, facts, record)
  return null
}

/** Locks the webhook before its deliveries: see conclude-attempt.ts. */
async function conclude(tx: Tx, message: OnceMessage, claimed: Claimed, answer: Answer, now: number) {
  const accepted = wasAccepted(answer)
  if (accepted) {
    await recordSuccess(tx, message, now)
    await retryNow(tx, message, now)
  } else await recordOnceFailure(tx, message, now)
  const status = accepted ? 'succeeded' : 'dead'
  await endDelivery(tx, attemptOf(message, claimed), status, resultOf(answer, now))
}

async function finish({ db, clock }: DeliverDeps, message: OnceMessage): Promise<number | null> {
  const open = await asWorker(db, (tx) => findOpenOnce(tx, message, message.deliveryId))
  if (open) return open.tenant_active ? Math.max(0, open.next_attempt_at - clock()) : maxWait
  await acknowledge(db, keyOf(message), async () => undefined)
  return null
}

const keyOf = ({ tenantId, id }: OnceMessage) => ({ tenantId, id, queue: 'webhook-once' })
