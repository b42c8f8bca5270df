import { randomBytes } from 'node:crypto'
import type { Sealer } from '../../platform/crypto/seal.ts'

/** What a webhook's secrets are bound to where they are sealed. */
export const secretContext = (tenantId: string, webhookId: string) => `${tenantId}.${webhookId}`

/** A new secret as Standard Webhooks writes it, 256 random bits, and the same sealed for the row of its webhook. */
export function newSecret(sealer: Sealer, tenantId: string, webhookId: string) {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  return { secret, sealed: sealer.seal('webhook', secret, secretContext(tenantId, webhookId)) }
}
