import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { sessionRevoked } from '../../platform/errors.ts'
import { sessionsEnded } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { listMembershipsOf, recordEntry } from '../../tenancy/members/store.ts'
import { assertEnterable, isOverIn } from '../sessions/enter-tenant.ts'
import { beginFamily, issueTokens, renewFamily, type TokenPair } from '../sessions/issue-tokens.ts'
import { findSession, lockSession } from '../sessions/refresh-store.ts'
import { isChallenge, otpRequired, settleSecondFactor, signChallenge } from '../sessions/second-factor.ts'

/**
 * A new pair for another tenant under the same session; the old pair goes on working for its own. For the tenant of
 * the caller's token it is the next pair in place of theirs. 403
 * `no_active_membership` alike for a tenant that is unknown and one the caller does not belong to; 401
 * `otp_required` with a temporary token for one that requires a second factor this session has not shown.
 */
export async function switchTenant(deps: Deps, caller: Caller, tenantId: string): Promise<TokenPair> {
  const now = deps.clock()
  const { userId, sessionId, familyId } = caller
  const outcome = await asSystem(deps.db, 'the target is not the tenant of the request', async (tx) => {
    const session = await findSession(tx, sessionId, now)
    if (!session || session.over) throw sessionRevoked()
    const place = (await listMembershipsOf(tx, userId)).find((p) => p.tenant_id === tenantId)
    assertEnterable(place)
    if (isOverIn(place, session.created_at)) throw sessionsEnded()
    const { email, acr, amr, auth_time: authTime, expires_at: expiresAt } = session
    const tenantRequires = place.requires_mfa
    const entry = { userId, tenantId, tenantRequires, session: { id: sessionId, acr }, authTime }
    const settled = await settleSecondFactor(deps, tx, entry, now)
    if (isChallenge(settled)) return settled
    if (!(await lockSession(tx, { id: sessionId, at: now }))) throw sessionRevoked()
    await recordEntry(tx, { tenantId, userId, at: now })
    await appendAudit(tx, {
      ...doneBy(caller, now),
      tenantId,
      action: 'session:switch',
      target: { type: 'session', id: sessionId },
    })
    const { roles } = place
    const entitled = { sessionId, userId, email, tenantId, roles, acr, amr, authTime, expiresAt, settled }
    const stays = familyId !== null && tenantId === caller.tokenTenantId
    const renewed = stays ? await renewFamily(deps, tx, familyId, entitled, now) : null
    return renewed ?? beginFamily(deps, tx, entitled, now)
  })
  if (isChallenge(outcome)) throw otpRequired(await signChallenge(deps, outcome, now))
  return issueTokens(deps, outcome, now)
}
