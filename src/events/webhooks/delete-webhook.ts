import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { deleteWebhook, type WebhookRow } from './store.ts'
import { auditedWebhook } from './webhook-schemas.ts'

/** Deletes a webhook and its waiting deliveries. A request that is already under way is still sent. */
export async function removeWebhook(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  webhook: WebhookRow,
  versions: Versions,
): Promise<void> {
  const { tenantId } = caller
  const at = clock()
  const { id } = webhook
  assertAmong(versions, webhook.version)
  await deleteWebhook(tx, tenantId, id)
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'webhook:delete',
    target: { type: 'webhook', id },
    changes: changesBetween(auditedWebhook(webhook), null),
  })
}
