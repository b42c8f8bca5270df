import { z } from 'zod'
import { addToCount, deleteCounted } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { forgetMember } from '../../database/isolation/member-references.ts'
import { willName } from '../../database/locks.ts'
import { isFromBefore } from '../../database/proven-address.ts'
import { endGrantsOfMember } from '../../messages/logouts/store.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { dataTypes } from '../../policy-engine/compile/conditions.ts'
import { giveByRules } from './given-store.ts'
import { findWaiting } from './held-store.ts'
import { addPersonMemberships, deletePersonMembership, lockPerson, type Person } from './person-store.ts'
import { addRoles, giveRoles } from './roles-store.ts'

const ownedRow = z.object({ owned: z.boolean() })

export const memberKinds = ['user', 'service_account'] as const

export const memberRow = z.object({
  id: z.uuid(),
  kind: z.enum(memberKinds),
  user_id: z.uuid().nullable(),
  external_id: z.string().nullable(),
  email: z.string(),
  email_verified: z.boolean(),
  first_name: z.string(),
  last_name: z.string(),
  is_active: z.boolean().nullable(),
  roles: z.array(z.string()),
  department_id: z.uuid().nullable(),
  manager_id: z.uuid().nullable(),
  status: z.enum(['active', 'suspended']),
  attributes: z.record(z.string(), z.unknown()),
  joined_at: z.number(),
  updated_at: z.number(),
  version: z.number(),
})

/** A member. A service account has neither `user_id` nor `is_active`, and its name is in `first_name`. */
export type MemberRow = z.infer<typeof memberRow>

/** The columns of a MemberRow, of memberships `m`. */
export const memberColumns = (tenantId: string) => sql.fragment`
  m.id, m.kind, m.user_id, m.external_id, m.email, m.email_verified, m.first_name, m.last_name, m.is_active,
  m.department_id, m.manager_id, m.status, m.attributes,
  m.joined_at, m.updated_at, m.version + m.person_version as version,
  array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
        where mr.tenant_id = ${tenantId} and mr.membership_id = m.id order by r.created_at, r.id) as roles`

interface NewMember {
  /** Null: that of the User of a directory that waits for the person, else a new one. */
  id: string | null
  tenantId: string
  userId: string
  departmentId: string | null
  managerId?: string | null
  roleIds: readonly string[]
  attributes?: Record<string, unknown> | undefined
  /** Whether the person accepts an invitation, which proves their address; else they may not know of the tenant. */
  accepts?: boolean
  at: number
}

/**
 * Inserts a membership with its roles and gives its id; null when the person is already a member. One for whom a User of a directory waits
 * has its `external_id`, and is suspended if the directory sent the User as inactive. Without `known` the person is that of the
 * scope, who is locked. A person who was read before, as the system role, can have changed or be erased since: it waits for that, and
 * then fails with the SQL state 23503.
 */
