import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { growPolicyRevision } from '../../tenancy/tenants/store.ts'
import { readPolicy } from './read-policy.ts'
import { deletePolicy } from './store.ts'

/** Deletes a policy, which counts for nothing from the next request on; its versions stay to explain the past. */
export async function removePolicy(deps: Deps, actor: Actor, id: string): Promise<void> {
  const { tenantId, userId, origin } = actor
  await readPolicy(deps, actor, id)
  const at = deps.clock()
  await inTenant(deps.db, actor, async (tx) => {
    await growPolicyRevision(tx, tenantId)
    const version = await deletePolicy(tx, tenantId, id)
    if (version === null) throw notFound()
    await appendEvent(tx, {
      type: 'authorization.policy_deleted',
      tenantId,
      subject: id,
      data: { policy_id: id, version },
      actorId: userId,
      requestId: origin.requestId,
      at,
    })
  })
}
