import type { Deps } from '../../deps.ts'
import { appendAudit, doneBy } from '../../platform/audit/append-audit.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { sessionRevoked } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { listPlacesOf, noteEntry } from '../../tenancy/members/store.ts'
import { assertEnterable } from '../sessions/enter-tenant.ts'
import { beginFamily, issueTokens, type TokenPair } from '../sessions/issue-tokens.ts'
import { findSession } from '../sessions/refresh-store.ts'

/**
 * A new pair for another tenant under the same session; the old pair goes on working for its own. 403
 * `no_active_membership` alike for a tenant that is unknown and one the caller does not belong to.
 */
export async function switchTenant(deps: Deps, actor: Actor, tenantId: string): Promise<TokenPair> {
  const now = deps.clock()
  const { userId, sessionId } = actor
  const grant = await asSystem(deps.db, 'the target is not the tenant of the request', async (tx) => {
    const session = await findSession(tx, sessionId, now)
    if (!session || session.over) throw sessionRevoked()
    const place = (await listPlacesOf(tx, userId)).find((p) => p.tenant_id === tenantId)
    assertEnterable(place)
    await noteEntry(tx, { tenantId, userId, at: now })
    await appendAudit(tx, {
      ...doneBy(actor, now),
      tenantId,
      action: 'session:switch',
      target: { type: 'session', id: sessionId },
    })
    const { email, acr, amr, auth_time: authTime, expires_at: expiresAt } = session
    const entitled = { sessionId, userId, email, tenantId, roles: place.roles, acr, amr, authTime, expiresAt }
    return beginFamily(deps, tx, entitled, now)
  })
  return issueTokens(deps, grant, now)
}
