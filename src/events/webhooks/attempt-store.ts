import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { eventColumns, eventRow } from '../envelope.ts'
import type { WebhookKey } from './delivery-store.ts'

const claimedRow = z.object({
  delivery_id: z.string(),
  attempt: z.number(),
  retry_until: z.number(),
  url: z.string(),
  secret_sealed: z.instanceof(Buffer),
  previous_secret_sealed: z.instanceof(Buffer).nullable(),
  ...eventRow.shape,
})

/** A delivery to be tried, with all that takes, its event's columns among them. Times in ms since 1970. */
export type Claimed = z.output<typeof claimedRow>

/** ms in which nobody else tries a delivery that was claimed: far more than an attempt takes. */
const claimed = 30_000

/** Secrets of the webhook `w`: the one before the last signs, too, until it expires. */
const sent = (now: number) => sql.fragment`
  d.id as delivery_id, d.attempt, d.retry_until, w.url, w.secret_sealed,
  case when w.previous_secret_expires_at > ${sql.timestamp(new Date(now))} then w.previous_secret_sealed end
    as previous_secret_sealed`

/** Ids and sequences are of one order but for transactions that took long: among so many the lowest is found. */
const lookedAt = 1_000

/**
 * Every event of a tenant below this sequence has its deliveries by now: fan-outs run side by side, and the later
 * event may be through with its own first. What waits for its fan-out has its row in the outbox until then.
 */
export async function findFrontier(tx: Tx, tenantId: string): Promise<number> {
  const { frontier } = await tx.one(sql.type(z.object({ frontier: z.number() }))`
    select coalesce(
      (select min(e.sequence) from (
         select tenant_id, id from outbox
         where tenant_id = ${tenantId} and queue = 'event-fanout' order by id limit ${lookedAt}) o
       join events e on e.tenant_id = o.tenant_id and e.id = o.id),
      (select last + 1 from event_sequences where tenant_id = ${tenantId}),
      0) as frontier`)
  return frontier
}

/**
 * Claims the first open delivery of a webhook, where it is due, below the frontier, and webhook and tenant are active:
 * one conditional statement, so of those who come at once one gets it. Null where there is none, or not yet.
 */
export function claimHead(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  frontier: number,
  now: number,
): Promise<Claimed | null> {
  const at = sql.timestamp(new Date(now))
  return tx.maybeOne(sql.type(claimedRow)`
    with head as (
      select id, sequence from webhook_deliveries
      where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
      order by sequence limit 1
    )
    update webhook_deliveries d
    set attempt = d.attempt + 1, next_attempt_at = ${sql.timestamp(new Date(now + claimed))}
    from head h, webhooks w, tenants t, events e
    where d.tenant_id = ${tenantId} and d.id = h.id and h.sequence < ${frontier}
      and d.in_order and d.status in ('pending', 'failed') and d.next_attempt_at <= ${at}
      and w.tenant_id = ${tenantId} and w.id = ${webhookId} and w.is_active and w.disabled_reason is null
      and t.id = ${tenantId} and t.status = 'active' and t.deleted_at is null
      and e.tenant_id = ${tenantId} and e.id = d.event_id
    returning ${sent(now)}, ${eventColumns}`)
}

/**
 * Claims a delivery that is tried once, a test or a replay, where it waits and its tenant is active; of webhooks that
 * are inactive or disabled, too. A test has no event: what is sent of it names the webhook. A replay whose event was
 * deleted meanwhile is not sent.
 */
export function claimOnce(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  deliveryId: string,
  now: number,
): Promise<Claimed | null> {
  const at = sql.timestamp(new Date(now))
  return tx.maybeOne(sql.type(claimedRow)`
    with once as (
      select o.id as delivery_id, o.created_at, e.*
      from webhook_deliveries o left join events e on e.tenant_id = o.tenant_id and e.id = o.event_id
      where o.tenant_id = ${tenantId} and o.id = ${deliveryId} and (o.sequence is null or e.id is not null)
    )
    update webhook_deliveries d
    set attempt = d.attempt + 1, next_attempt_at = ${sql.timestamp(new Date(now + claimed))}
    from once e, webhooks w, tenants t
    where d.tenant_id = ${tenantId} and d.id = e.delivery_id and d.webhook_id = ${webhookId}
      and not d.in_order and d.status = 'pending' and d.next_attempt_at <= ${at}
      and w.tenant_id = ${tenantId} and w.id = ${webhookId}
      and t.id = ${tenantId} and t.status = 'active' and t.deleted_at is null
    returning ${sent(now)}, d.tenant_id, d.event_id as id, d.event_type as type,
      coalesce(e.subject, d.webhook_id::text) as subject,
      coalesce(e.data, jsonb_build_object('webhook_id', d.webhook_id)) as data, e.actor_id, e.traceparent,
      coalesce(e.occurred_at, e.created_at) as occurred_at, e.sequence`)
}

const openOnce = z.object({ next_attempt_at: z.number(), tenant_active: z.boolean() })

