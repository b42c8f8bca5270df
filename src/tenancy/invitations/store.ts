import { z } from 'zod'
import { skippingLocked } from '../../database/claim-rows.ts'
import { addToCount, countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { ApiError } from '../../errors.ts'
import { byText, defineList, type Filter, type ListPage } from '../../lists/list.ts'
import { emailAddress } from '../../messages/mail/email-address.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { isOfSubject } from '../members/subject-store.ts'

export const invitationStatus = z.enum(['pending', 'accepted', 'cancelled', 'expired'])

const invitationRow = z.object({
  id: z.uuid(),
  email: z.string(),
  roles: z.array(z.string()),
  role_ids: z.array(z.uuid()),
  department_id: z.uuid().nullable(),
  external_id: z.string().nullable(),
  message: z.string(),
  status: invitationStatus,
  invited_by: z.uuid(),
  invited_by_email: z.string(),
  send_count: z.number(),
  created_at: z.number(),
  expires_at: z.number(),
  accepted_at: z.number().nullable(),
  accepted_by: z.uuid().nullable(),
  version: z.number(),
})

export type InvitationRow = z.infer<typeof invitationRow>

/** The status is computed from `expires_at`, so readers see an expired invitation before a worker marks it. */
const columns = (now: number) => sql.fragment`
  i.id, i.email, i.role_ids, i.department_id, i.external_id, i.message, i.invited_by, i.invited_by_email, i.send_count, i.created_at,
  i.expires_at, i.accepted_at, i.accepted_by, i.version,
  case when i.status = 'pending' and i.expires_at <= ${instant(now)} then 'expired' else i.status end as status,
  array(select r.name from roles r where r.tenant_id = i.tenant_id and r.id = any(i.role_ids)
        order by r.created_at, r.id) as roles`

const byStatus: Filter = {
  schema: z.enum(invitationStatus.options, `This has to be ${invitationStatus.options.join(' or ')}.`),
  where(status, { now }) {
    if (status === 'pending') return sql.fragment`(i.status = 'pending' and i.expires_at > ${instant(now)})`
    if (status !== 'expired') return sql.fragment`i.status = ${status}`
    return sql.fragment`(i.status = 'expired' or i.status = 'pending' and i.expires_at <= ${instant(now)})`
  },
}

const id = { column: sql.fragment`i.id`, field: 'id' }
const age = { column: sql.fragment`i.created_at`, field: 'created_at' }

/** The invitations of a tenant. */
export const invitationList = defineList({
  id,
  orderings: { created_at: age, email: { column: sql.fragment`i.email`, field: 'email' } },
  filters: { status: byStatus, email: byText(sql.fragment`i.email`, emailAddress) },
  search: [{ column: sql.fragment`i.email`, reveals: ['email'] }],
})

/** A page of the tenant's invitations. */
export function listInvitations(
  tx: Read,
  tenantId: string,
  page: ListPage,
  now: number,
): Promise<readonly InvitationRow[]> {
  return tx.any(sql.type(invitationRow)`
    select ${columns(now)} from invitations i where i.tenant_id = ${tenantId} ${page.tail}`)
}

/** Counts the invitations that match the filters. Without filters the count comes from `row_counts`. */
export function countInvitations(tx: Read, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(tx, tenantId, 'invitations')
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from invitations i where i.tenant_id = ${tenantId} ${page.conditions}`)
}

/** One invitation of the tenant, or null. */
export function findInvitation(
  tx: Read,
  tenantId: string,
  invitationId: string,
  now: number,
): Promise<InvitationRow | null> {
  return tx.maybeOne(sql.type(invitationRow)`
    select ${columns(now)} from invitations i where i.tenant_id = ${tenantId} and i.id = ${invitationId}`)
}

/** The invitations to one address that can be accepted now. */
export const ownInvitationList = defineList({ id, orderings: { created_at: age } })

const receivedRow = invitationRow.extend({
  tenant_id: z.uuid(),
  tenant_name: z.string(),
  tenant_slug: z.string(),
})

export type ReceivedRow = z.infer<typeof receivedRow>

/** `only`: the tenant that invitations are from, or null for any. */
type Invited = { email: string; only: string | null }

const received = ({ email, only }: Invited, now: number) => sql.fragment`
  from invitations i join tenants t on t.id = i.tenant_id and t.status = 'active' and t.deleted_at is null
  where i.email = ${email} and i.status = 'pending' and i.expires_at > ${instant(now)}
    and coalesce(${only}, i.tenant_id) = i.tenant_id`

/** A page of the invitations to an address, from all tenants or from `only` one. As the system role. */
export function listInvitationsTo(
  tx: Read,
  to: Invited,
  page: ListPage,
  now: number,
): Promise<readonly ReceivedRow[]> {
  return tx.any(sql.type(receivedRow)`
    select ${columns(now)}, t.id as tenant_id, t.name as tenant_name, t.slug as tenant_slug
    ${received(to, now)} ${page.tail}`)
}

/** Counts the invitations that {@link listInvitationsTo} lists on all pages. */
export function countInvitationsTo(tx: Read, to: Invited, page: ListPage, now: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) ${received(to, now)} ${page.conditions}`)
}

