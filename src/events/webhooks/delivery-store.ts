import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { addToDay } from '../../database/daily-counts.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { distinctPairs, lockableGroups, ofTenants } from '../../database/of-tenants.ts'
import { byText, byWord, defineList, type ListPage } from '../../lists/list.ts'
import { earliestId, timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { wakeRelays } from '../../messages/outbox/wake-relays.ts'
import type { MessageKey } from '../../messages/queues/queued-message.ts'
import type { WebhookKey } from './store.ts'

const day = 86_400_000
const subscription = z.object({
  tenant_id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  sequence: z.number(),
  is_managed: z.boolean(),
})

/**
 * Inserts a delivery of each of these numbered events for each webhook that subscribes to it, and an outbox message for
 * each of these webhooks that has none. `now` in ms since 1970. Returns the deliveries that were dropped because their
 * tenant has reached `maxPerDay` on this day (UTC): those of the latest events.
 *
 * The upsert locks a message that exists. A worker that is about to delete it waits, and then finds the new deliveries;
 * a message that is being deleted is inserted again. The webhooks are locked against deletion.
 */
export async function insertDeliveries(
  tx: Tx,
  events: readonly MessageKey[],
  now: number,
  maxPerDay: number,
): Promise<DroppedDeliveries[]> {
  const wanted = await listSubscriptionsTo(tx, events)
  // A tenant that uses up its own deliveries must not keep events from an application.
  const own = wanted.filter(({ is_managed }) => !is_managed)
  const dropped = await countDeliveries(tx, own, now, maxPerDay)
  await openDeliveries(tx, withoutLatest(wanted, dropped), now, sql.fragment`do nothing`)
  return dropped
}

type Subscription = z.infer<typeof subscription>

/** Deliveries that were dropped. `isFirst`: the first ones of this tenant on this day. */
export interface DroppedDeliveries {
  tenantId: string
  count: number
  isFirst: boolean
}

/** Counts wanted deliveries against the daily limit; returns how many of each tenant exceed it. */
async function countDeliveries(
  tx: Tx,
  wanted: readonly Subscription[],
  now: number,
  maxPerDay: number,
): Promise<DroppedDeliveries[]> {
  const added = new Map<string, number>()
  for (const { tenant_id } of wanted) added.set(tenant_id, (added.get(tenant_id) ?? 0) + 1)
  const used = await addToDay(tx, 'deliveries', added, now)
  return [...added].flatMap(([tenantId, count]) => {
    const over = Math.max(0, (used.get(tenantId) ?? 0) - maxPerDay)
    return over > 0 ? [{ tenantId, count: Math.min(over, count), isFirst: over <= count }] : []
  })
}

/** The `wanted` deliveries, in their order, without the latest ones of tenants that exceed their limit. */
function withoutLatest(wanted: readonly Subscription[], dropped: readonly DroppedDeliveries[]) {
  const kept = new Set(wanted)
  for (const { tenantId, count } of dropped)
    for (const row of wanted
      .filter((row) => row.tenant_id === tenantId && !row.is_managed)
      .toSorted((one, other) => other.sequence - one.sequence)
      .slice(0, count))
      kept.delete(row)
  return wanted.filter((row) => kept.has(row))
}

/** The events of a tenant with sequences `from` to `to`, inclusive, for one of its webhooks or for all. */
export interface Replay {
  tenantId: string
  from: number
  to: number
  webhookId?: string | undefined
}

/**
 * Delivers events again, in order and as if they were new, to the webhooks that subscribe to them. Deliveries that are
 * still open stay as they are. Returns the number of reopened and new deliveries. As the worker role.
 */
export async function replayDeliveries(
  tx: Tx,
  { tenantId, from, to, webhookId }: Replay,
  now: number,
): Promise<number> {
  const wanted = await listSubscriptions(
    tx,
    sql.fragment`(select * from events where tenant_id = ${tenantId} and sequence between ${from} and ${to}) as e`,
    webhookId,
  )
  return openDeliveries(
    tx,
    wanted,
    now,
    sql.fragment`do update set in_order = true, status = 'pending', next_attempt_at = excluded.next_attempt_at,
                               retry_until = excluded.retry_until, ended_at = null
                 where webhook_deliveries.status in ('succeeded', 'dead')`,
  )
}

const replayScope = z.object({ webhooks: z.number(), last: z.number(), deleted_up_to: z.number() })

/**
 * What a replay can cover: the number of active webhooks of the tenant (or 1 or 0 for one webhook), the tenant's latest
 * sequence, and the highest sequence whose event was deleted (0: none).
 */
export function findReplayScope(
  tx: Tx,
  { tenantId, webhookId }: Pick<Replay, 'tenantId' | 'webhookId'>,
): Promise<z.infer<typeof replayScope>> {
  return tx.one(sql.type(replayScope)`
    select (select count(*) from webhooks w where w.tenant_id = ${tenantId} and w.is_active and w.disabled_reason is null
              and (${webhookId ?? null}::uuid is null or w.id = ${webhookId ?? null})) as webhooks,
           coalesce((select max(e.sequence) from events e where e.tenant_id = ${tenantId}), 0) as last,
           coalesce((select s.deleted_up_to from event_sequences s where s.tenant_id = ${tenantId}), 0) as deleted_up_to`)
}

async function openDeliveries(
  tx: Tx,
  wanted: readonly Subscription[],
  now: number,
  onConflict: FragmentSqlToken,
): Promise<number> {
  if (wanted.length === 0) return 0
  const at = new Date(now).toISOString()
  const until = new Date(now + day).toISOString()
  const rows = wanted.map(({ tenant_id, webhook_id, event_id, event_type, sequence }) => [
    tenant_id,
    timeOrderedId(now),
    webhook_id,
    event_id,
    event_type,
    sequence,
    true,
    at,
    until,
    at,
  ])
  const opened = Promise.all(
    listsOfValues(rows).map((values) =>
      tx.query(sql.unsafe`
        insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order,
                                        next_attempt_at, retry_until, created_at)
        ${values} on conflict (tenant_id, webhook_id, event_id) ${onConflict}`),
    ),
  )
  const webhooks = new Map(wanted.map((row) => [row.webhook_id, row.tenant_id]))
  await ensureMessages(
    tx,
    [...webhooks].map(([webhookId, tenantId]) => ({ tenantId, webhookId })),
    now,
  )
  return (await opened).reduce((sum, { rowCount }) => sum + rowCount, 0)
}

/** The webhooks that subscribe to these events. */
async function listSubscriptionsTo(tx: Tx, events: readonly MessageKey[]): Promise<Subscription[]> {
  const lists = lockableGroups(tx, events).map((group) => {
    const keys = sql.unnest(
      group.map(({ tenantId, id }) => [tenantId, id]),
      ['uuid', 'uuid'],
    )
    return listSubscriptions(
      tx,
      sql.fragment`${keys} as m (tenant_id, id) join events e on e.tenant_id = m.tenant_id and e.id = m.id
        ${ofTenants(tx, sql.fragment`e.tenant_id`, group)}`,
    )
  })
  return (await Promise.all(lists)).flat()
}

/** The webhooks that subscribe to these events (rows `e`), in the order in which their messages must be locked. */
function listSubscriptions(tx: Tx, events: FragmentSqlToken, webhookId: string | null = null) {
  return tx.any(sql.type(subscription)`
    select e.tenant_id, w.id as webhook_id, e.id as event_id, e.type as event_type, e.sequence,
           w.managed_by is not null as is_managed
    from ${events}
    join webhooks w on w.tenant_id = e.tenant_id and w.is_active and w.disabled_reason is null
      and (${webhookId}::uuid is null or w.id = ${webhookId})
    where w.event_types = '{}' or e.type = any(w.event_types)
      or exists (select 1 from unnest(w.event_types) as glob
                 where right(glob, 2) = '.*' and starts_with(e.type, left(glob, -1)))
    order by e.tenant_id, w.id, e.sequence
    for key share of w`)
}

/** Inserts or locks the outbox message of each webhook. */
async function ensureMessages(tx: Tx, webhooks: readonly WebhookKey[], now: number): Promise<void> {
  const at = new Date(now).toISOString()
  const rows = webhooks.map(({ tenantId, webhookId }) => [
    tenantId,
    timeOrderedId(now),
    'webhook',
    JSON.stringify({ v: 1, webhook_id: webhookId }),
    at,
  ])
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`
    insert into outbox (tenant_id, id, queue, payload, created_at) ${values}
    on conflict (tenant_id, (payload ->> 'webhook_id')) where queue = 'webhook'
    do update set created_at = outbox.created_at`)
  wakeRelays(tx)
}

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

