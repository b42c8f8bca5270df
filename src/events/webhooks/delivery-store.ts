import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { addToDay } from '../../platform/db/daily-counts.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import type { Delivery } from '../../platform/outbox/acknowledge.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'

/** Names a webhook. */
export interface WebhookKey {
  tenantId: string
  webhookId: string
}

const day = 86_400_000
const subscription = z.object({
  tenant_id: z.string(),
  webhook_id: z.string(),
  event_id: z.string(),
  event_type: z.string(),
  sequence: z.number(),
})

/**
 * Makes a delivery of each of these numbered events for each webhook that wants it, and sees to it that the outbox
 * holds a message for each of these webhooks. `now` in ms. Both are there once the caller's transaction commits. Gives
 * what was not made because its tenant has `maxPerDay` on that day (UTC): those of the latest events.
 *
 * The message that is there already is locked, so that whoever is about to settle it waits, and then finds what was
 * added; one that is being settled is waited for, and made anew. Webhooks are locked against being deleted meanwhile.
 */
export async function insertDeliveries(
  tx: Tx,
  events: readonly Delivery[],
  now: number,
  maxPerDay: number,
): Promise<DroppedDeliveries[]> {
  const those = sql.unnest(
    events.map(({ tenantId, id }) => [tenantId, id]),
    ['uuid', 'uuid'],
  )
  const wanted = await listSubscriptions(
    tx,
    sql.fragment`${those} as m (tenant_id, id) join events e on e.tenant_id = m.tenant_id and e.id = m.id`,
  )
  const dropped = await countDeliveries(tx, wanted, now, maxPerDay)
  await openDeliveries(tx, withoutLatest(wanted, dropped), now, sql.fragment`do nothing`)
  return dropped
}

type Subscription = z.infer<typeof subscription>

/** Deliveries that are not made; `isFirst`: the tenant had some left until now. */
export interface DroppedDeliveries {
  tenantId: string
  count: number
  isFirst: boolean
}

/** Counts deliveries that are wanted; gives how many of each tenant are too many. */
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

/** What is left of `wanted`, in its order, without the last events of the tenants that want too many. */
function withoutLatest(wanted: readonly Subscription[], dropped: readonly DroppedDeliveries[]) {
  const left = new Set(wanted)
  for (const { tenantId, count } of dropped)
    for (const row of wanted
      .filter((row) => row.tenant_id === tenantId)
      .toSorted((one, other) => other.sequence - one.sequence)
      .slice(0, count))
      left.delete(row)
  return wanted.filter((row) => left.has(row))
}

/** Numbered events of a tenant, `from` and `to` included, for one of its webhooks or for all. */
export interface Replay {
  tenantId: string
  from: number
  to: number
  webhookId?: string | undefined
}

/**
 * Hands events again to the webhooks that want them, in their order and as if they were new; those that are still to
 * be delivered stay as they are. Gives how many deliveries wait anew. As the worker role.
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

const reach = z.object({ webhooks: z.number(), last: z.number(), deleted_up_to: z.number() })

/**
 * How many webhooks a replay is for (of a tenant, or that one), the last sequence that its tenant has given, and the
 * highest that is no longer kept (0: none).
 */
