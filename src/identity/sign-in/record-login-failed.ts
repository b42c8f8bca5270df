import type { Tx } from '../../database/executor/transaction.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'

/**
 * Appends the event to the person's oldest tenant, without an actor: the caller has not proved who they are. False for a
 * person without a tenant. As the system role.
 */
export async function recordLoginFailed(
  tx: Tx,
  { userId, requestId, at }: { userId: string; requestId: string; at: number },
): Promise<boolean> {
  const tenantId = await findFirstTenantOf(tx, userId)
  if (!tenantId) return false
  const event = {
    type: 'identity.login_failed',
    tenantId,
    subject: userId,
    data: { user_id: userId },
  } as const
  await appendEvent(tx, { ...event, actorId: null, requestId, at })
  return true
}
