import { z } from 'zod'
import { addToCount, countRows, deleteCounted } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { asWorker, type Databases, sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { defineList, type ListPage } from '../../lists/list.ts'
import type { Sample } from '../../observe/metrics/read-sources.ts'
import { openAfter } from './next-attempt.ts'

/** Identifies a webhook. */
export interface WebhookKey {
  tenantId: string
  webhookId: string
}

const webhookRow = z.object({
  id: z.uuid(),
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.string()),
  is_active: z.boolean(),
  disabled_reason: z.enum(['gone', 'failing']).nullable(),
  created_at: z.number(),
  updated_at: z.number(),
  last_success_at: z.number().nullable(),
  last_failure_at: z.number().nullable(),
  version: z.number(),
  managed_by: z.string().nullable(),
  managed_as: z.string().nullable(),
})

export type WebhookRow = z.infer<typeof webhookRow>

const columns = sql.fragment`
  id, url, description, event_types, is_active, disabled_reason, created_at, updated_at, last_success_at,
  last_failure_at, version, managed_by, managed_as`

/** The webhooks of a tenant. */
export const webhookList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of the tenant's webhooks. */
export function listWebhooks(tx: Read, tenantId: string, page: ListPage): Promise<readonly WebhookRow[]> {
  return tx.any(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} ${page.tail}`)
}

/** Counts the webhooks that match the filters. Without filters the count comes from `row_counts`. */
export function countMatching(tx: Read, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(tx, tenantId, 'webhooks')
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from webhooks where tenant_id = ${tenantId} ${page.conditions}`)
}

/** Counts the tenant's own webhooks. Reliable once the transaction has inserted one, which locks the counter. */
export function countOwnWebhooks(tx: Tx, tenantId: string): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from webhooks where tenant_id = ${tenantId} and managed_by is null`)
}

/** The webhooks that manifests gave the tenant. */
export function listManagedWebhooks(tx: Tx, tenantId: string): Promise<readonly WebhookRow[]> {
  return tx.any(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} and managed_by is not null`)
}

/** One webhook of the tenant, or null. */
export function findWebhook(tx: Read, tenantId: string, id: string): Promise<WebhookRow | null> {
  return tx.maybeOne(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} and id = ${id}`)
}

/** As findWebhook, but locks the webhook until the transaction ends. */
export function lockWebhook(tx: Tx, tenantId: string, id: string): Promise<WebhookRow | null> {
  return tx.maybeOne(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** The fields of a webhook that its tenant sets; `at` in ms since 1970. */
interface WebhookFields {
  tenantId: string
  id: string
  url: string
  description: string
  event_types: readonly string[]
  is_active: boolean
  at: number
}

/** Inserts a webhook with its sealed secret. */
export async function insertWebhook(
  tx: Tx,
  webhook: WebhookFields & { secretSealed: Buffer },
): Promise<void> {
  const at = instant(webhook.at)
  tx.later(sql.unsafe`
    insert into webhooks (tenant_id, id, url, description, event_types, is_active, secret_sealed, created_at, updated_at)
    values (${webhook.tenantId}, ${webhook.id}, ${webhook.url}, ${webhook.description},
            ${sql.array(webhook.event_types, 'text')}, ${webhook.is_active}, ${sql.binary(webhook.secretSealed)},
            ${at}, ${at})`)
  addToCount(tx, webhook.tenantId, 'webhooks')
}

/** Inserts a webhook of a manifest. Its secret is in manifest_webhooks. */
export async function insertManagedWebhook(
  tx: Tx,
  webhook: Omit<WebhookFields, 'is_active'> & { managed_by: string; managed_as: string },
): Promise<void> {
  const at = instant(webhook.at)
  await tx.query(sql.unsafe`
    insert into webhooks (tenant_id, id, url, description, event_types, managed_by, managed_as, created_at, updated_at)
    values (${webhook.tenantId}, ${webhook.id}, ${webhook.url}, ${webhook.description},
            ${sql.array(webhook.event_types, 'text')}, ${webhook.managed_by}, ${webhook.managed_as}, ${at}, ${at})`)
  addToCount(tx, webhook.tenantId, 'webhooks')
}

/** Updates a webhook and, with `reopen`, enables a disabled one; false when nothing changes. */
export async function changeWebhook(tx: Tx, webhook: WebhookFields & { reopen: boolean }): Promise<boolean> {
  const types = sql.array(webhook.event_types, 'text')
  const reason = sql.fragment`case when ${webhook.reopen} then null else disabled_reason end`
  const changed = await tx.maybeOne(sql.type(idRow)`
    update webhooks set url = ${webhook.url}, description = ${webhook.description}, event_types = ${types},
                        is_active = ${webhook.is_active}, disabled_reason = ${reason},
                        version = version + 1, updated_at = ${instant(webhook.at)}
    where tenant_id = ${webhook.tenantId} and id = ${webhook.id}
      and (url, description, event_types, is_active, disabled_reason)
          is distinct from (${webhook.url}, ${webhook.description}, ${types}, ${webhook.is_active}, ${reason})
    returning id`)
  return changed !== null
}

/** Replaces the sealed secret; the previous one also signs until `until` (ms since 1970). */
export async function replaceSecret(
  tx: Tx,
  webhook: { tenantId: string; id: string; secretSealed: Buffer; until: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update webhooks set previous_secret_sealed = secret_sealed,
                        previous_secret_expires_at = ${instant(webhook.until)},
                        secret_sealed = ${sql.binary(webhook.secretSealed)}
    where tenant_id = ${webhook.tenantId} and id = ${webhook.id}`)
}

