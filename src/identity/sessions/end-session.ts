import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import { notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { appendEvents } from '../../platform/outbox/append-event.ts'
import { endPendingSessions } from './pending-store.ts'
import { type EndReason, endSession, endSessionsOf } from './store.ts'

interface Ended {
  userId: string
  sessionIds: readonly string[]
  /** To which tenant the event goes: that of the session from which it was ended. */
  tenantId: string
  /** Null where the service ended it by itself; the person unless given. */
  actorId?: string | null
  requestId: string
  at: number
}

/** Tells of each session that was ended, in the transaction that did it. */
export async function tellRevoked(
  tx: Tx,
  { userId, sessionIds, tenantId, actorId = userId, requestId, at }: Ended,
): Promise<void> {
  if (sessionIds.length === 0) return
  await appendEvents(
    tx,
    { type: 'identity.session_revoked', tenantId, actorId, requestId, at },
    sessionIds.map((id) => ({ subject: userId, data: { user_id: userId, session_id: id } })),
  )
}

/** Ends a session of the caller's, with every token of it; 404 for one that is over, unknown or somebody else's. */
export async function endOwnSession({ db, clock }: Deps, caller: Caller, id: string): Promise<undefined> {
  const at = clock()
  const { userId, tokenTenantId: tenantId, requestInfo } = caller
  await asSystem(db, 'a session spans tenants', async (tx) => {
    if (!(await endSession(tx, { id, userId, reason: 'revoked', at }))) throw notFound()
    await tellRevoked(tx, { userId, sessionIds: [id], tenantId, requestId: requestInfo.requestId, at })
    const deed = { ...doneBy(caller, at), tenantId, action: 'session:delete' } as const
    await appendAudit(tx, { ...deed, target: { type: 'session', id } })
  })
}

/**
 * Ends a person's sessions but one, with an event for each, and sign-ins that wait for a second factor; gives how
 * many sessions. As the system role.
 */
export async function endSessions(
  tx: Tx,
  sessions: Omit<Ended, 'sessionIds'> & { exceptId: string | null; reason: EndReason },
): Promise<number> {
  await endPendingSessions(tx, sessions)
  const sessionIds = await endSessionsOf(tx, sessions)
  await tellRevoked(tx, { ...sessions, sessionIds })
  return sessionIds.length
}