interface NewInvitation {
  tenantId: string
  id: string
  email: string
  tokenHash: Buffer
  roles: readonly { id: string; name: string }[]
  departmentId: string | null
  externalId: string | null
  /** The id that the membership gets; null for a new one. */
  membershipId: string | null
  message: string
  inviter: { id: string; email: string }
  at: number
  expiresAt: number
}

export const invitationPending = () =>
  new ApiError(
    409,
    'invitation_pending',
    'This address already has a pending invitation. Send that one again.',
  )

/** Inserts an invitation and gives it as it is now. The transaction can fail with 409 `invitation_pending`. */
export function insertInvitation(tx: Tx, invitation: NewInvitation): InvitationRow {
  const { tenantId, id, email, departmentId, externalId, membershipId, message, inviter, expiresAt } =
    invitation
  const role_ids = invitation.roles.map((role) => role.id)
  const at = instant(invitation.at)
  tx.later(
    sql.unsafe`
      insert into invitations (tenant_id, id, email, token_hash, role_ids, department_id, external_id, membership_id, message,
                               invited_by, invited_by_email, created_at, updated_at, expires_at)
      values (${tenantId}, ${id}, ${email}, ${sql.binary(invitation.tokenHash)}, ${sql.array(role_ids, 'uuid')},
              ${departmentId}, ${externalId}, ${membershipId}, ${message}, ${inviter.id}, ${inviter.email}, ${at}, ${at}, ${instant(expiresAt)})`,
    invitationPending,
  )
  addToCount(tx, tenantId, 'invitations')
  return {
    id,
    email,
    roles: invitation.roles.map((role) => role.name),
    role_ids,
    department_id: departmentId,
    external_id: externalId,
    message,
    status: 'pending',
    invited_by: inviter.id,
    invited_by_email: inviter.email,
    send_count: 1,
    created_at: invitation.at,
    expires_at: expiresAt,
    accepted_at: null,
    accepted_by: null,
    version: 1,
  }
}

/** Counts the invitations of the tenant that can be accepted now. Reliable only while the tenant is locked. */
export function countPending(tx: Tx, tenantId: string, now: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from invitations i
    where i.tenant_id = ${tenantId} and i.status = 'pending' and i.expires_at > ${instant(now)}`)
}

/** Before a department is deleted: the tenant's invitations lead into no department. The department has to be locked. */
export function forgetDepartment(tx: Tx, tenantId: string, id: string): void {
  tx.later(sql.unsafe`
    update invitations set department_id = null, version = version + 1
    where tenant_id = ${tenantId} and department_id = ${id}`)
}

/** Whether a member of the tenant has this address, and proved it: members can claim addresses that are not theirs. */
export function isMemberAddress(tx: Tx, tenantId: string, email: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from memberships m where m.tenant_id = ${tenantId} and m.email = ${email} and m.email_verified`)
}

/** Marks an overdue invitation to an address as expired, so that a new one can be made; returns its id, or null. */
export function expireOverdue(tx: Tx, tenantId: string, email: string, now: number): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(idRow)`
    update invitations set status = 'expired', version = version + 1, updated_at = ${instant(now)}
    where tenant_id = ${tenantId} and email = ${email} and status = 'pending' and expires_at <= ${instant(now)}
    returning id`)
}

