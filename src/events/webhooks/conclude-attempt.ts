import { appendAudit } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { attemptOf, resultOf, wasTaken } from './attempt.ts'
import {
  type Claimed,
  disable,
  endDelivery,
  giveUpOverdue,
  noteFailure,
  noteSuccess,
  putOff,
} from './attempt-store.ts'
import type { WebhookKey } from './delivery-store.ts'
import { failingLimit, firstWait, waitAfter } from './next-attempt.ts'
import type { Answer } from './post-event.ts'

// Every change locks the webhook first and its deliveries afterwards, as deleting a webhook does.

/** How an attempt ended: the next one may be made at once, or not; `gone` and `failing`: none any more. */
export type Concluded = 'taken' | 'waits' | 'gone' | 'failing'

/** Somebody has claimed the delivery since, or it is over: what this attempt would change is undone. */
export class AttemptOverdue extends Error {
  override name = 'AttemptOverdue'
}

/**
 * Records how the attempt of a delivery that is in order ended, at `now` (ms), with what it says about the webhook.
 * Throws {@link AttemptOverdue}, and changes nothing, where the attempt is no longer the last.
 */
export async function concludeAttempt(
  tx: Tx,
  webhook: WebhookKey,
  claimed: Claimed,
  answer: Answer,
  now: number,
): Promise<Concluded> {
  if (!wasTaken(answer)) return concludeFailure(tx, webhook, claimed, answer, now)
  await noteSuccess(tx, webhook, now)
  mustBeLast(await endDelivery(tx, attemptOf(webhook, claimed), 'succeeded', resultOf(answer, now)))
  return 'taken'
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
  const health = await noteFailure(tx, webhook, now)
  if (!health) throw new AttemptOverdue()
  if (answer.status === 410) {
    mustBeLast(await endDelivery(tx, attempt, 'dead', result))
    await disableWebhook(tx, webhook, 'gone', now)
    return 'gone'
  }
  const wait = waitAfter(health.failures, asksToWait(answer))
  mustBeLast(await putOff(tx, attempt, now + wait, result))
  if (claimed.retry_until <= now) await giveUpOverdue(tx, webhook, now, now + firstWait)
  if (now - health.failing_since < failingLimit) return 'waits'
  await disableWebhook(tx, webhook, 'failing', now)
  return 'failing'
}

/** Those who are busy may say for how long (RFC 9110 §15.6.4, RFC 6585 §4). */
const asksToWait = ({ status, retryAfter }: Answer) => (status === 429 || status === 503 ? retryAfter : null)

function mustBeLast(changed: boolean): void {
  if (!changed) throw new AttemptOverdue()
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
