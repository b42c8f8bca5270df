import { z } from 'zod'
import { type Keyset, keyset } from '../../platform/db/keyset.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

export const memberRow = z.object({
  id: z.uuid(),
  user_id: z.uuid(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string(),
  is_active: z.boolean(),
  roles: z.array(z.string()),
  department_id: z.uuid().nullable(),
  status: z.enum(['active', 'suspended']),
  attributes: z.record(z.string(), z.unknown()),
  joined_at: z.number(),
  updated_at: z.number(),
})

export type MemberRow = z.infer<typeof memberRow>

const columns = sql.fragment`
  m.id, m.user_id, m.email, m.first_name, m.last_name, u.is_active, m.department_id, m.status, m.attributes,
  m.joined_at, m.updated_at,
  array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
        where mr.tenant_id = m.tenant_id and mr.membership_id = m.id order by r.created_at, r.id) as roles`

interface NewMember {
  id: string
  tenantId: string
  user: { id: string; email: string; firstName: string; lastName: string }
  departmentId: string | null
  roleIds: readonly string[]
  at: number
}

/** Inserts a membership with its roles; false when the person belongs to the tenant already. */
export async function insertMember(tx: Tx, member: NewMember): Promise<boolean> {
  const { id, tenantId, user, departmentId, roleIds } = member
  const at = sql.timestamp(new Date(member.at))
  const inserted = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    insert into memberships (tenant_id, id, user_id, email, first_name, last_name, department_id, joined_at, updated_at)
    values (${tenantId}, ${id}, ${user.id}, ${user.email}, ${user.firstName}, ${user.lastName}, ${departmentId}, ${at}, ${at})
    on conflict (tenant_id, user_id) do nothing returning id`)
  if (!inserted) return false
  await tx.query(sql.unsafe`
    insert into membership_roles (tenant_id, membership_id, role_id)
    select ${tenantId}, ${id}, role_id from ${sql.unnest(
      roleIds.map((roleId) => [roleId]),
      ['uuid'],
    )} as r (role_id)`)
  return true
}

/** A page of the tenant's members, oldest first. */
export function listMembers(tx: Tx, tenantId: string, page: Keyset): Promise<readonly MemberRow[]> {
  return tx.any(sql.type(memberRow)`
    select ${columns} from memberships m join users u on u.id = m.user_id
    where m.tenant_id = ${tenantId}
    ${keyset(page, sql.fragment`m.joined_at`, sql.fragment`m.id`)}`)
}

/** One member of the tenant, or null. */
export function findMember(tx: Tx, tenantId: string, memberId: string): Promise<MemberRow | null> {
  return tx.maybeOne(sql.type(memberRow)`
    select ${columns} from memberships m join users u on u.id = m.user_id
    where m.tenant_id = ${tenantId} and m.id = ${memberId}`)
}

/** Members of the tenant, from the counter. */
export async function countMembers(tx: Tx, tenantId: string): Promise<number> {
  const count = await tx.maybeOneFirst(sql.type(z.object({ rows: z.number() }))`
    select rows from row_counts where tenant_id = ${tenantId} and relation = 'memberships'`)
  return count ?? 0
}

const placeRow = z.object({
  tenant_id: z.uuid(),
  tenant_name: z.string(),
  tenant_slug: z.string(),
  tenant_status: z.enum(['active', 'suspended', 'archived']),
  membership_id: z.uuid(),
  membership_status: z.enum(['active', 'suspended']),
  is_owner: z.boolean(),
  roles: z.array(z.string()),
})

/** Where a person belongs, and as what. */
export type Place = z.infer<typeof placeRow>

/**
 * Every tenant a person belongs to that is not deleted, most recently entered first, then oldest membership first;
 * read as the system role.
 */
export function listPlacesOf(tx: Tx, userId: string): Promise<readonly Place[]> {
  return tx.any(sql.type(placeRow)`
    select t.id as tenant_id, t.name as tenant_name, t.slug as tenant_slug, t.status as tenant_status,
           m.id as membership_id, m.status as membership_status, r.roles, r.is_owner
    from memberships m
    join tenants t on t.id = m.tenant_id and t.deleted_at is null
    cross join lateral (
      select coalesce(array_agg(r.name order by r.created_at, r.id), '{}') as roles,
             coalesce(bool_or(r.is_system and r.name = 'owner'), false) as is_owner
      from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
      where mr.tenant_id = m.tenant_id and mr.membership_id = m.id) r
    where m.user_id = ${userId}
    order by m.last_entered_at desc nulls last, m.joined_at, m.id`)
}

/** Notes that a person entered a tenant (login, switch): where the next login leads; as the system role. */
export async function noteEntry(
  tx: Tx,
  place: { tenantId: string; userId: string; at: number },
): Promise<void> {
  await tx.query(sql.unsafe`
    update memberships set last_entered_at = ${sql.timestamp(new Date(place.at))}
    where tenant_id = ${place.tenantId} and user_id = ${place.userId}`)
}

/** Copies a person's address and names to all their memberships; as the system role. */
export async function copyProfile(
  tx: Tx,
  user: { id: string; email: string; firstName: string; lastName: string },
): Promise<void> {
  await tx.query(sql.unsafe`
    update memberships set email = ${user.email}, first_name = ${user.firstName}, last_name = ${user.lastName}
    where user_id = ${user.id}`)
}

const person = z.object({ id: z.uuid(), email: z.string(), firstName: z.string(), lastName: z.string() })

/** A person by id, whatever tenants they belong to; as the system role. */
export function findPerson(tx: Tx, userId: string): Promise<z.infer<typeof person> | null> {
  return tx.maybeOne(sql.type(person)`
    select id, email, first_name as "firstName", last_name as "lastName" from users where id = ${userId} and is_active`)
}

/** The tenant that a person has belonged to longest and that is not deleted, or null; as the system role. */
export function findFirstTenantOf(tx: Tx, userId: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(z.object({ tenant_id: z.uuid() }))`
    select m.tenant_id from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} order by m.joined_at, m.id limit 1`)
}
