import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { WebhookRow } from './store.ts'
import { showWebhook } from './webhook-schemas.ts'

/** Decides the action of the request about this webhook: 404 where there is none, 403 where it is not permitted. */
export function permitWebhook(caller: Caller, row: WebhookRow | null): WebhookRow {
  if (!row) throw notFound()
  caller.permit({ type: 'webhook', id: row.id, fields: showWebhook(row) })
  return row
}
