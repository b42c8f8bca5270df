import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { type Membership, recordEntry } from '../../tenancy/members/store.ts'
import { placeOf, recordSignIn } from '../rate-limits/record-sign-in.ts'
import { findSignInHistory } from '../rate-limits/store.ts'
import { recordRevoked } from '../sessions/end-session.ts'
import { endOldestSessions, insertSession } from '../sessions/store.ts'
import { acrOf, beginFamily, type Grant } from './issue-tokens.ts'
import type { SecondFactorSettled } from './second-factor.ts'

// Without a limit, a person who knows the password could open more sessions than one request can end.
const maxSessions = 1_000

interface Opening {
  userId: string
  email: string
  membership: Membership
  amr: readonly string[]
  /** Both times are in ms since 1970. */
  authTime: number
  secondFactorAt: number | null
  settled: SecondFactorSettled
  history: SignInHistory
}

/** What a person's earlier sign-ins mean for the next one. */
export interface SignInHistory {
  /** The address and device are those of an earlier sign-in. */
  isKnownPlace: boolean
  hasMaxSessions: boolean
}

/** Reads the history before the sign-in writes, so that all its writes go out with the commit. As the system role. */
export const readSignInHistory = (tx: Tx, userId: string, requestInfo: RequestInfo): Promise<SignInHistory> =>
  findSignInHistory(tx, { userId, maxSessions, ...placeOf(requestInfo) })

/** Opens a session in a tenant that its person can enter: the row, the event, the first tokens. As the system role. */
export async function openSession(
  deps: Deps,
  tx: Tx,
  opening: Opening,
  requestInfo: RequestInfo,
  now: number,
): Promise<Grant> {
  const { userId, membership } = opening
  const sessionId = timeOrderedId(now)
  const tenantId = membership.tenant_id
  const expiresAt = now + deps.config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1000
  const entitled = { ...opening, sessionId, tenantId, roles: membership.roles, expiresAt }
  const { userAgent, ip, requestId } = requestInfo
  await insertSession(tx, { ...entitled, id: sessionId, acr: acrOf(entitled), at: now, userAgent, ip })
  const { email, history } = opening
  if (history.hasMaxSessions) {
    const sessionIds = await endOldestSessions(tx, { userId, kept: maxSessions, at: now })
    await recordRevoked(tx, { userId, sessionIds, tenantId, requestId, at: now })
  }
  const { isKnownPlace } = history
  await recordSignIn(deps, tx, { userId, tenantId, requestInfo, isKnownPlace, at: now })
  await recordEntry(tx, { tenantId, userId, at: now })
  const data = { user_id: userId, session_id: sessionId }
  const type = 'identity.login_succeeded'
  await appendEvent(tx, { type, tenantId, subject: userId, data, actorId: userId, requestId, at: now })
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email },
    requestInfo,
    action: 'session:create',
    target: { type: 'session', id: sessionId },
    at: now,
  })
  return beginFamily(deps, tx, entitled, now)
}
