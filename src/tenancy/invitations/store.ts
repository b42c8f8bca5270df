import { z } from 'zod'
import { countRows } from '../../platform/db/count-rows.ts'
import { byText, defineList, type Filter, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { emailAddress } from '../../platform/email-address.ts'

export const invitationStatus = z.enum(['pending', 'accepted', 'cancelled', 'expired'])

const invitationRow = z.object({
  id: z.uuid(),
  email: z.string(),
  roles: z.array(z.string()),
  role_ids: z.array(z.uuid()),
  department_id: z.uuid().nullable(),
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

const moment = (ms: number) => sql.timestamp(new Date(ms))
const idRow = z.object({ id: z.uuid() })

/** Whoever reads later sees that the time is over, worker or not. */
const columns = (now: number) => sql.fragment`
  i.id, i.email, i.role_ids, i.department_id, i.message, i.invited_by, i.invited_by_email, i.send_count, i.created_at,
  i.expires_at, i.accepted_at, i.accepted_by, i.version,
  case when i.status = 'pending' and i.expires_at <= ${moment(now)} then 'expired' else i.status end as status,
  array(select r.name from roles r where r.tenant_id = i.tenant_id and r.id = any(i.role_ids)
        order by r.created_at, r.id) as roles`

const byStatus: Filter = {
  schema: z.enum(invitationStatus.options, `This has to be ${invitationStatus.options.join(' or ')}.`),
  where(status, now) {
    if (status === 'pending') return sql.fragment`(i.status = 'pending' and i.expires_at > ${moment(now)})`
    if (status !== 'expired') return sql.fragment`i.status = ${status}`
    return sql.fragment`(i.status = 'expired' or i.status = 'pending' and i.expires_at <= ${moment(now)})`
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
  tx: Tx,
  tenantId: string,
  page: ListPage,
  now: number,
): Promise<readonly InvitationRow[]> {
  return tx.any(sql.type(invitationRow)`
    select ${columns(now)} from invitations i where i.tenant_id = ${tenantId} ${page.tail}`)
}

/** How many invitations the filters leave; all of them from the counter. */
export function countInvitations(tx: Tx, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(tx, tenantId, 'invitations')
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from invitations i where i.tenant_id = ${tenantId} ${page.conditions}`)
}

/** One invitation of the tenant, or null. */
export function findInvitation(
  tx: Tx,
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

const received = (email: string, now: number) => sql.fragment`
  from invitations i join tenants t on t.id = i.tenant_id and t.status = 'active' and t.deleted_at is null
  where i.email = ${email} and i.status = 'pending' and i.expires_at > ${moment(now)}`

/** A page of the invitations to an address, from whatever tenants; as the system role. */
export function listInvitationsTo(
  tx: Tx,
  email: string,
  page: ListPage,
  now: number,
): Promise<readonly ReceivedRow[]> {
  return tx.any(sql.type(receivedRow)`
    select ${columns(now)}, t.id as tenant_id, t.name as tenant_name, t.slug as tenant_slug
    ${received(email, now)} ${page.tail}`)
}

/** How many `listInvitationsTo` lists in all. */
export function countInvitationsTo(tx: Tx, email: string, page: ListPage, now: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) ${received(email, now)} ${page.conditions}`)
}

interface NewInvitation {
  tenantId: string
  id: string
  email: string
  tokenHash: Buffer
  roleIds: readonly string[]
  departmentId: string | null
  message: string
  inviter: { id: string; email: string }
  at: number
  expiresAt: number
}

/** Inserts an invitation; false when one to the address is pending. */
export async function insertInvitation(tx: Tx, invitation: NewInvitation): Promise<boolean> {
  const { tenantId, email, inviter } = invitation
  const at = moment(invitation.at)
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into invitations (tenant_id, id, email, token_hash, role_ids, department_id, message, invited_by,
                             invited_by_email, created_at, updated_at, expires_at)
    values (${tenantId}, ${invitation.id}, ${email}, ${sql.binary(invitation.tokenHash)},
            ${sql.array(invitation.roleIds, 'uuid')}, ${invitation.departmentId}, ${invitation.message}, ${inviter.id},
            ${inviter.email}, ${at}, ${at}, ${moment(invitation.expiresAt)})
    on conflict (tenant_id, email) where status = 'pending' do nothing returning id`)
  return inserted !== null
}

/** Invitations of the tenant that can be accepted now; certain while the tenant is locked. */
export function countPending(tx: Tx, tenantId: string, now: number): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from invitations i
    where i.tenant_id = ${tenantId} and i.status = 'pending' and i.expires_at > ${moment(now)}`)
}

/** Whether a member of the tenant has the address. */
export function isMemberAddress(tx: Tx, tenantId: string, email: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from memberships m where m.tenant_id = ${tenantId} and m.email = ${email}`)
}

/** Marks the invitation to an address that has run out, so that another can be made; gives its id, once. */
export function expireOverdue(tx: Tx, tenantId: string, email: string, now: number): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(idRow)`
    update invitations set status = 'expired', updated_at = ${moment(now)}
    where tenant_id = ${tenantId} and email = ${email} and status = 'pending' and expires_at <= ${moment(now)}
    returning id`)
}

const expiredRow = z.object({ tenant_id: z.uuid(), id: z.uuid() })

/** Marks up to `limit` invitations of any tenant that have run out; gives each once; as the worker. */
export function expireSome(
  tx: Tx,
  now: number,
  limit: number,
): Promise<readonly z.infer<typeof expiredRow>[]> {
  return tx.any(sql.type(expiredRow)`
    with due as (
      select tenant_id, id from invitations where status = 'pending' and expires_at <= ${moment(now)}
      order by expires_at limit ${limit} for update skip locked)
    update invitations i set status = 'expired', updated_at = ${moment(now)}
    from due where i.tenant_id = due.tenant_id and i.id = due.id returning i.tenant_id, i.id`)
}

/** Cancels an invitation that can still be accepted; false otherwise. */
export async function cancelPending(tx: Tx, tenantId: string, invitationId: string, now: number) {
  const cancelled = await tx.maybeOne(sql.type(idRow)`
    update invitations set status = 'cancelled', updated_at = ${moment(now)}
    where tenant_id = ${tenantId} and id = ${invitationId} and status = 'pending' and expires_at > ${moment(now)}
    returning id`)
  return cancelled !== null
}

/** Cancels the invitation to an address that can still be accepted; gives its id, or null. */
export function cancelPendingTo(
  tx: Tx,
  tenantId: string,
  email: string,
  now: number,
): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(idRow)`
    update invitations set status = 'cancelled', updated_at = ${moment(now)}
    where tenant_id = ${tenantId} and email = ${email} and status = 'pending' and expires_at > ${moment(now)}
    returning id`)
}

interface Renewal {
  tenantId: string
  id: string
  tokenHash: Buffer
  at: number
  expiresAt: number
}

/** Gives an invitation that is pending or expired another token and time; false otherwise. */
export async function renewInvitation(tx: Tx, renewal: Renewal): Promise<boolean> {
  const renewed = await tx.maybeOne(sql.type(idRow)`
    update invitations set status = 'pending', token_hash = ${sql.binary(renewal.tokenHash)}, send_count = send_count + 1,
      expires_at = ${moment(renewal.expiresAt)}, updated_at = ${moment(renewal.at)}
    where tenant_id = ${renewal.tenantId} and id = ${renewal.id} and status in ('pending', 'expired') returning id`)
  return renewed !== null
}

/** Whether another invitation to the address is pending; certain while the tenant is locked. */
export function hasOtherPending(tx: Tx, tenantId: string, email: string, exceptId: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from invitations i where i.tenant_id = ${tenantId} and i.email = ${email} and i.status = 'pending'
      and i.id <> ${exceptId}`)
}

const erased = z.object({ tenant_id: z.uuid(), id: z.uuid(), was_pending: z.boolean() })

/**
 * Deletes the invitations that a person accepted, and every one to an address (null: to none); gives them. As the
 * system role.
 */
export function deleteInvitationsTo(
  tx: Tx,
  { email, userId }: { email: string | null; userId: string },
): Promise<readonly z.infer<typeof erased>[]> {
  return tx.any(sql.type(erased)`
    delete from invitations where (md5(email) = md5(${email}::text) and email = ${email}::text) or (accepted_by = ${userId} and tenant_id in (
      select tenant_id from memberships where user_id = ${userId}))
    returning tenant_id, id, status = 'pending' as was_pending`)
}
