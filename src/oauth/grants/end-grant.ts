import type { Tx } from '../../database/executor/transaction.ts'
import { recordRevoked } from '../../identity/sessions/end-session.ts'
import { endSession } from '../../identity/sessions/store.ts'
import { deleteGrant } from '../../messages/logouts/store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { type ClientKey, clientIdOf } from '../clients/client-id.ts'

interface Ending {
  /** As the library names it. */
  grantId: string
  type: 'application.grant_revoked' | 'application.token_replayed'
  /** null: the application ended it, or the service did. */
  actorId: string | null
  requestId: string
  traceparent?: string | undefined
  /** ms since 1970 */
  at: number
}

/**
 * Ends a grant with its codes and tokens, and its session if it has one of its own. Gives its client and person; null if
 * it is over. As the system role.
 */
export async function endGrant(
  tx: Tx,
  { grantId, ...cause }: Ending,
): Promise<{ client: ClientKey; userId: string } | null> {
  const gone = await deleteGrant(tx, grantId, cause.at)
  if (!gone) return null
  const { tenant_id: tenantId, client_id: id, user_id: userId, session_id: sessionId } = gone
  const client = { tenantId, id }
  const reason = cause.type === 'application.token_replayed' ? 'replay' : 'revoked'
  if (await endSession(tx, { id: sessionId, userId, kind: 'grant', reason, at: cause.at }))
    await recordRevoked(tx, { ...cause, userId, sessionIds: [sessionId], tenantId })
  const data = { client_id: clientIdOf(client), user_id: userId }
  await appendEvent(tx, { ...cause, tenantId, subject: id, data })
  return { client, userId }
}
