import { z } from 'zod'
import { byText, byWord, defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'

// Deliveries as a tenant asks for them: to read, to repeat, to try out, to go on with.

export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'dead'] as const

const deliveryRow = z.object({
  id: z.uuid(),
  event_id: z.uuid(),
  event_type: z.string(),
  attempt: z.number(),
  status: z.enum(deliveryStatuses),
  response_status: z.number().nullable(),
  duration_ms: z.number().nullable(),
  error: z.string().nullable(),
  next_attempt_at: z.number().nullable(),
  created_at: z.number(),
})

export type DeliveryRow = z.infer<typeof deliveryRow>

const found = z.object({ id: z.uuid() })

const columns = sql.fragment`
  id, event_id, event_type, attempt, status, response_status, duration_ms, error, next_attempt_at, created_at`

const typeText = z
  .string()
  .min(1, 'Say which type of events to look for.')
  .max(128, 'A type of events may have 128 characters at most.')

/** The deliveries of a webhook, newest first. */
export const deliveryList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
  newestFirst: true,
  filters: {
    status: byWord(sql.fragment`status`, deliveryStatuses),
    event_type: byText(sql.fragment`event_type`, typeText),
  },
})

/** A page of the deliveries of a webhook. */
export function listDeliveries(
  tx: Tx,
  tenantId: string,
  webhookId: string,
  page: ListPage,
): Promise<readonly DeliveryRow[]> {
  return tx.any(sql.type(deliveryRow)`
    select ${columns} from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} ${page.tail}`)
}

/** One delivery of a webhook; `at` in ms since 1970. */
interface Asked {
  tenantId: string
  webhookId: string
  id: string
  at: number
}

const state = deliveryRow.pick({ status: true }).extend({ event_is_kept: z.boolean() })

/** The status of a delivery and whether its event, if it has one, is still there; null where there is no delivery. */
export function findState(tx: Tx, { tenantId, webhookId, id }: Omit<Asked, 'at'>) {
  return tx.maybeOne(sql.type(state)`
    select status, sequence is null
      or exists (select from events e where e.tenant_id = ${tenantId} and e.id = event_id) as event_is_kept
    from webhook_deliveries where tenant_id = ${tenantId} and webhook_id = ${webhookId} and id = ${id}`)
}

/** Leaves a delivery that has ended to be tried once more, beside the order; false where it has not ended. */
export async function reopenDelivery(tx: Tx, { tenantId, webhookId, id, at }: Asked): Promise<boolean> {
  const moment = sql.timestamp(new Date(at))
  const reopened = await tx.maybeOne(sql.type(found)`
    update webhook_deliveries
    set status = 'pending', in_order = false, next_attempt_at = ${moment}, retry_until = ${moment}, ended_at = null
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and id = ${id} and status in ('succeeded', 'dead')
    returning id`)
  return reopened !== null
}

/** How many tests and replays of a webhook are still to be tried; certain for whoever holds the webhook. */
export function countWaitingOnce(tx: Tx, tenantId: string, webhookId: string): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and not in_order and status = 'pending'`)
}

/** Makes a delivery of no event, tried once; gives its id. */
export async function insertTest(
  tx: Tx,
  test: { tenantId: string; webhookId: string; eventType: string; at: number },
): Promise<string> {
  const id = timeOrderedId(test.at)
  const at = sql.timestamp(new Date(test.at))
  await tx.query(sql.unsafe`
    insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, in_order, next_attempt_at, retry_until,
                                    created_at)
    values (${test.tenantId}, ${id}, ${test.webhookId}, ${timeOrderedId(test.at)}, ${test.eventType}, false, ${at}, ${at},
            ${at})`)
  return id
}

/**
 * Lets what waits for a webhook be tried now (ms since 1970), where it was not active, or failed; its failures are
 * forgotten.
 */
export async function restart(
  tx: Tx,
  {
    tenantId,
    webhookId,
    wasActive,
    now,
  }: { tenantId: string; webhookId: string; wasActive: boolean; now: number },
): Promise<void> {
  const had = await tx.maybeOne(sql.type(found)`
    update webhooks set failures = 0, failing_since = null
    where tenant_id = ${tenantId} and id = ${webhookId} and failures > 0 returning id`)
  if (wasActive && !had) return
  const at = sql.timestamp(new Date(now))
  const head = await tx.maybeOne(sql.type(found)`
    select id from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
    order by sequence limit 1`)
  if (!head) return
  await tx.query(sql.unsafe`
    update webhook_deliveries set next_attempt_at = ${at}
    where tenant_id = ${tenantId} and id = ${head.id} and status in ('pending', 'failed') and next_attempt_at > ${at}`)
  await tx.query(sql.unsafe`
    insert into outbox (tenant_id, id, queue, payload, created_at)
    values (${tenantId}, ${timeOrderedId(now)}, 'webhook', ${sql.jsonb({ v: 1, webhook_id: webhookId })}, ${at})
    on conflict (tenant_id, (payload ->> 'webhook_id')) where queue = 'webhook'
    do update set id = ${timeOrderedId(now)}, created_at = ${at}, enqueued_at = null`)
}
