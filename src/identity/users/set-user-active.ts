import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { accountLinks, endTokensOf } from '../../messages/links/link-store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { hasActiveOwner, listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { endSessionsOf } from '../sessions/store.ts'
import { findPersonBy, setActive } from './store.ts'

/** The result: `ownerless` are the slugs of tenants that no longer have an active owner. */
export interface ActiveSet {
  user: { id: string; email: string; is_active: boolean }
  changed: boolean
  sessionsEnded: number
  ownerless: string[]
}

/**
 * Activates or deactivates a person, for an operator; null if there is no such person. Deactivating ends every session
 * and every link that opens the account at once; no session can begin while the person is inactive. Adds a row to the audit log of each of
 * their tenants, and an event to the first. Does nothing if the person has this state already.
 */
export function setUserActive(
  { db, clock }: Pick<Deps, 'clock'> & { db: Pick<Deps['db'], 'system'> },
  requestInfo: RequestInfo,
  { person, active }: { person: { email: string } | { id: string }; active: boolean },
): Promise<ActiveSet | null> {
  const at = clock()
  return asSystem(db, 'an account belongs to all tenants of its person', async (tx) => {
    const user = await findPersonBy(tx, person)
    if (!user) return null
    const { id, email } = user
    const shown = { id, email, is_active: active }
    if (!(await setActive(tx, { id, active, at })))
      return { user: shown, changed: false, sessionsEnded: 0, ownerless: [] }
    const memberships = await listMembershipsOf(tx, id)
    const change = { id, active, requestInfo, at }
    for (const { tenant_id } of memberships) await audit(tx, tenant_id, change)
    const first = await findFirstTenantOf(tx, id)
    if (first) await recordUpdated(tx, first, change)
    const sessionsEnded = active ? 0 : await endEverySession(tx, id, memberships, requestInfo, at)
    return {
      user: shown,
      changed: true,
      sessionsEnded,
      ownerless: active ? [] : await ownerlessOf(tx, memberships),
    }
  })
}

interface Change {
  id: string
  active: boolean
  requestInfo: RequestInfo
  at: number
}

async function recordUpdated(tx: Tx, tenantId: string, { id, requestInfo, at }: Change): Promise<void> {
  const { requestId } = requestInfo
  const event = { tenantId, subject: id, data: { user_id: id }, actorId: null, requestId, at }
  await appendEvent(tx, { ...event, type: 'identity.user_updated' })
}

async function audit(tx: Tx, tenantId: string, { id, active, requestInfo, at }: Change): Promise<void> {
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: active ? 'user:activate' : 'user:deactivate',
    target: { type: 'user', id },
    changes: { is_active: { before: !active, after: active } },
    at,
  })
}

/** Ends every session and every link that opens the account; returns the number of sessions. Events need a tenant: without one there are none. */
async function endEverySession(
  tx: Tx,
  userId: string,
  memberships: readonly Membership[],
  requestInfo: RequestInfo,
  at: number,
) {
  await endTokensOf(tx, { userId, purposes: accountLinks, at })
  const { requestId } = requestInfo
  const sessions = { userId, exceptId: null, reason: 'deactivated', actorId: null, requestId, at } as const
  const [home] = memberships
  return home
    ? endSessions(tx, { ...sessions, tenantId: home.tenant_id })
    : (await endSessionsOf(tx, sessions)).length
}

async function ownerlessOf(tx: Tx, memberships: readonly Membership[]): Promise<string[]> {
  const ownerless: string[] = []
  for (const { tenant_id, tenant_slug, is_owner } of memberships)
    if (is_owner && !(await hasActiveOwner(tx, tenant_id))) ownerless.push(tenant_slug)
  return ownerless
}
