import { z } from 'zod'
import { readAsWorker } from '../../database/executor/read.ts'
import { type Databases, sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { wakeRelays } from '../../messages/outbox/wake-relays.ts'
import type { MessageKey } from '../../messages/queues/queued-message.ts'
import { eventColumns, eventRow } from '../envelope.ts'
import type { WebhookKey } from './store.ts'

const frontierRow = z.object({ frontier: z.number() })

const claimedRow = z.object({
  delivery_id: z.string(),
  attempt: z.number(),
  retry_until: z.number(),
  url: z.string(),
  secret_sealed: z.instanceof(Buffer),
  previous_secret_sealed: z.instanceof(Buffer).nullable(),
  managed_by: z.string().nullable(),
  managed_as: z.string().nullable(),
  ...eventRow.shape,
})

const claimedOnceRow = claimedRow.extend({ data: eventRow.shape.data.nullable() })

/** A claimed delivery with what an attempt needs: its event, URL and sealed secrets. Times in ms since 1970. */
export type Claimed = z.output<typeof claimedRow>

const open = sql.array(['pending', 'failed'], 'text')

/** ms for which a claim is exclusive: 10 s for an attempt, and 20 s to record its result while Postgres is away. */
const claimDuration = 30_000

/**
 * The delivery `d`, and URL and secrets of the webhook `w`; those of a managed one are in `m`. The previous secret also
 * signs until it expires.
 */
const claimedColumns = (now: number) => sql.fragment`
  d.id as delivery_id, d.attempt, d.retry_until, w.url, w.managed_by, w.managed_as,
  coalesce(w.secret_sealed, m.secret_sealed) as secret_sealed,
  case when coalesce(w.previous_secret_expires_at, m.previous_secret_expires_at) > ${instant(now)}
    then coalesce(w.previous_secret_sealed, m.previous_secret_sealed) end as previous_secret_sealed`

const webhooks = sql.fragment`
  webhooks w left join manifest_webhooks m on m.application = w.managed_by and m.key = w.managed_as`

/** Ids and sequences have the same order, except after long transactions: the lowest sequence is among this many ids. */
const frontierWindow = 1_000

/**
 * Every event of the tenant below this sequence has its deliveries. Fan-outs run concurrently, so the deliveries of a
 * later event can exist before those of an earlier one. An event has a row in the outbox until its fan-out is done.
 */
export async function findFrontier(tx: Tx, tenantId: string): Promise<number> {
  const { frontier } = await tx.one(sql.type(frontierRow)`
    select coalesce(
      (select min(e.sequence) from (
         select tenant_id, id from outbox
         where tenant_id = ${tenantId} and queue = 'event-fanout' order by id limit ${frontierWindow}) o
       join events e on e.tenant_id = o.tenant_id and e.id = o.id),
      (select last + 1 from event_sequences where tenant_id = ${tenantId}),
      0) as frontier`)
  return frontier
}

/**
 * Claims the first open delivery of a webhook if it is due and below the frontier, and if webhook and tenant are active.
 * One conditional statement, so only one of several concurrent claims succeeds. Else null.
 *
 * Each table is read by its primary key, also while statistics say that nothing is open. That is why the head comes from
 * subqueries, not from a join, and why `d` does not say the condition of the index of open deliveries in words.
 */
export function claimHead(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  frontier: number,
  now: number,
): Promise<Claimed | null> {
  const at = instant(now)
  return tx.maybeOne(sql.type(claimedRow)`
    with head as (
      select id, sequence, event_id from webhook_deliveries
      where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
      order by sequence limit 1
    )
    update webhook_deliveries d
    set attempt = d.attempt + 1, next_attempt_at = ${instant(now + claimDuration)}
    from ${webhooks}, tenants t, events e
    where d.tenant_id = ${tenantId} and d.id = (select id from head where sequence < ${frontier})
      and d.in_order and d.status = any(${open}) and d.next_attempt_at <= ${at}
      and w.tenant_id = ${tenantId} and w.id = ${webhookId} and w.is_active and w.disabled_reason is null
      and t.id = ${tenantId} and t.status = 'active' and t.deleted_at is null
      and e.tenant_id = ${tenantId} and e.id = (select event_id from head)
    returning ${claimedColumns(now)}, ${eventColumns}`)
}

/**
 * Claims a test or a replay, which is tried once, if it waits and its tenant is active; the webhook can be inactive or
 * disabled. A test has no event: it is sent with the webhook as subject. A replay whose event was deleted is not sent.
 */
export async function claimOnce(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  deliveryId: string,
  now: number,
): Promise<Claimed | null> {
  const at = instant(now)
  const claimed = await tx.maybeOne(sql.type(claimedOnceRow)`
    with once as (
      select event_id from webhook_deliveries where tenant_id = ${tenantId} and id = ${deliveryId}
    )
    update webhook_deliveries d
    set attempt = d.attempt + 1, next_attempt_at = ${instant(now + claimDuration)}
    from ${webhooks}, tenants t,
      (select 1) one left join events e on e.tenant_id = ${tenantId} and e.id = (select event_id from once)
    where d.tenant_id = ${tenantId} and d.id = ${deliveryId} and d.webhook_id = ${webhookId}
      and (d.sequence is null or e.id is not null)
      and not d.in_order and d.status = 'pending' and d.next_attempt_at <= ${at}
      and w.tenant_id = ${tenantId} and w.id = ${webhookId}
      and t.id = ${tenantId} and t.status = 'active' and t.deleted_at is null
    returning ${claimedColumns(now)}, d.tenant_id, d.event_id as id, d.event_type as type,
      coalesce(e.subject, d.webhook_id::text) as subject,
      e.data, e.actor_id, e.impersonator_id, e.traceparent,
      coalesce(e.occurred_at, d.created_at) as occurred_at, e.sequence`)
  return claimed && { ...claimed, data: claimed.data ?? { webhook_id: webhookId } }
}

const openOnce = z.object({ next_attempt_at: z.number(), tenant_active: z.boolean() })

/** What an unclaimed test or replay waits for; null when it has ended, or when webhook or tenant are deleted. */
export function findOpenOnce(tx: Tx, { tenantId, webhookId }: WebhookKey, deliveryId: string) {
  return tx.maybeOne(sql.type(openOnce)`
    select d.next_attempt_at, t.status = 'active' as tenant_active
    from webhook_deliveries d join tenants t on t.id = d.tenant_id
    join webhooks w on w.tenant_id = d.tenant_id and w.id = d.webhook_id
    where d.tenant_id = ${tenantId} and d.id = ${deliveryId} and d.webhook_id = ${webhookId}
      and not d.in_order and d.status = 'pending' and t.deleted_at is null`)
}

/** Gives up a test or a replay whose message became a dead letter. It ends at its planned next attempt. */
export async function giveUpOnce(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  deliveryId: string,
): Promise<void> {
  tx.later(sql.unsafe`
    update webhook_deliveries set status = 'dead', ended_at = next_attempt_at, next_attempt_at = null
    where tenant_id = ${tenantId} and id = ${deliveryId} and webhook_id = ${webhookId}
      and not in_order and status = 'pending'`)
}

/** Identifies the last attempt of a delivery; a later claim makes it outdated. */
export interface Attempt extends WebhookKey {
  deliveryId: string
  attempt: number
}

/** The stored result of an attempt. `at` is in ms since 1970. */
export interface Result {
  status: number | null
  duration: number
  error: string | null
  at: number
}

const isLast = ({ tenantId, deliveryId, attempt }: Attempt) => sql.fragment`
  tenant_id = ${tenantId} and id = ${deliveryId} and attempt = ${attempt} and status in ('pending', 'failed')`
const resultColumns = ({ status, duration, error }: Result) => sql.fragment`
  response_status = ${status}, duration_ms = ${duration}, error = ${error}`
const found = z.object({ id: z.string() })

/** Ends a delivery; false when the attempt is no longer its last. */
export async function endDelivery(
  tx: Tx,
  attempt: Attempt,
  status: 'succeeded' | 'dead',
  result: Result,
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update webhook_deliveries
    set status = ${status}, next_attempt_at = null, ended_at = ${instant(result.at)}, ${resultColumns(result)}
    where ${isLast(attempt)} returning id`)
  return row !== null
}

/** Delays a delivery until `next` (ms since 1970); false when the attempt is no longer its last. */
export async function delayDelivery(
  tx: Tx,
  attempt: Attempt,
  next: number,
  result: Result,
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update webhook_deliveries
    set status = 'failed', next_attempt_at = ${instant(next)}, ${resultColumns(result)}
    where ${isLast(attempt)} returning id`)
  return row !== null
}

