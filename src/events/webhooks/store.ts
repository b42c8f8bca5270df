import { z } from 'zod'
import { countRows } from '../../platform/db/count-rows.ts'
import { defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

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
})

export type WebhookRow = z.infer<typeof webhookRow>

const columns = sql.fragment`
  id, url, description, event_types, is_active, disabled_reason, created_at, updated_at, last_success_at,
  last_failure_at, version`

/** The webhooks of a tenant. */
export const webhookList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of the tenant's webhooks. */
export function listWebhooks(tx: Tx, tenantId: string, page: ListPage): Promise<readonly WebhookRow[]> {
  return tx.any(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} ${page.tail}`)
}

/** How many webhooks of the tenant the filters leave; all of them from the counter. */
export function countListed(tx: Tx, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countWebhooks(tx, tenantId)
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from webhooks where tenant_id = ${tenantId} ${page.conditions}`)
}

/** How many webhooks the tenant has; certain once the transaction has inserted one, which holds the counter. */
export const countWebhooks = (tx: Tx, tenantId: string): Promise<number> =>
  countRows(tx, tenantId, 'webhooks')

/** One webhook of the tenant, or null. */
export function findWebhook(tx: Tx, tenantId: string, id: string): Promise<WebhookRow | null> {
  return tx.maybeOne(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} and id = ${id}`)
}

/** As findWebhook, and nobody else changes it until the transaction ends. */
export function holdWebhook(tx: Tx, tenantId: string, id: string): Promise<WebhookRow | null> {
  return tx.maybeOne(sql.type(webhookRow)`
    select ${columns} from webhooks where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** A webhook as its tenant describes it; `at` in ms since 1970. */
interface Described {
  tenantId: string
  id: string
  url: string
  description: string
  event_types: readonly string[]
  is_active: boolean
  at: number
}

/** Inserts a webhook with its sealed secret. */
export async function insertWebhook(tx: Tx, webhook: Described & { secretSealed: Buffer }): Promise<void> {
  const at = sql.timestamp(new Date(webhook.at))
  await tx.query(sql.unsafe`
    insert into webhooks (tenant_id, id, url, description, event_types, is_active, secret_sealed, created_at, updated_at)
    values (${webhook.tenantId}, ${webhook.id}, ${webhook.url}, ${webhook.description},
            ${sql.array(webhook.event_types, 'text')}, ${webhook.is_active}, ${sql.binary(webhook.secretSealed)},
            ${at}, ${at})`)
}

/** Changes a webhook, and opens it where it was disabled and `reopen` says so; false where it is so already. */
export async function changeWebhook(tx: Tx, webhook: Described & { reopen: boolean }): Promise<boolean> {
  const types = sql.array(webhook.event_types, 'text')
  const reason = sql.fragment`case when ${webhook.reopen} then null else disabled_reason end`
  const changed = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update webhooks set url = ${webhook.url}, description = ${webhook.description}, event_types = ${types},
                        is_active = ${webhook.is_active}, disabled_reason = ${reason},
                        updated_at = ${sql.timestamp(new Date(webhook.at))}
    where tenant_id = ${webhook.tenantId} and id = ${webhook.id}
      and (url, description, event_types, is_active, disabled_reason)
          is distinct from (${webhook.url}, ${webhook.description}, ${types}, ${webhook.is_active}, ${reason})
    returning id`)
  return changed !== null
}

/** Puts a new secret, sealed, in the place of the present one, which goes on to sign until `until` (ms since 1970). */
export async function replaceSecret(
  tx: Tx,
  webhook: { tenantId: string; id: string; secretSealed: Buffer; until: number },
): Promise<void> {
  await tx.query(sql.unsafe`
    update webhooks set previous_secret_sealed = secret_sealed,
                        previous_secret_expires_at = ${sql.timestamp(new Date(webhook.until))},
                        secret_sealed = ${sql.binary(webhook.secretSealed)}
    where tenant_id = ${webhook.tenantId} and id = ${webhook.id}`)
}

/** Deletes a webhook; its deliveries are seen by nobody from then on, and go later. */
export async function deleteWebhook(tx: Tx, tenantId: string, id: string): Promise<void> {
  await tx.query(sql.unsafe`delete from webhooks where tenant_id = ${tenantId} and id = ${id}`)
}
