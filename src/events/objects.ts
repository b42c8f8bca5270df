import type { ObjectFinders } from '../platform/find-object.ts'
import { showEntry } from './audit-log/audit-schemas.ts'
import { findAuditEntry } from './audit-log/store.ts'
import { envelopeOf } from './envelope.ts'
import { findEvent } from './feed/store.ts'
import { findWebhook } from './webhooks/store.ts'
import { webhookResource } from './webhooks/webhook-schemas.ts'

/** Loads the objects of this context as resources for decisions. */
export const eventObjects: ObjectFinders = {
  async webhook(tx, { tenantId }, id) {
    const webhook = await findWebhook(tx, tenantId, id)
    return webhook && webhookResource(webhook)
  },
  async event(tx, { tenantId }, id) {
    const event = await findEvent(tx, tenantId, id)
    return event && { fields: { ...envelopeOf(event) } }
  },
  async audit(tx, { tenantId }, id) {
    const entry = await findAuditEntry(tx, tenantId, id)
    return entry && { fields: showEntry(entry) }
  },
}
