import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { endSession } from '../sessions/store.ts'

/** Ends the caller's session: its access and refresh tokens are dead at once, in every tenant. */
export async function logout({ db, clock }: Deps, actor: Actor): Promise<void> {
  const at = clock()
  const { sessionId, userId, tokenTenantId, origin } = actor
  await asSystem(db, 'a session spans tenants', async (tx) => {
    if (!(await endSession(tx, { id: sessionId, userId, reason: 'logout', at }))) return
    await appendEvent(tx, {
      type: 'identity.session_revoked',
      tenantId: tokenTenantId,
      subject: userId,
      data: { user_id: userId, session_id: sessionId },
      actorId: userId,
      requestId: origin.requestId,
      at,
    })
    await appendAudit(tx, {
      ...doneBy(actor, at),
      tenantId: tokenTenantId,
      action: 'session:logout',
      target: { type: 'session', id: sessionId },
    })
  })
}