/** What a test or a replay that could not be claimed waits for; null where it is over, or webhook or tenant are gone. */
export function findOpenOnce(tx: Tx, { tenantId, webhookId }: WebhookKey, deliveryId: string) {
  return tx.maybeOne(sql.type(openOnce)`
    select d.next_attempt_at, t.status = 'active' as tenant_active
    from webhook_deliveries d join tenants t on t.id = d.tenant_id
    join webhooks w on w.tenant_id = d.tenant_id and w.id = d.webhook_id
    where d.tenant_id = ${tenantId} and d.id = ${deliveryId} and d.webhook_id = ${webhookId}
      and not d.in_order and d.status = 'pending' and t.deleted_at is null`)
}

/** Notes a test or replay that failed, which says nothing about the order. */
export async function noteFailedOnce(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  now: number,
): Promise<void> {
  await tx.query(sql.unsafe`
    update webhooks set last_failure_at = ${sql.timestamp(new Date(now))}
    where tenant_id = ${tenantId} and id = ${webhookId}`)
}

/** Gives up a test or a replay whose message became a dead letter, as of the moment it was to be tried next. */
export async function killOnce(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  deliveryId: string,
): Promise<void> {
  await tx.query(sql.unsafe`
    update webhook_deliveries set status = 'dead', ended_at = next_attempt_at, next_attempt_at = null
    where tenant_id = ${tenantId} and id = ${deliveryId} and webhook_id = ${webhookId}
      and not in_order and status = 'pending'`)
}

/** Names an attempt: nobody has claimed the delivery again since. */
export interface Attempt extends WebhookKey {
  deliveryId: string
  attempt: number
}

/** What is kept of an attempt. `at` is in ms since 1970. */
export interface Result {
  status: number | null
  duration: number
  trouble: string | null
  at: number
}

const still = ({ tenantId, deliveryId, attempt }: Attempt) => sql.fragment`
  tenant_id = ${tenantId} and id = ${deliveryId} and attempt = ${attempt} and status in ('pending', 'failed')`
const kept = ({ status, duration, trouble }: Result) => sql.fragment`
  response_status = ${status}, duration_ms = ${duration}, error = ${trouble}`
const found = z.object({ id: z.string() })

/** Ends a delivery; false where the attempt is no longer the last. */
export async function endDelivery(
  tx: Tx,
  attempt: Attempt,
  status: 'succeeded' | 'dead',
  result: Result,
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update webhook_deliveries
    set status = ${status}, next_attempt_at = null, ended_at = ${sql.timestamp(new Date(result.at))}, ${kept(result)}
    where ${still(attempt)} returning id`)
  return row !== null
}

/** Puts a delivery off until `next` (ms since 1970); false where the attempt is no longer the last. */
export async function putOff(tx: Tx, attempt: Attempt, next: number, result: Result): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update webhook_deliveries
    set status = 'failed', next_attempt_at = ${sql.timestamp(new Date(next))}, ${kept(result)}
    where ${still(attempt)} returning id`)
  return row !== null
}

/** Gives up all that is open and past its time, and has the first of the rest tried at `next` (ms since 1970). */
export async function giveUpOverdue(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  now: number,
  next: number,
): Promise<void> {
  const at = sql.timestamp(new Date(now))
  await tx.query(sql.unsafe`
    update webhook_deliveries set status = 'dead', next_attempt_at = null, ended_at = ${at}
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
      and retry_until <= ${at}`)
  await tx.query(sql.unsafe`
    update webhook_deliveries set next_attempt_at = ${sql.timestamp(new Date(next))}
    where tenant_id = ${tenantId} and id = (
      select id from webhook_deliveries
      where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status in ('pending', 'failed')
      order by sequence limit 1)`)
}

/**
 * Has what was put off tried at once, for its webhook answers again. What is put off by less than a claim may be under
 * way, and is left alone.
 */
export async function hurry(tx: Tx, { tenantId, webhookId }: WebhookKey, now: number): Promise<void> {
  await tx.query(sql.unsafe`
    update webhook_deliveries set next_attempt_at = ${sql.timestamp(new Date(now))}
    where tenant_id = ${tenantId} and webhook_id = ${webhookId} and in_order and status = 'failed'
      and next_attempt_at > ${sql.timestamp(new Date(now + claimed))}`)
}

/** Closes the circuit of a webhook. */
export async function noteSuccess(tx: Tx, { tenantId, webhookId }: WebhookKey, now: number): Promise<void> {
  await tx.query(sql.unsafe`
    update webhooks set failures = 0, failing_since = null, last_success_at = ${sql.timestamp(new Date(now))}
    where tenant_id = ${tenantId} and id = ${webhookId}`)
}

const health = z.object({ failures: z.number(), failing_since: z.number() })

/** Counts one more failure; gives how many in a row and since when (ms), null where the webhook is gone. */
export function noteFailure(tx: Tx, { tenantId, webhookId }: WebhookKey, now: number) {
  const at = sql.timestamp(new Date(now))
  return tx.maybeOne(sql.type(health)`
    update webhooks set failures = failures + 1, failing_since = coalesce(failing_since, ${at}), last_failure_at = ${at}
    where tenant_id = ${tenantId} and id = ${webhookId}
    returning failures, failing_since`)
}

/** Ends the delivering of a webhook until it is activated anew; false where that was done before. */
export async function disable(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  reason: 'gone' | 'failing',
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(found)`
    update webhooks set disabled_reason = ${reason}
    where tenant_id = ${tenantId} and id = ${webhookId} and disabled_reason is null returning id`)
  return row !== null
}