/** Deletes a webhook. Its deliveries are no longer visible; the retention worker deletes them later. */
export async function deleteWebhook(tx: Tx, tenantId: string, id: string): Promise<void> {
  const deletion = sql.fragment`delete from webhooks where tenant_id = ${tenantId} and id = ${id}`
  deleteCounted(tx, tenantId, 'webhooks', deletion)
}

/** Records a success: resets the failures of a webhook, which closes its circuit. */
export async function recordSuccess(tx: Tx, { tenantId, webhookId }: WebhookKey, now: number): Promise<void> {
  tx.later(sql.unsafe`
    update webhooks set failures = 0, failing_since = null, last_success_at = ${instant(now)}
    where tenant_id = ${tenantId} and id = ${webhookId}`)
}

const health = z.object({ failures: z.number(), failing_since: z.number() })

/** Counts a failure; returns the number of failures in a row and since when (ms), or null for a deleted webhook. */
export function recordFailure(tx: Tx, { tenantId, webhookId }: WebhookKey, now: number) {
  const at = instant(now)
  return tx.maybeOne(sql.type(health)`
    update webhooks set failures = failures + 1, failing_since = coalesce(failing_since, ${at}), last_failure_at = ${at}
    where tenant_id = ${tenantId} and id = ${webhookId}
    returning failures, failing_since`)
}

/** Records a failed test or replay. It does not count as a failure of the ordered deliveries. */
export async function recordOnceFailure(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  now: number,
): Promise<void> {
  tx.later(sql.unsafe`
    update webhooks set last_failure_at = ${instant(now)}
    where tenant_id = ${tenantId} and id = ${webhookId}`)
}

/** Disables a webhook until it is activated again; false when it is already disabled. */
export async function disable(
  tx: Tx,
  { tenantId, webhookId }: WebhookKey,
  reason: 'gone' | 'failing',
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(idRow)`
    update webhooks set disabled_reason = ${reason}, version = version + 1
    where tenant_id = ${tenantId} and id = ${webhookId} and disabled_reason is null returning id`)
  return row !== null
}

/** Counts the webhooks with an open circuit: after too many failures they are tried only now and then. */
export async function measureCircuits(db: Pick<Databases, 'worker'>): Promise<Sample[]> {
  const { count } = await asWorker(db, (tx) =>
    tx.one(sql.type(countRow)`
      select count(*) as count from webhooks
      where failures > 0 and failures >= ${openAfter} and is_active and disabled_reason is null`),
  )
  return [{ gauge: 'webhookCircuits', labels: {}, value: count }]
}
