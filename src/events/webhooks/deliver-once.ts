import { asWorker, type Tx } from '../../platform/db/transaction.ts'
import { acknowledge, type Delivery } from '../../platform/outbox/acknowledge.ts'
import { attempt, attemptOf, type DeliverDeps, noteAttempt, resultOf, wasTaken } from './attempt.ts'
import {
  type Claimed,
  claimOnce,
  endDelivery,
  findOpenOnce,
  hurry,
  noteFailedOnce,
  noteSuccess,
} from './attempt-store.ts'
import type { WebhookKey } from './delivery-store.ts'
import type { Answer } from './post-event.ts'

/** The message of a test or a replay: `id` is its outbox row's. */
export interface OnceMessage extends WebhookKey, Delivery {
  deliveryId: string
}

const longestWait = 60_000

/**
 * Tries a test or a replay once, beside the order, and settles its message: it succeeded, or is dead. What is taken
 * shows that the webhook answers again: what waits in order is tried at once. Gives the ms after which the message is
 * to come again, for its tenant is suspended or somebody tries it now; else null.
 */
export async function deliverOnce(deps: DeliverDeps, message: OnceMessage): Promise<number | null> {
  const { db, clock } = deps
  const claimed = await asWorker(db, (tx) => claimOnce(tx, message, message.deliveryId, clock()))
  if (!claimed) return rest(deps, message)
  const answer = await attempt(deps, message, claimed)
  noteAttempt(deps, message, claimed, answer)
  await acknowledge(db, message, (tx) => conclude(tx, message, claimed, answer, clock()))
  return null
}

/** The webhook before its deliveries: see conclude-attempt.ts. */
async function conclude(tx: Tx, message: OnceMessage, claimed: Claimed, answer: Answer, now: number) {
  const taken = wasTaken(answer)
  if (taken) await noteSuccess(tx, message, now)
  else await noteFailedOnce(tx, message, now)
  if (taken) await hurry(tx, message, now)
  const status = taken ? 'succeeded' : 'dead'
  await endDelivery(tx, attemptOf(message, claimed), status, resultOf(answer, now))
}

async function rest({ db, clock }: DeliverDeps, message: OnceMessage): Promise<number | null> {
  const open = await asWorker(db, (tx) => findOpenOnce(tx, message, message.deliveryId))
  if (open) return open.tenant_active ? Math.max(0, open.next_attempt_at - clock()) : longestWait
  await acknowledge(db, message, async () => undefined)
  return null
}
