import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { recordRevoked } from '../../identity/sessions/end-session.ts'
import { endSession } from '../../identity/sessions/store.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import type { Caller } from '../../request/caller.ts'
import { clientIdOf } from '../clients/client-id.ts'
import { forgetConsent } from '../consents.ts'
import { deleteGrant } from '../store.ts'
import { findGrant, type Whose } from './store.ts'

/**
 * Ends a grant with its codes and tokens, its session if it has one of its own, and the consent that the person gave to the
 * application. 404 if it is over, unknown or of others. It is recorded in the tenant of the application.
 */
export async function revokeGrant(
  { db, clock }: Deps,
  caller: Caller,
  whose: Whose,
  id: string,
): Promise<undefined> {
  const at = clock()
  await asSystem(db, 'a grant is of a person, in the tenant of an application', async (tx) => {
    const grant = await findGrant(tx, whose, id, at)
    const gone = grant && (await deleteGrant(tx, grant.grant_id))
    if (!gone) throw notFound()
    const { tenant_id: tenantId, client_id, user_id: userId } = gone
    const client = { tenantId, id: client_id }
    forgetConsent(tx, client, userId)
    const { session_id: sessionId } = grant
    const { requestId } = caller.requestInfo
    if (grant.has_own_session && (await endSession(tx, { id: sessionId, userId, reason: 'revoked', at })))
      await recordRevoked(tx, {
        userId,
        sessionIds: [sessionId],
        tenantId,
        actorId: caller.userId,
        requestId,
        at,
      })
    await appendEvent(tx, {
      ...causedBy({ ...caller, tenantId }, at),
      type: 'application.grant_revoked',
      subject: client_id,
      data: { client_id: clientIdOf(client), user_id: userId },
    })
    await appendAudit(tx, {
      ...doneBy({ ...caller, tenantId }, at),
      action: 'userId' in whose ? 'oauth_grant:revoke_own' : 'oauth_grant:revoke',
      target: { type: 'oauth_grant', id },
    })
  })
}
