import type { ObjectFinders } from '../lists/find-object.ts'
import { lister, type ObjectListers } from '../lists/list-objects.ts'
import { showEntry } from './audit-log/audit-schemas.ts'
import { auditList, findAuditEntry, listAuditLog } from './audit-log/store.ts'
import { envelopeOf } from './envelope.ts'
import { findEvent, listEventsAfter } from './feed/store.ts'
import { findWebhook, listWebhooks, webhookList } from './webhooks/store.ts'
import { webhookResource } from './webhooks/webhook-schemas.ts'

/** Loads the objects of this context as resources for decisions. */
export const eventObjects: ObjectFinders = {
  async webhook(read, { tenantId }, id) {
    const webhook = await findWebhook(read, tenantId, id)
    return webhook && webhookResource(webhook)
  },
  async event(read, { tenantId }, id) {
    const event = await findEvent(read, tenantId, id)
    return event && { fields: { ...envelopeOf(event) } }
  },
  async audit(read, { tenantId }, id) {
    const entry = await findAuditEntry(read, tenantId, id)
    return entry && { fields: showEntry(entry) }
  },
}

/** Lists the objects of this context, for searches. */
export const eventLists: ObjectListers = {
  webhook: lister(webhookList, (tx, { tenantId }, page) => listWebhooks(tx, tenantId, page), webhookResource),
  audit: lister(
    auditList,
    (tx, { tenantId }, page) => listAuditLog(tx, tenantId, page),
    (entry) => ({ id: entry.id, fields: showEntry(entry) }),
  ),
  async event(tx, { tenantId }, after, size) {
    const { events } = await listEventsAfter(tx, tenantId, after ? Number(after.at) : null, size)
    return events.map((event) => ({
      id: event.id,
      position: { at: event.sequence ?? 0, id: event.id },
      object: { fields: { ...envelopeOf(event) } },
    }))
  },
}
