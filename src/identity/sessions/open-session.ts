import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { type Membership, recordEntry } from '../../tenancy/members/store.ts'
import { noteSignIn } from '../rate-limits/note-sign-in.ts'
import { tellRevoked } from './end-session.ts'
import { beginFamily, type Grant } from './issue-tokens.ts'
import type { SecondFactorSettled } from './second-factor.ts'
import { endOldestSessions, insertSession } from './store.ts'

// Whoever has the password could else pile up more than can be ended in the time of one request.
const most = 1_000

interface Opening {
  userId: string
  email: string
  place: Membership
  amr: readonly string[]
  /** ms since 1970, both */
  authTime: number
  secondFactorAt: number | null
  settled: SecondFactorSettled
}

/** Begins a session in a place that admits its person: its row, its event, its first tokens; as the system role. */
export async function openSession(
  deps: Deps,
  tx: Tx,
  opening: Opening,
  requestInfo: RequestInfo,
  now: number,
): Promise<Grant> {
  const { userId, place, secondFactorAt } = opening
  const sessionId = timeOrderedId(now)
  const tenantId = place.tenant_id
  const expiresAt = now + deps.config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1000
  const acr = secondFactorAt === null ? 'aal1' : 'aal2'
  const entitled = { ...opening, sessionId, tenantId, roles: place.roles, acr, expiresAt } as const
  const { userAgent, ip, requestId } = requestInfo
  await insertSession(tx, { ...entitled, id: sessionId, at: now, userAgent, ip })
  const sessionIds = await endOldestSessions(tx, { userId, most, at: now })
  await tellRevoked(tx, { userId, sessionIds, tenantId, requestId, at: now })
  await recordEntry(tx, { tenantId, userId, at: now })
  const data = { user_id: userId, session_id: sessionId }
  const type = 'identity.login_succeeded'
  await appendEvent(tx, { type, tenantId, subject: userId, data, actorId: userId, requestId, at: now })
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email: opening.email },
    requestInfo,
    action: 'session:create',
    target: { type: 'session', id: sessionId },
    at: now,
  })
  await noteSignIn(deps, tx, { userId, email: opening.email, tenantId, requestInfo, at: now })
  return beginFamily(deps, tx, entitled, now)
}
