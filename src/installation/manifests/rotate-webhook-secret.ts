import type { Sealer } from '../../crypto/seal.ts'
import { asSystem, type Databases } from '../../database/executor/transaction.ts'
import { managedSecretContext, newSecret } from '../../events/webhooks/webhook-secret.ts'
import { type ManifestWebhook, replaceWebhookSecret } from './store.ts'

const day = 86_400_000

/** Gives a webhook of a manifest a new secret; both sign for 24 hours. Null if the manifest has no such webhook. */
export async function rotateWebhookSecret(
  { db, clock, sealer }: { db: Pick<Databases, 'system'>; clock: () => number; sealer: Sealer },
  webhook: ManifestWebhook,
): Promise<{ secret: string; until: number } | null> {
  const { secret, sealed } = newSecret(sealer, managedSecretContext(webhook.application, webhook.key))
  const until = clock() + day
  const replaced = await asSystem(db, 'manifests belong to no tenant', (tx) =>
    replaceWebhookSecret(tx, { ...webhook, sealed, until }),
  )
  return replaced ? { secret, until } : null
}
