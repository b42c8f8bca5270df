import type { Logger } from 'pino'
import type { Sealer } from '../../crypto/seal.ts'
import type { Databases } from '../../database/executor/transaction.ts'
import type { Metrics } from '../../observe/metrics/metrics.ts'
import { version } from '../../settings/version.ts'
import { envelopeOf } from '../envelope.ts'
import type { Attempt, Claimed, Result } from './attempt-store.ts'

import type { Answer, Poster } from './post-event.ts'
import type { WebhookKey } from './store.ts'
import { managedSecretContext, secretContext, signWebhook } from './webhook-secret.ts'

/** What delivering needs. */
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
 * Posts a claimed event: the body is its envelope, signed with the webhook's secrets (Standard Webhooks). Never throws:
 * a secret that no key of SECRET_KEYS opens is a failure of this webhook only.
 */
export async function attempt(deps: DeliverDeps, webhook: WebhookKey, claimed: Claimed): Promise<Answer> {
  const secrets = openSecrets(deps.sealer, webhook, claimed)
  if (!secrets) return { status: null, reason: 'secret', retryAfter: null, duration: 0 }
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
  const { managed_by, managed_as } = claimed
  const context =
    managed_by !== null && managed_as !== null
      ? managedSecretContext(managed_by, managed_as)
      : secretContext(tenantId, webhookId)
  const sealed = [claimed.secret_sealed, claimed.previous_secret_sealed].filter((bytes) => bytes !== null)
  try {
    return sealed.map((bytes) => sealer.open('webhook', bytes, context))
  } catch {
    return null
  }
}

/** Whether the receiver accepted the event: any 2xx. */
export const wasAccepted = ({ status }: Answer) => status !== null && status >= 200 && status < 300

/** The attempt that a claim began. */
export const attemptOf = (webhook: WebhookKey, { delivery_id, attempt }: Claimed): Attempt => ({
  ...webhook,
  deliveryId: delivery_id,
  attempt,
})

/** What is stored of an answer that came at `at` (ms since 1970). */
export const resultOf = ({ status, reason, duration }: Answer, at: number): Result => ({
  status,
  error: reason,
  duration,
  at,
})

/** Counts an attempt and logs ids and figures, never the URL, which can contain a secret of the receiver. */
export function logAttempt(
  { log, metrics }: DeliverDeps,
  { webhookId }: WebhookKey,
  claimed: Claimed,
  answer: Answer,
) {
  const { status, reason, duration } = answer
  const facts = {
    tenant_id: claimed.tenant_id,
    webhook_id: webhookId,
    delivery_id: claimed.delivery_id,
    event_id: claimed.id,
    attempt: claimed.attempt,
    response_status: status,
    duration_ms: duration,
    ...(reason && { error: reason }),
  }
  const outcome = wasAccepted(answer) ? 'succeeded' : status === null ? 'unreachable' : 'refused'
  metrics.webhookAttempt(outcome, duration / 1_000)
  if (outcome === 'succeeded') log.debug(facts, 'event delivered')
  else log.info(facts, 'event not delivered')
}