/** Gives up all open deliveries past their retry time; the first remaining one is due at `next` (ms since 1970). */
export async function giveUpExpired(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  now: number,
  next: number,
): Promise<void> {
  const at = instant(now)
  tx.later(sql.unsafe`
    update webhook_deliveries set status = 'dead', next_attempt_at = null, ended_at = ${at}
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
      and retry_until <= ${at}`)
  tx.later(sql.unsafe`
    update webhook_deliveries set next_attempt_at = ${instant(next)}
    where tenant_id = ${tenantId} and id = (
      select id from webhook_deliveries
      where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
      order by sequence limit 1)`)
}

/**
 * Makes a delayed delivery due now, because its webhook answers again. A delivery delayed by less than a claim lasts can
 * be under way and stays as it is.
 */
export async function retryNow(tx: Tx, { tenantId, webhookId }: WebhookKey, now: number): Promise<void> {
  tx.later(sql.unsafe`
    update webhook_deliveries set next_attempt_at = ${instant(now)}
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status = 'failed'
      and next_attempt_at > ${instant(now + claimDuration)}`)
}

/** Replaces a message that its queue gave up by a new one; false when it no longer exists. */
export async function renewMessage(tx: Tx, { tenantId, id }: MessageKey, now: number): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update outbox set id = ${timeOrderedId(now)}, enqueued_at = null
    where tenant_id = ${tenantId} and id = ${id} and queue = 'webhook' returning id`)
  return row !== null
}

const urlRow = z.object({ url: z.string() })

/** The host that receives the events of a webhook; empty for a deleted one. */
export async function findHost(
  db: Pick<Databases, 'worker'>,
  { tenantId, webhookId }: WebhookKey,
): Promise<string> {
  const url = await readAsWorker(db, (read) =>
    read.maybeOneFirst(sql.type(urlRow)`
      select url from webhooks where tenant_id = ${tenantId} and id = ${webhookId}`),
  )
  return URL.parse(url ?? '')?.hostname ?? ''
}

const deliveringWebhook = z.object({ tenant_active: z.boolean() })
const openHead = z.object({ id: z.string(), next_attempt_at: z.number(), sequence: z.number() })

/** What a webhook without a claimable delivery waits for: nothing, its tenant, or its first open delivery. */
export type WaitsFor = 'nothing' | 'tenant' | { dueAt: number; sequence: number }

/**
 * Deletes the message of a webhook that has no open delivery or does not deliver; else returns what it waits for.
 *
 * Adding a delivery locks the message, activating a webhook locks the webhook. This function locks both first and reads
 * in later statements, which see what other transactions committed while it waited for the locks.
 */
export async function deleteMessageIfIdle(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  id: string,
): Promise<WaitsFor> {
  tx.later(sql.unsafe`
    select 1 from webhooks where tenant_id = ${tenantId} and id = ${webhookId} for no key update`)
  const message = await tx.maybeOne(sql.type(found)`
    select id from outbox where tenant_id = ${tenantId} and id = ${id} and queue = 'webhook' for update`)
  if (!message) return 'nothing'
  const delivering = await tx.maybeOne(sql.type(deliveringWebhook)`
    select t.status = 'active' as tenant_active from webhooks w join tenants t on t.id = w.tenant_id
    where w.tenant_id = ${tenantId} and w.id = ${webhookId} and w.is_active and w.disabled_reason is null
      and t.deleted_at is null`)
  const head = delivering && (await findHead(tx, { tenantId, webhookId }))
  if (head)
    return delivering.tenant_active ? { dueAt: head.next_attempt_at, sequence: head.sequence } : 'tenant'
  tx.later(sql.unsafe`delete from outbox where tenant_id = ${tenantId} and id = ${id} and queue = 'webhook'`)
  return 'nothing'
}

/** The first open delivery in the order of a webhook, or null. */
const findHead = (tx: Tx, { tenantId, webhookId }: WebhookKey) =>
  tx.maybeOne(sql.type(openHead)`
    select id, next_attempt_at, sequence from webhook_deliveries
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
    order by sequence limit 1`)

/**
 * Resumes the deliveries of a webhook that was inactive or failing: resets its failures and makes its first open
 * delivery due at `now` (ms since 1970).
 */
export async function resumeDeliveries(
  tx: Tx,
  { tenantId, webhookId, wasActive, now }: WebhookKey & { wasActive: boolean; now: number },
): Promise<void> {
  const wasFailing = await tx.maybeOne(sql.type(found)`
    update webhooks set failures = 0, failing_since = null
    where tenant_id = ${tenantId} and id = ${webhookId} and failures > 0 returning id`)
  if (wasActive && !wasFailing) return
  const at = instant(now)
  const head = await findHead(tx, { tenantId, webhookId })
  if (!head) return
  tx.later(sql.unsafe`
    update webhook_deliveries set next_attempt_at = ${at}
    where tenant_id = ${tenantId} and id = ${head.id} and status in ('pending', 'failed') and next_attempt_at > ${at}`)
  tx.later(sql.unsafe`
    insert into outbox (tenant_id, id, queue, payload, created_at)
    values (${tenantId}, ${timeOrderedId(now)}, 'webhook', ${sql.jsonb({ v: 1, webhook_id: webhookId })}, ${at})
    on conflict (tenant_id, (payload ->> 'webhook_id')) where queue = 'webhook'
    do update set id = ${timeOrderedId(now)}, created_at = ${at}, enqueued_at = null`)
  wakeRelays(tx)
}
