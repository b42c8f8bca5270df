import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { endTokens } from '../../platform/links/link-store.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { hasActiveOwner, listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { endSessions } from '../sessions/end-session.ts'
import { endSessionsOf } from '../sessions/store.ts'
import { findUser, findUserByEmail, setActive } from './store.ts'

/** How an account was switched: `ownerless` are slugs of tenants that have no active owner any more. */
export interface Switched {
  user: { id: string; email: string; is_active: boolean }
  changed: boolean
  sessionsEnded: number
  ownerless: string[]
}

/**
 * Switches a person's account off or on, for an operator; null where there is nobody. Off: every session ends at
 * once, and so do reset tokens; nothing else opens one while it is off. The audit log of each tenant they belong to
 * tells it, and an event the first of these. Nothing happens where it is so already.
 */
export function setUserActive(
  { db, clock }: Pick<Deps, 'clock'> & { db: Pick<Deps['db'], 'system'> },
  requestInfo: RequestInfo,
  { person, active }: { person: { email: string } | { id: string }; active: boolean },
): Promise<Switched | null> {
  const at = clock()
  return asSystem(db, 'an account is of all tenants of its person', async (tx) => {
    const user = 'id' in person ? await findUser(tx, person.id) : await findUserByEmail(tx, person.email)
    if (!user) return null
    const { id, email } = user
    const shown = { id, email, is_active: active }
    if (!(await setActive(tx, { id, active, at })))
      return { user: shown, changed: false, sessionsEnded: 0, ownerless: [] }
    const memberships = await listMembershipsOf(tx, id)
    const deed = { id, active, requestInfo, at }
    for (const { tenant_id } of memberships) await audit(tx, tenant_id, deed)
    const first = await findFirstTenantOf(tx, id)
    if (first) await tell(tx, first, deed)
    const sessionsEnded = active ? 0 : await shutOut(tx, id, memberships, requestInfo, at)
    return {
      user: shown,
      changed: true,
      sessionsEnded,
      ownerless: active ? [] : await ownerlessOf(tx, memberships),
    }
  })
}

interface Deed {
  id: string
  active: boolean
  requestInfo: RequestInfo
  at: number
}

async function tell(tx: Tx, tenantId: string, { id, requestInfo, at }: Deed): Promise<void> {
  const { requestId } = requestInfo
  const event = { tenantId, subject: id, data: { user_id: id }, actorId: null, requestId, at }
  await appendEvent(tx, { ...event, type: 'identity.user_updated' })
}

async function audit(tx: Tx, tenantId: string, { id, active, requestInfo, at }: Deed): Promise<void> {
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

/** Ends every session, and what could open one; gives how many. Events belong to a tenant: with none, none is told. */
async function shutOut(
  tx: Tx,
  userId: string,
  memberships: readonly Membership[],
  requestInfo: RequestInfo,
  at: number,
) {
  await endTokens(tx, { purpose: 'password_reset', userId, targetId: null, at })
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
