import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

const keyRow = z.object({ key: z.string() })

/** Identifies a webhook of a manifest. */
export interface ManifestWebhook {
  application: string
  key: string
}

/** Stores the sealed secret of a webhook that has none; false if it has one. `at` in ms since 1970. As the system role. */
export async function insertWebhookSecret(
  tx: Tx,
  { application, key, sealed, at }: ManifestWebhook & { sealed: Buffer; at: number },
): Promise<boolean> {
  const inserted = await tx.maybeOne(sql.type(keyRow)`
    insert into manifest_webhooks (application, key, secret_sealed, created_at)
    values (${application}, ${key}, ${sql.binary(sealed)}, ${instant(at)})
    on conflict (application, key) do nothing returning key`)
  return inserted !== null
}

/** Replaces the secret of a webhook; the previous one also signs until `until` (ms since 1970). False if there is none. */
export async function replaceWebhookSecret(
  tx: Tx,
  { application, key, sealed, until }: ManifestWebhook & { sealed: Buffer; until: number },
): Promise<boolean> {
  const replaced = await tx.maybeOne(sql.type(keyRow)`
    update manifest_webhooks set previous_secret_sealed = secret_sealed,
      previous_secret_expires_at = ${instant(until)}, secret_sealed = ${sql.binary(sealed)}
    where application = ${application} and key = ${key} returning key`)
  return replaced !== null
}
