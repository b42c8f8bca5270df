import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { unavailable } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import { endGrantsOf } from '../../messages/logouts/store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { deleteInvitationsTo } from '../../tenancy/invitations/store.ts'
import { detachErased, listMembershipsToEnd, type MembershipToEnd } from '../../tenancy/members/store.ts'
import { eraseTenants, lockTenantsOf } from '../../tenancy/tenants/store.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { listProvenAddresses } from './address-store.ts'
import { deletePerson, insertErasure, lockUser } from './store.ts'

/** A person whose row and tenants are locked until the transaction ends. */
export interface LockedPerson {
  id: string
  email: string
  memberships: readonly MembershipToEnd[]
}

/** Locks a person and their tenants; null if gone, 503 `overloaded` if they just joined a tenant. As the system role. */
export async function lockPersonWithTenants(tx: Tx, id: string): Promise<LockedPerson | null> {
  // Lock tenants before people, as everywhere: the opposite order would deadlock.
  const locked = new Set(await lockTenantsOf(tx, id))
  const user = await lockUser(tx, id)
  if (!user) return null
  const memberships = await listMembershipsToEnd(tx, id)
  if (memberships.some(({ tenant_id }) => !locked.has(tenant_id)))
    throw unavailable('overloaded', 'They joined a tenant just now. Try again.', 1)
  return { id, email: user.email, memberships }
}

/** The tenants with other members that would have no owner without this person. */
export const tenantsOwnedAlone = ({ memberships }: LockedPerson): MembershipToEnd[] =>
  memberships.filter((b) => b.is_owner && b.has_others && !b.has_other_owner && !b.is_deleted)

/** Who erases the person: they themselves, an operator, or the reader of the mailbox that the account claims. */
type ErasedBy = 'oneself' | 'operator' | 'mailbox'

interface Erasure {
  by: ErasedBy
  requestInfo: RequestInfo
  at: number
}

/**
 * Erases a locked person: the account with its memberships, sessions, factors, links and sign-in places, and the tenants
 * without other members; returns the slugs of these, and the number of other tenants that the person leaves. Deletes
 * invitations to the addresses that the account has proved. The worker `retention` scrubs the logs of other tenants down
 * to the id, and removes these addresses from them. Other addresses are of other people, who read their mailboxes. As the
 * system role.
 */
export async function erasePerson(
  tx: Tx,
  { id, email, memberships }: LockedPerson,
  erasure: Erasure,
): Promise<{ tenantsDeleted: string[]; tenantsLeft: number }> {
  const { at } = erasure
  const gone = memberships.filter(({ has_others }) => !has_others)
  const left = memberships.filter(({ has_others, is_deleted }) => has_others && !is_deleted)
  const emails = await listProvenAddresses(tx, id)
  const invitations = await deleteInvitationsTo(tx, { emails, userId: id })
  for (const membership of left) await recordLeaving(tx, id, erasure, membership)
  for (const { tenant_id, id: invitation } of invitations.filter(({ was_pending }) => was_pending))
    await recordEvent(tx, id, erasure, {
      type: 'tenant.invitation_cancelled',
      tenantId: tenant_id,
      subject: invitation,
      data: { invitation_id: invitation },
    })
  await eraseTenants(
    tx,
    gone.map(({ tenant_id }) => tenant_id),
    at,
  )
  await clearAttempts(tx, accountKey(email))
  const tenantIds = [...memberships, ...invitations].map(({ tenant_id }) => tenant_id)
  const targetIds = [
    id,
    ...memberships.map(({ membership_id }) => membership_id),
    ...invitations.map((invitation) => invitation.id),
    ...gone.map(({ tenant_id }) => tenant_id),
  ]
  await insertErasure(tx, { userId: id, emails, tenantIds: [...new Set(tenantIds)], targetIds, at })
  for (const { tenant_id } of memberships) detachErased(tx, { tenantId: tenant_id, userId: id })
  await endGrantsOf(tx, { userId: id }, at)
  await deletePerson(tx, id)
  return { tenantsDeleted: gone.map(({ slug }) => slug), tenantsLeft: left.length }
}

/** Logs erased people, after the commit: after a restore from a backup, an operator erases them again by this log. */
export function logErased({ log }: Pick<Deps, 'log'>, ids: readonly string[]): void {
  for (const id of ids) log.info({ user_id: id }, 'a person was erased')
}

type NewEvent = Parameters<typeof appendEvent>[1]

/** Appends an event without the person's address or IP address. */
const recordEvent = (
  tx: Tx,
  id: string,
  { by, requestInfo, at }: Erasure,
  event: Pick<NewEvent, 'type' | 'tenantId' | 'subject' | 'data'>,
) =>
  appendEvent(tx, {
    ...event,
    actorId: by === 'oneself' ? id : null,
    requestId: requestInfo.requestId,
    at,
  } as NewEvent)

const auditedAs = {
  oneself: 'profile:delete',
  operator: 'user:erase',
  mailbox: 'email_verification:reject',
} as const

async function recordLeaving(
  tx: Tx,
  id: string,
  erasure: Erasure,
  { tenant_id: tenantId, membership_id }: MembershipToEnd,
) {
  const { by, requestInfo, at } = erasure
  await recordEvent(tx, id, erasure, {
    type: 'tenant.member_removed',
    tenantId,
    subject: membership_id,
    data: { membership_id, user_id: id },
  })
  await recordEvent(tx, id, erasure, {
    type: 'identity.user_deleted',
    tenantId,
    subject: id,
    data: { user_id: id },
  })
  await appendAudit(tx, {
    tenantId,
    actor: by === 'oneself' ? { id, email: null } : null,
    requestInfo: { requestId: requestInfo.requestId, ip: '', userAgent: '' },
    action: auditedAs[by],
    target: { type: 'user', id },
    at,
  })
}
