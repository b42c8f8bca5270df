import { addToDay } from '../../database/daily-counts.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { insertTest } from './delivery-store.ts'
import { sendOnce } from './send-once.ts'
import type { WebhookRow } from './store.ts'

/**
 * Sends a test event once, also to an inactive or disabled webhook; returns the id of the delivery. 409 `limit_reached`
 * when too many tests and replays wait, or when the tenant has used up its deliveries of the day.
 */
export async function testWebhook(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  { id }: WebhookRow,
): Promise<string> {
  const { tenantId } = caller
  const at = clock()
  const used = await addToDay(tx, 'deliveries', new Map([[tenantId, 1]]), at)
  if ((used.get(tenantId) ?? 0) > config.LIMIT_DELIVERIES_PER_DAY) throw tooManyToday()
  const deliveryId = await insertTest(tx, {
    tenantId,
    webhookId: id,
    eventType: 'events.webhook_tested',
    at,
  })
  await sendOnce(tx, { tenantId, webhookId: id, deliveryId, requestId: caller.requestInfo.requestId, at })
  await appendAudit(tx, { ...doneBy(caller, at), action: 'webhook:test', target: { type: 'webhook', id } })
  return deliveryId
}

const tooManyToday = () =>
  new ApiError(
    409,
    'limit_reached',
    'The tenant has used up its deliveries for today. Try again after midnight (UTC).',
  )
