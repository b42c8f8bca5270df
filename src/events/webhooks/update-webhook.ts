import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { resumeDeliveries } from './attempt-store.ts'
import { changeWebhook, findWebhook, type WebhookRow } from './store.ts'
import { auditedWebhook, stateOf, type WebhookChange } from './webhook-schemas.ts'

/**
 * Changes the given fields of a webhook. `is_active: true` also enables a webhook that the service disabled, resets its
 * failures, and makes its waiting deliveries due at once.
 */
export async function updateWebhook(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  webhook: WebhookRow,
  { body: change, ifMatch }: { body: WebhookChange; ifMatch: Versions },
): Promise<WebhookRow> {
  const { tenantId } = caller
  const at = clock()
  const { id } = webhook
  assertAmong(ifMatch, webhook.version)
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const reopen = change.is_active === true
  const changed = await changeWebhook(tx, { ...webhook, ...given, tenantId, reopen, at })
  const wasActive = stateOf(webhook) === 'active'
  if (reopen) await resumeDeliveries(tx, { tenantId, webhookId: id, wasActive, now: at })
  if (!changed) return webhook
  const after = (await findWebhook(tx, tenantId, id)) ?? webhook
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'webhook:update',
    target: { type: 'webhook', id },
    changes: changesBetween(auditedWebhook(webhook), auditedWebhook(after)),
  })
  return after
}