export async function insertMember(tx: Tx, member: NewMember, known?: Person): Promise<string | null> {
  const { tenantId, userId, departmentId, managerId = null, roleIds, attributes = {}, accepts } = member
  const at = instant(member.at)
  if (known) willName(tx, userId)
  const person = known ?? (await lockPerson(tx, userId))
  const isOpen = member.id === null && (accepts === true || person.emailVerified)
  const waiting = isOpen ? await findWaiting(tx, tenantId, person.email) : null
  const id = member.id ?? waiting?.id ?? timeOrderedId(member.at)
  const isHeld = waiting?.active === false
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into memberships (tenant_id, id, user_id, email, first_name, last_name, is_active, email_verified, date_joined,
                             person_version, department_id, manager_id, attributes, external_id, status,
                             suspended_by_directory, accepted_at, joined_at, updated_at)
    values (${tenantId}, ${id}, ${userId}, ${person.email}, ${person.firstName}, ${person.lastName}, ${person.isActive},
            ${person.emailVerified}, ${instant(person.dateJoined)}, ${person.version}, ${departmentId}, ${managerId},
            ${sql.jsonb(attributes as never)}, ${waiting?.external_id ?? null}, ${isHeld ? 'suspended' : 'active'}, ${isHeld},
            ${instant(accepts ? member.at : null)}, ${at}, ${at})
    on conflict (tenant_id, user_id) do nothing returning id`)
  if (!inserted) return null
  addPersonMemberships(tx, tenantId, [userId])
  addToCount(tx, tenantId, 'memberships')
  giveRoles(tx, tenantId, [{ memberId: id, roleIds }])
  if (member.id ?? waiting) await giveByRules(tx, tenantId, id)
  return id
}

interface RaisedMember {
  tenantId: string
  userId: string
  roleIds: readonly string[]
  /** Null keeps the department. */
  departmentId: string | null
  /** Only a membership that began by then, in ms since 1970. */
  joinedBy: number
  at: number
}

/** Gives an active member, who accepts an invitation, further roles and a department; returns the id of the membership, or null if there is no such. */
export async function raiseMember(tx: Tx, member: RaisedMember): Promise<string | null> {
  const { tenantId, userId, roleIds, departmentId, joinedBy, at } = member
  const id = await tx.maybeOneFirst(sql.type(idRow)`
    update memberships set department_id = coalesce(${departmentId}, department_id), accepted_at = ${instant(at)},
                           version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and user_id = ${userId} and status = 'active'
      and joined_at <= ${instant(joinedBy)}
    returning id`)
  if (id !== null) addRoles(tx, { tenantId, memberId: id, roleIds })
  return id
}

/** One member of the tenant, or null. */
export function findMember(tx: Read, tenantId: string, memberId: string): Promise<MemberRow | null> {
  return tx.maybeOne(sql.type(memberRow)`
    select ${memberColumns(tenantId)} from memberships m
    where m.tenant_id = ${tenantId} and m.id = ${memberId}`)
}

/** Locks a member against every change until the transaction ends. */
export function lockMember(tx: Tx, tenantId: string, id: string): void {
  tx.later(sql.unsafe`
    select 1 from memberships where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** Locks a member against removal until the transaction ends; false if the user is not a member. */
export async function lockMemberShared(tx: Tx, tenantId: string, userId: string): Promise<boolean> {
  const locked = await tx.maybeOne(sql.type(idRow)`
    select id from memberships where tenant_id = ${tenantId} and user_id = ${userId} for key share`)
  return locked !== null
}

interface MemberChange {
  tenantId: string
  id: string
  status: 'active' | 'suspended'
  attributes: Record<string, unknown>
  departmentId: string | null
  managerId: string | null
  /** A directory suspends the member. Without it the change is that of a person, or of no status. */
  byDirectory?: boolean
  at: number
}

/** Updates a membership. The caller has locked the tenant. */
export function changeMember(tx: Tx, member: MemberChange): void {
  const { tenantId, id, status, departmentId, managerId, attributes, byDirectory = false, at } = member
  tx.later(sql.unsafe`
    update memberships set status = ${status}, department_id = ${departmentId}, manager_id = ${managerId},
                           attributes = ${sql.jsonb(attributes as never)}, version = version + 1,
                           suspended_by_directory = ${status === 'suspended'} and (${byDirectory} or (status = 'suspended' and suspended_by_directory)),
                           updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/**
 * Ends the sessions that a member has at `at`, in this tenant only. False if the member has not entered the tenant since they
 * were ended before.
 */
export async function endSessionsOfMember(
  tx: Tx,
  member: { tenantId: string; id: string; at: number },
): Promise<boolean> {
  const row = await tx.maybeOne(sql.type(idRow)`
    update memberships set sessions_ended_at = ${instant(member.at)}
    where tenant_id = ${member.tenantId} and id = ${member.id}
      and (sessions_ended_at is null or last_entered_at >= sessions_ended_at)
    returning id`)
  return row !== null
}

/**
 * Deletes a membership with its roles, and ends what its person let applications do in the tenant. The person is the manager and
 * the owner of nothing any more.
 */
export async function deleteMember(
  tx: Tx,
  { tenantId, id: memberId, userId, at }: { tenantId: string; id: string; userId: string | null; at: number },
): Promise<void> {
  // The lock waits for transactions that make the person a manager or an owner, so that the updates see their rows.
  tx.later(sql.unsafe`select from memberships where tenant_id = ${tenantId} and id = ${memberId} for update`)
  forgetMember(
    tx,
    tenantId,
    sql.fragment`(select d.user_id from memberships d where d.tenant_id = ${tenantId} and d.id = ${memberId})`,
  )
  deleteCounted(
    tx,
    tenantId,
    'memberships',
    sql.fragment`delete from memberships where tenant_id = ${tenantId} and id = ${memberId}`,
  )
  if (userId === null) return
  deletePersonMembership(tx, tenantId, userId)
  await endGrantsOfMember(tx, { tenantId, userId }, at)
}

/**
 * Before a person is erased: makes them the manager and the owner of nothing in a tenant, and counts the membership
 * that goes with the person. As the system role.
 */
export function detachErased(tx: Tx, { tenantId, userId }: { tenantId: string; userId: string }): void {
  tx.later(sql.unsafe`
    select from memberships where tenant_id = ${tenantId} and user_id = ${userId} for update`)
  forgetMember(tx, tenantId, sql.fragment`${userId}`)
  addToCount(tx, tenantId, 'memberships', -1)
}

/** Whether the tenant has an active owner: the membership and the user are active. */
export function hasActiveOwner(tx: Tx, tenantId: string): Promise<boolean> {
  return tx.oneFirst(sql.type(ownedRow)`
    select exists (
      select 1 from roles r
      join membership_roles mr on mr.tenant_id = r.tenant_id and mr.role_id = r.id
      join memberships m on m.tenant_id = mr.tenant_id and m.id = mr.membership_id and m.status = 'active'
        and m.is_active
      where r.tenant_id = ${tenantId} and r.is_system and r.name = 'owner') as owned`)
}

const membershipRow = z.object({
  tenant_id: z.uuid(),
  tenant_name: z.string(),
  tenant_slug: z.string(),
  tenant_status: z.enum(['active', 'suspended', 'archived']),
  membership_id: z.uuid(),
  membership_status: z.enum(['active', 'suspended']),
  is_owner: z.boolean(),
  requires_mfa: z.boolean(),
  requires_sso: z.boolean(),
  sessions_ended_at: z.number().nullable(),
  /** From before the first proof of the address, and not entered since: a login enters it only if it names the tenant. */
  only_by_choice: z.boolean(),
  roles: z.array(z.string()),
})

/** A person's membership in a tenant. */
export type Membership = z.infer<typeof membershipRow>

/**
 * A person's memberships in tenants that are not deleted, most recently entered first, then oldest first. As the
 * system role.
 */
export function listMembershipsOf(tx: Read, userId: string): Promise<readonly Membership[]> {
  return tx.any(sql.type(membershipRow)`
    select t.id as tenant_id, t.name as tenant_name, t.slug as tenant_slug, t.status as tenant_status, m.membership_id,
           m.status as membership_status, m.sessions_ended_at, m.roles, m.is_owner,
           coalesce((t.settings ->> 'require_mfa')::boolean, false) as requires_mfa,
           (t.settings ->> 'sso' = 'required') is true as requires_sso,
           ${isFromBefore} as only_by_choice
    from memberships_of(${userId}) m
    join tenants t on t.id = m.tenant_id and t.deleted_at is null
    join users u on u.id = ${userId}
    order by m.last_entered_at desc nulls last, m.joined_at, m.membership_id`)
}

const ownMembershipRow = membershipRow.pick({
  tenant_id: true,
  tenant_name: true,
  tenant_slug: true,
  tenant_status: true,
  membership_status: true,
  roles: true,
})

/** A membership as its person reads it. */
export type OwnMembership = z.infer<typeof ownMembershipRow>

/** The memberships of the scope's person, in the order of {@link listMembershipsOf}. */
export function listOwnMemberships(read: Read): Promise<readonly OwnMembership[]> {
  return read.any(sql.type(ownMembershipRow)`select * from own_memberships()`)
}

/** Records that a person entered a tenant (login, switch). The next login leads there. As the system role. */
export async function recordEntry(
  tx: Tx,
  { tenantId, userId, at }: { tenantId: string; userId: string; at: number },
): Promise<void> {
  tx.later(sql.unsafe`
    update memberships set last_entered_at = ${instant(at)}
    where tenant_id = ${tenantId} and user_id = ${userId}`)
}

/** Forgets what a person entered and accepted, at the first proof of their address: another person can have done it. As the system role. */
export function forgetEntries(tx: Tx, userId: string): void {
  tx.later(sql.unsafe`
    update memberships set last_entered_at = null, accepted_at = null
    where user_id = ${userId} and (last_entered_at is not null or accepted_at is not null)`)
}

const requiringTenant = z.object({ name: z.string(), domains: z.array(z.string()) })

/**
 * The person's first tenant whose allowed domains include the domain `before` but not the domain `after`, or null. As
 * the system role.
 */
export function findTenantRequiringDomain(
  tx: Tx,
  userId: string,
  { before, after }: { before: string; after: string },
): Promise<z.infer<typeof requiringTenant> | null> {
  const allowed = sql.fragment`(t.settings -> 'allowed_email_domains')`
  return tx.maybeOne(sql.type(requiringTenant)`
    select t.name, ${allowed} as domains
    from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} and ${allowed} ? ${before} and not ${allowed} ? ${after}
    order by m.joined_at, m.id limit 1`)
}

const membershipToEnd = z.object({
  tenant_id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  is_deleted: z.boolean(),
  membership_id: z.uuid(),
  joined_at: z.number(),
  is_owner: z.boolean(),
  has_others: z.boolean(),
  has_other_owner: z.boolean(),
})

/** A membership, deleted tenants included, with whether the tenant has other members and other active owners. */
export type MembershipToEnd = z.infer<typeof membershipToEnd>

/** All memberships of a person, by tenant. As the system role. */
export function listMembershipsToEnd(tx: Tx, userId: string): Promise<readonly MembershipToEnd[]> {
  const isOwner = sql.fragment`exists (
    select 1 from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    where mr.tenant_id = m.tenant_id and mr.membership_id = m.id and r.is_system and r.name = 'owner')`
  return tx.any(sql.type(membershipToEnd)`
    select t.id as tenant_id, t.name, t.slug, t.deleted_at is not null as is_deleted, mine.id as membership_id,
           mine.joined_at, mine.is_owner, others.n > 0 as has_others, others.owners > 0 as has_other_owner
    from (select m.*, ${isOwner} as is_owner from memberships m where m.user_id = ${userId}) mine
    join tenants t on t.id = mine.tenant_id
    cross join lateral (
      select count(*) as n, count(*) filter (where m.status = 'active' and m.is_active and ${isOwner}) as owners
      from memberships m
      where m.tenant_id = mine.tenant_id and m.user_id <> ${userId}) others
    order by t.id`)
}

const subjectAttribute = z.object({
  key: z.string(),
  data_type: z.enum(dataTypes),
  allowed_values: z.array(z.unknown()).nullable(),
  is_required: z.boolean(),
})

/** An attribute that members can have. */
export type SubjectAttribute = z.infer<typeof subjectAttribute>

/** The attributes that the tenant defined for its members. */
export function listSubjectAttributes(tx: Read, tenantId: string): Promise<readonly SubjectAttribute[]> {
  return tx.any(sql.type(subjectAttribute)`
    select key, data_type, allowed_values, is_required from attribute_definitions
    where tenant_id = ${tenantId} and category = 'subject' order by key`)
}
