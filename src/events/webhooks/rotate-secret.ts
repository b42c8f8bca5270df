import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { newSecret } from './new-secret.ts'
import { permitWebhook } from './permit-webhook.ts'
import { holdWebhook, replaceSecret } from './store.ts'

/** How long both secrets sign. */
const overlap = 24 * 3_600_000

/** Gives a webhook a new secret, told this once; the one before signs, too, for 24 hours, and any older one no more. */
export async function rotateSecret({ db, clock, sealer }: Deps, caller: Caller, id: string) {
  const { tenantId } = caller
  const at = clock()
  const { secret, sealed } = newSecret(sealer, tenantId, id)
  await inTenant(db, caller, async (tx) => {
    permitWebhook(caller, await holdWebhook(tx, tenantId, id))
    await replaceSecret(tx, { tenantId, id, secretSealed: sealed, until: at + overlap })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: 'webhook:rotate',
      target: { type: 'webhook', id },
    })
  })
  return { secret, previous_secret_expires_at: rfc3339(at + overlap) }
}