const expiredRow = z.object({ tenant_id: z.uuid(), id: z.uuid() })

/** Marks up to `limit` overdue invitations of any tenant as expired and returns them. As the worker role. */
export function expireSome(
  tx: Tx,
  now: number,
  limit: number,
): Promise<readonly z.infer<typeof expiredRow>[]> {
  return tx.any(sql.type(expiredRow)`
    with due as (
      select tenant_id, id from invitations where status = 'pending' and expires_at <= ${instant(now)}
      order by expires_at limit ${limit} ${skippingLocked(tx)})
    update invitations i set status = 'expired', version = i.version + 1, updated_at = ${instant(now)}
    from due where i.tenant_id = due.tenant_id and i.id = due.id and i.status = 'pending'
    returning i.tenant_id, i.id`)
}

/** Cancels an invitation that can still be accepted; else false. */
export async function cancelPending(tx: Tx, tenantId: string, invitationId: string, now: number) {
  const cancelled = await tx.maybeOne(sql.type(idRow)`
    update invitations set status = 'cancelled', version = version + 1, updated_at = ${instant(now)}
    where tenant_id = ${tenantId} and id = ${invitationId} and status = 'pending' and expires_at > ${instant(now)}
    returning id`)
  return cancelled !== null
}

/** Cancels the invitation to an address that can still be accepted; returns its id, or null. */
export function cancelPendingTo(
  tx: Tx,
  tenantId: string,
  email: string,
  now: number,
): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(idRow)`
    update invitations set status = 'cancelled', version = version + 1, updated_at = ${instant(now)}
    where tenant_id = ${tenantId} and email = ${email} and status = 'pending' and expires_at > ${instant(now)}
    returning id`)
}

interface Renewal {
  tenantId: string
  id: string
  tokenHash: Buffer
  at: number
  expiresAt: number
}

/** Gives a pending or expired invitation a new token and expiry; else false. */
export async function renewInvitation(tx: Tx, renewal: Renewal): Promise<boolean> {
  const renewed = await tx.maybeOne(sql.type(idRow)`
    update invitations set status = 'pending', version = version + 1, token_hash = ${sql.binary(renewal.tokenHash)}, send_count = send_count + 1,
      expires_at = ${instant(renewal.expiresAt)}, updated_at = ${instant(renewal.at)}
    where tenant_id = ${renewal.tenantId} and id = ${renewal.id} and status in ('pending', 'expired') returning id`)
  return renewed !== null
}

