import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { endSessions, recordRevoked } from '../sessions/end-session.ts'
import { endSession } from '../sessions/store.ts'

/** Ends the caller's session: its access and refresh tokens stop working at once, in every tenant. */
export async function logout({ db, clock }: Deps, caller: Caller): Promise<void> {
  const at = clock()
  const { sessionId, userId, tokenTenantId: tenantId, requestInfo } = caller
  await asSystem(db, 'a session spans tenants', async (tx) => {
    if (!(await endSession(tx, { id: sessionId, userId, reason: 'logout', at }))) return
    await recordRevoked(tx, {
      userId,
      sessionIds: [sessionId],
      tenantId,
      requestId: requestInfo.requestId,
      at,
    })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      tenantId,
      action: 'session:logout',
      target: { type: 'session', id: sessionId },
    })
  })
}

/** Ends every session of the caller, this one included. */
export async function logoutAll({ db, clock }: Deps, caller: Caller): Promise<void> {
  const at = clock()
  const { userId, tokenTenantId: tenantId, requestInfo } = caller
  const { requestId } = requestInfo
  await asSystem(db, 'a session spans tenants', async (tx) => {
    await endSessions(tx, { userId, exceptId: null, reason: 'logout', tenantId, requestId, at })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      tenantId,
      action: 'session:logout',
      target: { type: 'user', id: userId },
    })
  })
}
