import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvents } from '../../messages/outbox/append-event.ts'
import type { Caller, Connection } from '../../request/caller.ts'
import { type EndReason, endOldestSessions, endSession, endSessionsBy, endSessionsOf } from './store.ts'

interface Ended {
  userId: string
  sessionIds: readonly string[]
  /** The tenant that gets the event: that of the session which ended these. */
  tenantId: string
  /** The person by default; null if the service ended them. */
  actorId?: string | null
  requestId: string
  at: number
}

/** Appends an event for each ended session, in the transaction that ended it. */
export async function recordRevoked(
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

/** Ends one of the caller's sessions with all its tokens; 404 if it is over, unknown or another person's. */
export async function endOwnSession({ db, clock }: Deps, caller: Caller, id: string): Promise<undefined> {
  const at = clock()
  const { userId, sessionId: by, tokenTenantId: tenantId, requestInfo } = caller
  await asSystem(db, 'a session spans tenants', async (tx) => {
    if (!(await endSession(tx, { id, userId, by, reason: 'revoked', at }))) throw notFound()
    await recordRevoked(tx, { userId, sessionIds: [id], tenantId, requestId: requestInfo.requestId, at })
    const entry = { ...doneBy(caller, at), tenantId, action: 'session:delete' } as const
    await appendAudit(tx, { ...entry, target: { type: 'session', id } })
  })
}

/**
 * Ends a person's sessions except `exceptId`, with an event for each, and the sign-ins that wait for a second factor;
 * returns the number of sessions. As the system role.
 */
export async function endSessions(
  tx: Tx,
  sessions: Omit<Ended, 'sessionIds'> & { exceptId: string | null; reason: EndReason },
): Promise<number> {
  const sessionIds = await endSessionsOf(tx, sessions)
  await recordRevoked(tx, { ...sessions, sessionIds })
  return sessionIds.length
}

/** Ends the sessions by a connection of the caller's tenant, with an event for each, and the sign-ins that wait for a second factor. */
export async function endSessionsOfConnection(
  tx: Tx,
  { userId: actorId, requestInfo: { requestId } }: Caller,
  connection: Connection,
  at: number,
): Promise<void> {
  const ended = await endSessionsBy(tx, connection, at)
  const { tenantId } = connection
  await appendEvents(
    tx,
    { type: 'identity.session_revoked', tenantId, actorId, requestId, at },
    ended.map(({ id, user_id }) => ({ subject: user_id, data: { user_id, session_id: id } })),
  )
}

/** Sessions of grants do not count among those of a person's own sign-ins, and have a limit of their own. */
const maxGrantSessions = 1_000

/** Ends the oldest sessions of a person's grants beyond {@link maxGrantSessions}, with an event for each. As the system role. */
export async function endOldestGrants(tx: Tx, grants: Omit<Ended, 'sessionIds'>): Promise<void> {
  const { userId, at } = grants
  const sessionIds = await endOldestSessions(tx, { userId, ofGrants: true, kept: maxGrantSessions, at })
  await recordRevoked(tx, { ...grants, sessionIds })
}
