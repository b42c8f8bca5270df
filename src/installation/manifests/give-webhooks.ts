import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import {
  changeWebhook,
  deleteWebhook,
  insertManagedWebhook,
  listManagedWebhooks,
  type WebhookRow,
} from '../../events/webhooks/store.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { ManagedWebhook } from './compile-manifest.ts'
import type { InstalledRules } from './store.ts'

/** The webhooks of a tenant to write (`current` is null for new ones), and those that no manifest has any more. */
export interface WebhookPlan {
  written: { application: string; wanted: ManagedWebhook; current: WebhookRow | null }[]
  removed: WebhookRow[]
}

/** Compares the webhooks that a tenant has from manifests with the manifests. */
export async function planWebhooks(
  tx: Tx,
  tenantId: string,
  { manifests }: InstalledRules,
): Promise<WebhookPlan> {
  const rows = await listManagedWebhooks(tx, tenantId)
  const wanted = manifests.flatMap(({ application, compiled }) =>
    compiled.webhooks.map((wanted) => ({
      application,
      wanted,
      current:
        rows.find(({ managed_by, managed_as }) => managed_by === application && managed_as === wanted.key) ??
        null,
    })),
  )
  const kept = new Set(wanted.map(({ current }) => current?.id))
  return {
    written: wanted.filter(({ wanted, current }) => !current || !isSame(current, wanted)),
    removed: rows.filter(({ id }) => !kept.has(id)),
  }
}

const isSame = (row: WebhookRow, { url, description, event_types }: ManagedWebhook) =>
  isDeepStrictEqual([row.url, row.description, [...row.event_types]], [url, description, event_types])

/** Carries out a plan. `at` in ms since 1970. */
export async function writeWebhooks(
  tx: Tx,
  { tenantId, at }: { tenantId: string; at: number },
  { written, removed }: WebhookPlan,
): Promise<void> {
  await Promise.all(removed.map(({ id }) => deleteWebhook(tx, tenantId, id)))
  const write = async ({ application, wanted, current }: (typeof written)[number]) => {
    const { key, ...fields } = wanted
    const row = { ...fields, tenantId, id: current?.id ?? timeOrderedId(at), at }
    if (current) await changeWebhook(tx, { ...row, is_active: true, reopen: false })
    else await insertManagedWebhook(tx, { ...row, managed_by: application, managed_as: key })
  }
  await Promise.all(written.map(write))
}