/** Whether another invitation to the address is pending. Reliable only while the tenant is locked. */
export function hasOtherPending(tx: Tx, tenantId: string, email: string, exceptId: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from invitations i where i.tenant_id = ${tenantId} and i.email = ${email} and i.status = 'pending'
      and i.id <> ${exceptId}`)
}

const erased = z.object({ tenant_id: z.uuid(), id: z.uuid(), was_pending: z.boolean() })

/**
 * Deletes every invitation to these addresses and those that the person accepted; returns them. As the system role.
 */
export async function deleteInvitationsTo(
  tx: Tx,
  { emails, userId }: { emails: readonly string[]; userId: string },
): Promise<readonly z.infer<typeof erased>[]> {
  const addresses = sql.array(emails, 'text')
  const gone = await tx.any(sql.type(erased)`
    delete from invitations where (md5(email) = any(array(select md5(e) from unnest(${addresses}) e)) and email = any(${addresses})) or (accepted_by = ${userId} and tenant_id in (
      select tenant_id from memberships where user_id = ${userId}))
    returning tenant_id, id, status = 'pending' as was_pending`)
  const byTenant = Object.groupBy(gone, ({ tenant_id }) => tenant_id)
  // In one order, since two erasures could otherwise wait for each other.
  for (const tenantId of Object.keys(byTenant).sort())
    addToCount(tx, tenantId, 'invitations', -byTenant[tenantId]!.length)
  return gone
}

const offerRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  email: z.string(),
  send_count: z.number(),
  status: invitationStatus,
  expires_at: z.number(),
  tenant_status: z.enum(['active', 'suspended', 'archived']),
  tenant_deleted: z.boolean(),
  tenant_name: z.string(),
  tenant_slug: z.string(),
  allowed_email_domains: z.array(z.string()),
})

/** The invitation of a token, with its tenant. */
export type Offer = z.infer<typeof offerRow>

const offers = sql.fragment`
  select i.tenant_id, i.id, i.email, i.send_count, i.status, i.expires_at, t.status as tenant_status,
         t.deleted_at is not null as tenant_deleted, t.name as tenant_name, t.slug as tenant_slug,
         coalesce(t.settings -> 'allowed_email_domains', '[]') as allowed_email_domains
  from invitations i join tenants t on t.id = i.tenant_id`

/** Finds the invitation of a token, in any status. As the system role. */
export const findOffer = (tx: Tx, tokenHash: Buffer): Promise<Offer | null> =>
  tx.maybeOne(sql.type(offerRow)`${offers} where i.token_hash = ${sql.binary(tokenHash)}`)

/** Finds an invitation to this address, in any status. As the system role. */
export const findOfferTo = (tx: Tx, email: string, id: string): Promise<Offer | null> =>
  tx.maybeOne(sql.type(offerRow)`
    ${offers} where md5(i.email) = md5(${email}) and i.email = ${email} and i.id = ${id}`)

const acceptedRow = z.object({
  role_ids: z.array(z.uuid()),
  department_id: z.uuid().nullable(),
  external_id: z.string().nullable(),
  membership_id: z.uuid().nullable(),
  invited_by: z.uuid(),
  created_at: z.number(),
})

/** What an accepted invitation gives, and who gives it. */
export type Accepted = z.infer<typeof acceptedRow>

/**
 * Accepts a pending invitation if `sendCount` still names its newest mail, it has not expired and the tenant is active.
 * Of concurrent attempts one gets the row, the others null.
 */
export function markAccepted(
  tx: Tx,
  accepted: { tenantId: string; id: string; sendCount: number; userId: string; at: number },
): Promise<Accepted | null> {
  const at = instant(accepted.at)
  return tx.maybeOne(sql.type(acceptedRow)`
    update invitations set status = 'accepted', version = version + 1, accepted_at = ${at}, accepted_by = ${accepted.userId}, updated_at = ${at}
    where tenant_id = ${accepted.tenantId} and id = ${accepted.id} and status = 'pending' and expires_at > ${at}
      and send_count = ${accepted.sendCount}
      and exists (select 1 from tenants t where t.id = ${accepted.tenantId} and t.status = 'active' and t.deleted_at is null)
    returning role_ids, department_id, external_id, membership_id, invited_by, created_at`)
}

const inviterRow = z.object({
  systemRoles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

/** The roles and permissions of an active member; null for all others. */
export function findInviter(
  tx: Tx,
  tenantId: string,
  userId: string,
): Promise<z.infer<typeof inviterRow> | null> {
  return tx.maybeOne(sql.type(inviterRow)`
    select coalesce(array_agg(distinct r.name) filter (where r.is_system), '{}') as "systemRoles",
           coalesce(array_agg(distinct p) filter (where p is not null), '{}') as permissions
    from memberships m
    join membership_roles mr on mr.tenant_id = m.tenant_id and mr.membership_id = m.id
    join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    left join lateral unnest(r.permissions) p on true
    where m.tenant_id = ${tenantId} and ${isOfSubject(userId)} and m.status = 'active' and m.is_active is not false
    group by m.id`)
}

const lockedRole = z.object({
  id: z.uuid(),
  name: z.string(),
  permissions: z.array(z.string()),
  is_system: z.boolean(),
})

/** Finds the roles that still exist and locks them until the transaction ends. */
export function lockRolesById(
  tx: Tx,
  tenantId: string,
  ids: readonly string[],
): Promise<readonly z.infer<typeof lockedRole>[]> {
  return tx.any(sql.type(lockedRole)`
    select id, name, permissions, is_system from roles
    where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')}) order by created_at, id for share`)
}
