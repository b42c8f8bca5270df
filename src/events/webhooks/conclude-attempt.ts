import type { Tx } from '../../database/executor/transaction.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { attemptOf, resultOf, wasAccepted } from './attempt.ts'
import { type Claimed, delayDelivery, endDelivery, giveUpExpired } from './attempt-store.ts'
import { failingLimit, firstWait, waitAfter } from './next-attempt.ts'
import type { Answer } from './post-event.ts'
import { disable, recordFailure, recordSuccess, type WebhookKey } from './store.ts'

// Every change locks the webhook first and its deliveries afterwards, as deleting a webhook does.

/** How an attempt ended. `accepted`: the next delivery is due at once; `delayed`: later; else the webhook is disabled. */
export type Concluded = 'accepted' | 'delayed' | 'gone' | 'failing'

/** The delivery has ended, or another process has claimed it again: the transaction of this attempt rolls back. */
export class AttemptOutdated extends Error {
  override name = 'AttemptOutdated'
}

/**
 * Records the result of an attempt of an ordered delivery at `now` (ms since 1970), and its effect on the webhook.
 * Throws {@link AttemptOutdated} when the attempt is no longer the last.
 */
export async function concludeAttempt(
  tx: Tx,
  webhook: WebhookKey,
  claimed: Claimed,
  answer: Answer,
  now: number,
): Promise<Concluded> {
  if (!wasAccepted(answer)) return concludeFailure(tx, webhook, claimed, answer, now)
  await recordSuccess(tx, webhook, now)
  assertLast(await endDelivery(tx, attemptOf(webhook, claimed), 'succeeded', resultOf(answer, now)))
  return 'accepted'
}

async function concludeFailure(
  tx: Tx,
  webhook: WebhookKey,
  claimed: Claimed,
  answer: Answer,
  now: number,
): Promise<Concluded> {
  const attempt = attemptOf(webhook, claimed)
  const result = resultOf(answer, now)
  const health = await recordFailure(tx, webhook, now)
  if (!health) throw new AttemptOutdated()
  // A tenant cannot enable a webhook of a manifest again, so none is disabled: it is tried now and then.
  const isManaged = claimed.managed_by !== null
  if (answer.status === 410 && !isManaged) {
    assertLast(await endDelivery(tx, attempt, 'dead', result))
    await disableWebhook(tx, webhook, 'gone', now)
    return 'gone'
  }
  const wait = waitAfter(health.failures, requestedWait(answer))
  assertLast(await delayDelivery(tx, attempt, now + wait, result))
  if (claimed.retry_until <= now) await giveUpExpired(tx, webhook, now, now + firstWait)
  if (isManaged || now - health.failing_since < failingLimit) return 'delayed'
  await disableWebhook(tx, webhook, 'failing', now)
  return 'failing'
}

/** Busy receivers can ask for a wait (RFC 9110 §15.6.4, RFC 6585 §4). */
export const requestedWait = ({ status, retryAfter }: Answer) =>
  status === 429 || status === 503 ? retryAfter : null

function assertLast(changed: boolean): void {
  if (!changed) throw new AttemptOutdated()
}

async function disableWebhook(tx: Tx, webhook: WebhookKey, reason: 'gone' | 'failing', now: number) {
  const { tenantId, webhookId } = webhook
  if (!(await disable(tx, webhook, reason))) return
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo: { requestId: 'webhook', ip: '', userAgent: '' },
    action: 'webhook:disable',
    target: { type: 'webhook', id: webhookId },
    changes: {
      status: { before: 'active', after: 'disabled' },
      disabled_reason: { before: null, after: reason },
    },
    at: now,
  })
}
