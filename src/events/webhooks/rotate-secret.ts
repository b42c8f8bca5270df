import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import type { Caller } from '../../request/caller.ts'
import { replaceSecret, type WebhookRow } from './store.ts'
import { newSecret, secretContext } from './webhook-secret.ts'

/** ms for which both secrets sign. */
const overlap = 24 * 3_600_000

/** Gives a webhook a new secret, shown only once. The previous one also signs for 24 hours; older ones stop signing. */
export async function rotateSecret(tx: Tx, { clock, sealer }: Deps, caller: Caller, { id }: WebhookRow) {
  const { tenantId } = caller
  const at = clock()
  const { secret, sealed } = newSecret(sealer, secretContext(tenantId, id))
  await replaceSecret(tx, { tenantId, id, secretSealed: sealed, until: at + overlap })
  await appendAudit(tx, { ...doneBy(caller, at), action: 'webhook:rotate', target: { type: 'webhook', id } })
  return { secret, previous_secret_expires_at: rfc3339(at + overlap) }
}
