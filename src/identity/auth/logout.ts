import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditRow, appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { endSessions, recordRevoked } from '../sessions/end-session.ts'
import { endSession } from '../sessions/store.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { countWaysIn } from '../users/store.ts'

/** Ends the caller's session: its access and refresh tokens stop working at once, in every tenant. */
export async function logout({ db, clock }: Deps, caller: Caller): Promise<void> {
  const { sessionId, userId, tokenTenantId: tenantId } = caller
  const session = { ...doneBy(caller, clock()), sessionId, userId, tenantId }
  await asSystem(db, 'a session spans tenants', (tx) => endByLogout(tx, session))
}

type Logout = Pick<AuditRow, 'tenantId' | 'actor' | 'decisionId' | 'at'> & {
  sessionId: string
  userId: string
  requestInfo: RequestInfo
}

/** Ends a session as its person does by logging out. As the system role. */
export async function endByLogout(tx: Tx, { sessionId, userId, ...done }: Logout): Promise<void> {
  const { tenantId, requestInfo, at } = done
  if (!(await endSession(tx, { id: sessionId, userId, reason: 'logout', at }))) return
  const { requestId } = requestInfo
  await recordRevoked(tx, { userId, sessionIds: [sessionId], tenantId, requestId, at })
  await appendAudit(tx, { ...done, action: 'session:logout', target: { type: 'session', id: sessionId } })
}

/** What the audit row of a change says if it also revoked the person's API keys. */
export const revoking = (keys: boolean) =>
  keys ? { changes: { api_keys: { before: null, after: 'revoked' } } } : {}

/**
 * Ends every session of the caller, this one included, and on request revokes their API keys. A mail names what still
 * opens the account.
 */
export async function logoutAll(
  { db, clock, sealer }: Deps,
  caller: Caller,
  revokeKeys: boolean,
): Promise<void> {
  const at = clock()
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const { requestId } = requestInfo
  await asSystem(db, 'a session spans tenants', async (tx) => {
    await endSessions(tx, { userId, exceptId: null, reason: 'logout', tenantId, requestId, at })
    if (revokeKeys) revokeKeysOf(tx, { userId, at })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      tenantId,
      action: 'session:logout',
      target: { type: 'user', id: userId },
      ...revoking(revokeKeys),
    })
    const { firstName } = auth.user
    const variables = { firstName, keysRevoked: revokeKeys, ...(await countWaysIn(tx, userId, at)) }
    await notifyPerson(tx, sealer, userId, {
      tenantId,
      template: 'sessions_ended',
      variables,
      requestInfo,
      at,
    })
  })
}
