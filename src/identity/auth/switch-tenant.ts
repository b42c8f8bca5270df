import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError, sessionRevoked } from '../../platform/errors.ts'
import { sessionsEnded } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { recordEntry } from '../../tenancy/members/store.ts'
import { enterable, isOverIn } from '../sessions/enter-tenant.ts'
import { findFamily } from '../sessions/family-store.ts'
import { addFamily, issueTokens, renewFamily, type TokenPair } from '../sessions/issue-tokens.ts'
import { checkSecondFactor, isChallenge, otpRequired, signChallenge } from '../sessions/second-factor.ts'
import { findSession, lockSession } from '../sessions/store.ts'
import { readStanding } from './refresh.ts'

/**
 * New tokens for another tenant under the same session; the old tokens remain valid for their own tenant. For the
 * tenant of the caller's token, the new tokens replace the old ones. 403 `no_active_membership` both for an unknown
 * tenant and for one that the caller does not belong to; 401 `otp_required` with a temporary token if the tenant
 * requires a second factor that this session has not shown.
 */
export async function switchTenant(deps: Deps, caller: Caller, tenantId: string): Promise<TokenPair> {
  const now = deps.clock()
  const { userId, sessionId, familyId } = caller
  const outcome = await asSystem(deps.db, 'the target is not the tenant of the request', async (tx) => {
    const stays = familyId !== null && tenantId === caller.tokenTenantId
    // One round trip. The lock goes first, so that the chain is read behind it.
    const [locked, session, { memberships, factors }, family] = await Promise.all([
      lockSession(tx, { id: sessionId, at: now }),
      findSession(tx, sessionId, now),
      readStanding(tx, userId, now),
      stays ? findFamily(tx, familyId) : null,
    ])
    if (!locked || !session || session.over || !factors) return sessionRevoked()
    const membership = enterable(memberships.find((found) => found.tenant_id === tenantId))
    if (membership instanceof ApiError) return membership
    if (isOverIn(membership, session.created_at)) return sessionsEnded()
    const { email, acr, amr, auth_time: authTime, expires_at: expiresAt } = session
    const tenantRequires = membership.requires_mfa
    const entry = { userId, tenantId, tenantRequires, session: { id: sessionId, acr }, amr, authTime }
    const settled = await checkSecondFactor(deps, tx, entry, factors, now)
    if (settled instanceof ApiError || isChallenge(settled)) return settled
    await recordEntry(tx, { tenantId, userId, at: now })
    await appendAudit(tx, {
      ...doneBy(caller, now),
      tenantId,
      action: 'session:switch',
      target: { type: 'session', id: sessionId },
    })
    const { roles } = membership
    const entitled = { sessionId, userId, email, tenantId, roles, acr, amr, authTime, expiresAt, settled }
    const renewed = family && (await renewFamily(deps, tx, family, entitled, now))
    return renewed ?? addFamily(deps, tx, entitled, now)
  })
  if (outcome instanceof ApiError) throw outcome
  if (isChallenge(outcome)) throw otpRequired(await signChallenge(deps, outcome, now))
  return issueTokens(deps, outcome, now)
}