const columns = sql.fragment`
  id, event_id, event_type, attempt, status, response_status, duration_ms, error, next_attempt_at, created_at`

const typeText = z
  .string()
  .min(1, 'Give an event type.')
  .max(128, 'An event type can have at most 128 characters.')

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
  tx: Read,
  tenantId: string,
  webhookId: string,
  page: ListPage,
): Promise<readonly DeliveryRow[]> {
  return tx.any(sql.type(deliveryRow)`
    select ${columns} from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} ${page.tail}`)
}

/** Identifies a delivery of a webhook; `at` in ms since 1970. */
interface DeliveryKey {
  tenantId: string
  webhookId: string
  id: string
  at: number
}

const state = deliveryRow.pick({ status: true }).extend({ event_is_kept: z.boolean() })

/** The status of a delivery, and whether its event still exists (true for tests, which have none); or null. */
export function findDeliveryState(tx: Tx, { tenantId, webhookId, id }: Omit<DeliveryKey, 'at'>) {
  return tx.maybeOne(sql.type(state)`
    select status, sequence is null
      or exists (select 1 from events e where e.tenant_id = ${tenantId} and e.id = event_id) as event_is_kept
    from webhook_deliveries where tenant_id = ${tenantId} and webhook_id = ${webhookId} and id = ${id}`)
}