export function findReach(
  tx: Tx,
  { tenantId, webhookId }: Pick<Replay, 'tenantId' | 'webhookId'>,
): Promise<z.infer<typeof reach>> {
  return tx.one(sql.type(reach)`
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
  const rows = wanted.map((row) => [
    row.tenant_id,
    timeOrderedId(now),
    row.webhook_id,
    row.event_id,
    row.event_type,
    row.sequence,
  ])
  const at = sql.timestamp(new Date(now))
  const { rowCount } = await tx.query(sql.unsafe`
    insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order,
                                    next_attempt_at, retry_until, created_at)
    select n.*, true, ${at}, ${sql.timestamp(new Date(now + day))}, ${at}
    from ${sql.unnest(rows, ['uuid', 'uuid', 'uuid', 'uuid', 'text', 'int8'])} as n
    on conflict (tenant_id, webhook_id, event_id) ${onConflict}`)
  const concerned = new Map(wanted.map((row) => [row.webhook_id, row.tenant_id]))
  await ensureMessages(
    tx,
    [...concerned].map(([webhookId, tenantId]) => ({ tenantId, webhookId })),
    now,
  )
  return rowCount
}

/** Which of these events (rows e) each webhook wants, in the order in which the webhooks' messages have to be locked. */
function listSubscriptions(tx: Tx, events: FragmentSqlToken, webhookId: string | null = null) {
  return tx.any(sql.type(subscription)`
    select e.tenant_id, w.id as webhook_id, e.id as event_id, e.type as event_type, e.sequence
    from ${events}
    join webhooks w on w.tenant_id = e.tenant_id and w.is_active and w.disabled_reason is null
      and (${webhookId}::uuid is null or w.id = ${webhookId})
    where w.event_types = '{}' or e.type = any(w.event_types)
      or exists (select from unnest(w.event_types) as glob
                 where right(glob, 2) = '.*' and starts_with(e.type, left(glob, -1)))
    order by e.tenant_id, w.id, e.sequence
    for key share of w`)
}

async function ensureMessages(tx: Tx, webhooks: readonly WebhookKey[], now: number): Promise<void> {
  const rows = webhooks.map(({ tenantId, webhookId }) => [tenantId, timeOrderedId(now), webhookId])
  await tx.query(sql.unsafe`
    insert into outbox (tenant_id, id, queue, payload, created_at)
    select tenant_id, id, 'webhook', jsonb_build_object('v', 1, 'webhook_id', webhook_id),
           ${sql.timestamp(new Date(now))}
    from ${sql.unnest(rows, ['uuid', 'uuid', 'uuid'])} as n (tenant_id, id, webhook_id)
    order by tenant_id, webhook_id
    on conflict (tenant_id, (payload ->> 'webhook_id')) where queue = 'webhook'
    do update set created_at = outbox.created_at`)
}

const found = z.object({ id: z.string() })

/** Puts a new message in the place of one that its queue gave up; false where it is gone. */
export async function renewMessage(tx: Tx, { tenantId, id }: Delivery, now: number): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update outbox set id = ${timeOrderedId(now)}, enqueued_at = null
    where tenant_id = ${tenantId} and id = ${id} and queue = 'webhook' returning id`)
  return row !== null
}

const auth = z.object({ tenant_active: z.boolean() })
const openHead = z.object({ next_attempt_at: z.number(), sequence: z.number() })

/** What a webhook without a delivery to claim waits for: nothing any more, its tenant, or its first delivery. */
export type Rest = 'settled' | 'tenant' | { dueAt: number; sequence: number }

/**
 * Deletes the message of a webhook that has nothing open, or delivers no more; else says what is waited for.
 *
 * Whoever adds a delivery holds the message, whoever activates a webhook the webhook: both are locked here first, and
 * looked at in statements of their own, which see what was committed while these locks were waited for.
 */
export async function settleIfIdle(tx: Tx, { tenantId, webhookId }: WebhookKey, id: string): Promise<Rest> {
  await tx.query(sql.unsafe`
    select from webhooks where tenant_id = ${tenantId} and id = ${webhookId} for no key update`)
  const held = await tx.maybeOne(sql.type(found)`
    select id from outbox where tenant_id = ${tenantId} and id = ${id} for update`)
  if (!held) return 'settled'
  const delivering = await tx.maybeOne(sql.type(auth)`
    select t.status = 'active' as tenant_active from webhooks w join tenants t on t.id = w.tenant_id
    where w.tenant_id = ${tenantId} and w.id = ${webhookId} and w.is_active and w.disabled_reason is null
      and t.deleted_at is null`)
  const head = delivering && (await findHead(tx, { tenantId, webhookId }))
  if (head)
    return delivering.tenant_active ? { dueAt: head.next_attempt_at, sequence: head.sequence } : 'tenant'
  await tx.query(sql.unsafe`delete from outbox where tenant_id = ${tenantId} and id = ${id}`)
  return 'settled'
}

const findHead = (tx: Tx, { tenantId, webhookId }: WebhookKey) =>
  tx.maybeOne(sql.type(openHead)`
    select next_attempt_at, sequence from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
    order by sequence limit 1`)
