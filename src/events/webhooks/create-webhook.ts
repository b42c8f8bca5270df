import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { countOwnWebhooks, findWebhook, insertWebhook, type WebhookRow } from './store.ts'
import { auditedWebhook, type NewWebhook } from './webhook-schemas.ts'
import { newSecret, secretContext } from './webhook-secret.ts'

/** Creates a webhook for events from now on. Returns its secret, which is not shown again. 409 `limit_reached`. */
export async function createWebhook(
  tx: Tx,
  { clock, config, sealer }: Deps,
  caller: Caller,
  body: NewWebhook,
): Promise<{ row: WebhookRow; secret: string }> {
  const { tenantId } = caller
  const at = clock()
  const id = timeOrderedId(at)
  const { secret, sealed } = newSecret(sealer, secretContext(tenantId, id))
  await insertWebhook(tx, { ...body, tenantId, id, secretSealed: sealed, at })
  if ((await countOwnWebhooks(tx, tenantId)) > config.LIMIT_WEBHOOKS)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${config.LIMIT_WEBHOOKS} webhooks.`)
  const row = await findWebhook(tx, tenantId, id)
  if (!row) throw new Error('The new webhook cannot be read')
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'webhook:create',
    target: { type: 'webhook', id },
    changes: changesBetween(null, auditedWebhook(row)),
  })
  return { row, secret }
}