/** Reopens a delivery that has ended for one more attempt, outside the order; false when it has not ended. */
export async function reopenDelivery(tx: Tx, { tenantId, webhookId, id, at }: DeliveryKey): Promise<boolean> {
  const moment = instant(at)
  const reopened = await tx.maybeOne(sql.type(idRow)`
    update webhook_deliveries
    set status = 'pending', in_order = false, next_attempt_at = ${moment}, retry_until = ${moment}, ended_at = null
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and id = ${id} and status in ('succeeded', 'dead')
    returning id`)
  return reopened !== null
}

/** Counts the tests and replays of a webhook that wait. Reliable only while the webhook is locked. */
export function countWaitingOnce(tx: Tx, tenantId: string, webhookId: string): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and not in_order and status = 'pending'`)
}

/** Inserts a test, a delivery without an event that is tried once; returns its id. */
export async function insertTest(
  tx: Tx,
  test: { tenantId: string; webhookId: string; eventType: string; at: number },
): Promise<string> {
  const id = timeOrderedId(test.at)
  const at = instant(test.at)
  tx.later(sql.unsafe`
    insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, in_order, next_attempt_at, retry_until,
                                    created_at)
    values (${test.tenantId}, ${id}, ${test.webhookId}, ${timeOrderedId(test.at)}, ${test.eventType}, false, ${at}, ${at},
            ${at})`)
  return id
}

/** Deletes at most `limit` deliveries that ended before `before` (ms); returns how many. As the worker role. */
export async function deleteEndedBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from webhook_deliveries where (tenant_id, id) in (
      select tenant_id, id from webhook_deliveries where ended_at < ${instant(before)}
      order by ended_at limit ${limit})`)
  return rowCount
}

/**
 * Gives up at most `limit` open deliveries whose event happened before `before` (ms since 1970) and is about to be
 * deleted; their tenant was suspended for that long. They end at `now`. Returns how many. As the worker role.
 */
export async function giveUpWithoutEvent(
  tx: Tx,
  before: number,
  now: number,
  limit: number,
): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    update webhook_deliveries d set status = 'dead', next_attempt_at = null, ended_at = ${instant(now)}
    from (
      select o.tenant_id, o.id from webhooks w cross join lateral (
        select tenant_id, id from webhook_deliveries e
        where e.tenant_id = w.tenant_id and e.webhook_id = w.id and e.status in ('pending', 'failed')
          and e.event_id < ${earliestId(before)}
        limit ${limit}) o
      limit ${limit}) old
    where d.tenant_id = old.tenant_id and d.id = old.id and d.status in ('pending', 'failed')`)
  return rowCount
}

const deletedWebhook = z.object({ tenant_id: z.string(), webhook_id: z.string() })

/** The deleted webhooks that still have deliveries, however many. As the worker role. */
export const listDeletedWebhooks = (tx: Tx): Promise<readonly z.infer<typeof deletedWebhook>[]> =>
  tx.any(sql.type(deletedWebhook)`
    select d.tenant_id, d.webhook_id from (${distinctPairs(tx, 'webhook_deliveries', 'webhook_id')}) d
    where not exists (select 1 from webhooks w where w.tenant_id = d.tenant_id and w.id = d.webhook_id)`)

/** Deletes at most `limit` deliveries of a webhook; returns how many. As the worker role. */
export async function deleteDeliveriesOf(
  tx: Tx,
  { tenant_id, webhook_id }: z.infer<typeof deletedWebhook>,
  limit: number,
): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from webhook_deliveries where (tenant_id, id) in (
      select tenant_id, id from webhook_deliveries
      where tenant_id = ${tenant_id} and webhook_id = ${webhook_id} limit ${limit})`)
  return rowCount
}
