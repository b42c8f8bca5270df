import { createHmac, randomBytes } from 'node:crypto'
import type { Sealer } from '../../crypto/seal.ts'

const prefix = 'whsec_'

/** The context to which the sealed secrets of a webhook are bound. */
export const secretContext = (tenantId: string, webhookId: string) => `${tenantId}.${webhookId}`

/** The context to which the sealed secrets of a webhook of a manifest are bound: one for all tenants. */
export const managedSecretContext = (application: string, key: string) => `manifest.${application}.${key}`

/** Makes a secret of 256 random bits in the form of Standard Webhooks, and seals it for the context. */
export function newSecret(sealer: Sealer, context: string) {
  const secret = `${prefix}${randomBytes(32).toString('base64')}`
  return { secret, sealed: sealer.seal('webhook', secret, context) }
}

/** What is signed: the event's id, the sending time (seconds since 1970), and the body exactly as sent. */
export interface Signed {
  id: string
  timestamp: number
  body: string
}

/**
 * The value of `webhook-signature` (Standard Webhooks): for each secret, `v1,` and the base64 of HMAC-SHA256 over
 * id.timestamp.body, separated by spaces. A secret is `whsec_` followed by base64.
 */
export function signWebhook(secrets: readonly string[], { id, timestamp, body }: Signed): string {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return signatures.join(' ')
}
