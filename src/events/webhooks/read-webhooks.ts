import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { type DeliveryRow, deliveryList, listDeliveries } from './asked-store.ts'
import { countListed, findWebhook, listWebhooks, type WebhookRow, webhookList } from './store.ts'
import { showWebhook } from './webhook-schemas.ts'

/** One webhook, or null. */
export const loadWebhook = (deps: Deps, caller: Caller, id: string): Promise<WebhookRow | null> =>
  inTenant(deps.db, caller, (tx) => findWebhook(tx, caller.tenantId, id))

/** A page of the tenant's webhooks. */
export function pageOfWebhooks(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listWebhooks(tx, tenantId, page),
      count: await countListed(tx, tenantId, page),
    }))
  return answerPage(deps, caller, webhookList, { path: '/api/v1/webhooks', query }, load, showWebhook)
}

/** A page of the deliveries of a webhook, newest first. */
export function pageOfDeliveries(deps: Deps, caller: Caller, id: string, query: ListQuery) {
  const { tenantId } = caller
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({ rows: await listDeliveries(tx, tenantId, id, page) }))
  const asked = { path: `/api/v1/webhooks/${id}/deliveries`, query }
  return answerPage(deps, caller, deliveryList, asked, load, showDelivery)
}

const showDelivery = (row: DeliveryRow) => ({
  ...row,
  next_attempt_at: row.next_attempt_at === null ? null : rfc3339(row.next_attempt_at),
  created_at: rfc3339(row.created_at),
})
