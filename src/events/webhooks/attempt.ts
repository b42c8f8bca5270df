import type { Logger } from 'pino'
import type { Sealer } from '../../platform/crypto/seal.ts'
import type { Databases } from '../../platform/db/transaction.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { version } from '../../version.ts'
import { envelopeOf } from '../envelope.ts'
import type { Attempt, Claimed, Result } from './attempt-store.ts'
import type { WebhookKey } from './delivery-store.ts'
import { secretContext } from './new-secret.ts'
import type { Answer, Poster } from './post-event.ts'
import { signWebhook } from './sign-webhook.ts'

/** What delivering takes. */
export interface DeliverDeps {
  db: Pick<Databases, 'worker'>
  /** ms since 1970 */
  clock: () => number
  sealer: Sealer
  log: Logger
  metrics: Pick<Metrics, 'webhookAttempt'>
  poster: Poster
}

/**
 * Posts a claimed event: the body is its envelope, signed by the webhook's secrets as Standard Webhooks says. Never
 * throws: that no key of SECRET_KEYS opens the secret is a failure of this webhook, and of no other.
 */
export async function attempt(deps: DeliverDeps, webhook: WebhookKey, claimed: Claimed): Promise<Answer> {
  const secrets = openSecrets(deps.sealer, webhook, claimed)
  if (!secrets) return { status: null, trouble: 'secret', retryAfter: null, duration: 0 }
  const { id } = claimed
  const body = JSON.stringify(envelopeOf(claimed))
  const timestamp = Math.floor(deps.clock() / 1_000)
  const headers = {
    'content-type': 'application/cloudevents+json',
    'user-agent': `Bailiwick/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(secrets, { id, timestamp, body }),
  }
  return deps.poster.post(claimed.url, headers, body)
}

function openSecrets(sealer: Sealer, { tenantId, webhookId }: WebhookKey, claimed: Claimed): string[] | null {
  const context = secretContext(tenantId, webhookId)
  const sealed = [claimed.secret_sealed, claimed.previous_secret_sealed].filter((bytes) => bytes !== null)
  try {
    return sealed.map((bytes) => sealer.open('webhook', bytes, context))
  } catch {
    return null
  }
}

/** Any 2xx: the receiver has it. */
export const wasTaken = ({ status }: Answer) => status !== null && status >= 200 && status < 300

/** The attempt that a claim made, and what is kept of how it ended, at `at` (ms). */
export const attemptOf = (webhook: WebhookKey, { delivery_id, attempt }: Claimed): Attempt => ({
  ...webhook,
  deliveryId: delivery_id,
  attempt,
})
export const resultOf = ({ status, trouble, duration }: Answer, at: number): Result => ({
  status,
  trouble,
  duration,
  at,
})

/** Counts an attempt, and tells the log of it: ids and figures, never the address, which may hold a secret of the receiver's. */
export function noteAttempt(
  { log, metrics }: DeliverDeps,
  { webhookId }: WebhookKey,
  claimed: Claimed,
  answer: Answer,
) {
  const { status, trouble, duration } = answer
  const facts = {
    tenant_id: claimed.tenant_id,
    webhook_id: webhookId,
    delivery_id: claimed.delivery_id,
    event_id: claimed.id,
    attempt: claimed.attempt,
    response_status: status,
    duration_ms: duration,
    ...(trouble && { error: trouble }),
  }
  const outcome = wasTaken(answer) ? 'succeeded' : status === null ? 'unreachable' : 'refused'
  metrics.webhookAttempt(outcome, duration / 1_000)
  if (outcome === 'succeeded') log.debug(facts, 'event delivered')
  else log.info(facts, 'event not delivered')
}
