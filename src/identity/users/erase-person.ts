import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { unavailable } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { deleteInvitationsTo } from '../../tenancy/invitations/store.ts'
import { listMembershipsToEnd, type MembershipToEnd } from '../../tenancy/members/store.ts'
import { eraseTenants, lockTenantsOf } from '../../tenancy/tenants/store.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { deletePerson, holdPerson, insertErasure } from './erase-store.ts'

/** A person whose row, and whose tenants, nobody else changes until the transaction ends. */
export interface HeldPerson {
  id: string
  email: string
  memberships: readonly MembershipToEnd[]
}

/** Holds a person and their tenants; null: gone, 503 `overloaded`: a member of another tenant since. As the system role. */
export async function holdPersonWithTenants(tx: Tx, id: string): Promise<HeldPerson | null> {
  // Tenants come before people, as wherever both are locked.
  const locked = new Set(await lockTenantsOf(tx, id))
  const email = await holdPerson(tx, id)
  if (email === null) return null
  const memberships = await listMembershipsToEnd(tx, id)
  if (memberships.some(({ tenant_id }) => !locked.has(tenant_id)))
    throw unavailable('overloaded', 'They joined a tenant just now. Try again.', 1)
  return { id, email, memberships }
}

/** The tenants with other members that would have no owner without this person. */
export const tenantsOwnedAlone = ({ memberships }: HeldPerson): MembershipToEnd[] =>
  memberships.filter((b) => b.is_owner && b.has_others && !b.has_other_owner && !b.is_deleted)

/** Who erases: the person, an operator, or the reader of the mailbox that the account claims. */
export type ErasedBy = 'oneself' | 'operator' | 'mailbox'

interface Deed {
  by: ErasedBy
  requestInfo: RequestInfo
  at: number
}

/**
 * Erases a held person: the account with its memberships, sessions, factors, links and places, and tenants that nobody
 * else belongs to; gives their slugs, and how many other tenants the person leaves. Invitations to the address go, too,
 * unless its mailbox is another person's. What the logs of other tenants keep is scrubbed down to the id by the actor
 * retention. As the system role.
 */
export async function erasePerson(
  tx: Tx,
  { id, email, memberships }: HeldPerson,
  deed: Deed,
): Promise<{ tenantsDeleted: string[]; tenantsLeft: number }> {
  const { by, at } = deed
  const gone = memberships.filter(({ has_others }) => !has_others)
  const left = memberships.filter(({ has_others, is_deleted }) => has_others && !is_deleted)
  const invitations = await deleteInvitationsTo(tx, { email: by === 'mailbox' ? null : email, userId: id })
  for (const membership of left) await recordLeaving(tx, id, deed, membership)
  for (const { tenant_id, id: invitation } of invitations.filter(({ was_pending }) => was_pending))
    await recordEvent(tx, id, deed, {
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
  await insertErasure(tx, { userId: id, email, tenantIds: [...new Set(tenantIds)], targetIds, at })
  await deletePerson(tx, id)
  return { tenantsDeleted: gone.map(({ slug }) => slug), tenantsLeft: left.length }
}

/** Tells of people who were erased, once it is committed: after a restore of a backup they are erased again. */
export function logErased({ log }: Pick<Deps, 'log'>, ids: readonly string[]): void {
  for (const id of ids) log.info({ user_id: id }, 'a person was erased')
}

type NewEvent = Parameters<typeof appendEvent>[1]

/** An event without the person's address, or where they called from. */
const recordEvent = (
  tx: Tx,
  id: string,
  { by, requestInfo, at }: Deed,
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
  deed: Deed,
  { tenant_id: tenantId, membership_id }: MembershipToEnd,
) {
  const { by, requestInfo, at } = deed
  await recordEvent(tx, id, deed, {
    type: 'tenant.member_removed',
    tenantId,
    subject: membership_id,
    data: { membership_id, user_id: id },
  })
  await recordEvent(tx, id, deed, {
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
