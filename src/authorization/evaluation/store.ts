import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { isUuid, nilUuid } from '../../crypto/uuid.ts'
import type { Read } from '../../database/executor/read.ts'
import { permissionRow } from '../../database/executor/row-schemas.ts'
import { sql } from '../../database/executor/transaction.ts'
import { type SystemRole, systemRoles, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { Membership, SubjectType } from '../../policy-engine/evaluate/query.ts'
import { isOfSubject, isPersonNamed, nameForms } from '../../tenancy/members/subject-store.ts'

const memberRow = z.object({
  kind: z.enum(['user', 'service_account']),
  subject_id: z.uuid(),
  email: z.string(),
  email_verified: z.boolean(),
  external_id: z.string().nullable(),
  membership_id: z.uuid(),
  status: z.enum(['active', 'suspended']),
  department_id: z.uuid().nullable(),
  manager_id: z.uuid().nullable(),
  attributes: z.record(z.string(), z.unknown()),
  joined_at: z.number(),
  roles: z.array(z.string()),
  role_ids: z.array(z.uuid()),
  system_roles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

/** A member as the subject of a decision: a person by the id of the user, a service account by its own. */
export interface KnownSubject {
  type: SubjectType
  id: string
  /** Empty for a service account. */
  email: string
  emailVerified: boolean
  membership: Membership
}

/** A member with what else names them: the `external_id` of the membership. */
export interface NamedSubject extends KnownSubject {
  externalId: string | null
}

const subjectColumns = (tenantId: string) => sql.fragment`
  m.kind, coalesce(m.user_id, m.id) as subject_id, m.email, m.email_verified,
  m.external_id, m.id as membership_id, case when m.is_active is false then 'suspended' else m.status end as status,
  m.department_id, m.manager_id, m.attributes, m.joined_at,
  coalesce(array_agg(r.name order by r.created_at, r.id) filter (where r.id is not null), '{}') as roles,
  coalesce(array_agg(r.id order by r.created_at, r.id) filter (where r.id is not null), '{}') as role_ids,
  coalesce(array_agg(r.name) filter (where r.is_system), '{}') as system_roles,
  coalesce((select array_agg(distinct p) from membership_roles x
            join roles y on y.tenant_id = x.tenant_id and y.id = x.role_id
            cross join lateral unnest(y.permissions) p
            where x.tenant_id = ${tenantId} and x.membership_id = m.id), '{}') as permissions`

/** The name of a member in an evaluation: the type, and the id, the address or the `external_id` of a person. */
export interface SubjectName {
  type: string
  id: string
}

/**
 * The members of the tenant who have these names: people by user id, verified address or `external_id`, service accounts by id.
 * Which of them a name means, `subjectsByName` says: it can fit two.
 */
export async function findSubjects(
  read: Read,
  tenantId: string,
  names: readonly SubjectName[],
): Promise<NamedSubject[]> {
  const namesOf = (wanted: SubjectType) => [
    ...new Set(names.filter(({ type }) => type === wanted).map(({ id }) => id)),
  ]
  const accounts = namesOf('service_account').map((id) => nameForms(id).folded)
  return listSubjects(
    read,
    tenantId,
    sql.fragment`
      (${isPersonNamed(namesOf('user'))}
       or (m.id = any(${sql.array(accounts.filter(isUuid), 'uuid')}) and m.kind = 'service_account'))`,
  )
}

/** A person by the id of the user, or a service account by its own, as a member; or null. */
export async function findOwnSubject(read: Read, tenantId: string, id: string): Promise<KnownSubject | null> {
  const [subject = null] = await listSubjects(read, tenantId, isOfSubject(id))
  return subject
}

/** A member of the tenant by the id of the membership, or null. */
export async function findMemberAsSubject(
  read: Read,
  tenantId: string,
  id: string,
): Promise<KnownSubject | null> {
  const [subject = null] = await listSubjects(read, tenantId, sql.fragment`m.id = ${id}::uuid`)
  return subject
}

async function listSubjects(
  read: Read,
  tenantId: string,
  condition: FragmentSqlToken,
): Promise<NamedSubject[]> {
  const rows = await read.any(sql.type(memberRow)`
    select ${subjectColumns(tenantId)}
    from memberships m
    left join membership_roles mr on mr.tenant_id = ${tenantId} and mr.membership_id = m.id
    left join roles r on r.tenant_id = ${tenantId} and r.id = mr.role_id
    where m.tenant_id = ${tenantId} and ${condition}
    group by m.tenant_id, m.id`)
  return rows.map(known)
}

/** Words that an evaluation or a policy uses: actions, and types of resources. */
export interface Words {
  actions: readonly string[]
  types: readonly string[]
}

/**
 * The permissions of the tenant's roles that are one of these actions (themselves, or as `resource:*`), and `type:` for a
 * type that another permission names. So there are few, whatever the number of permissions.
 */
export async function listWordsInRoles(
  read: Read,
  tenantId: string,
  { actions, types }: Words,
): Promise<readonly string[]> {
  const names = sql.array([...new Set([...actions, ...actions.map(wildcardOf)])], 'text')
  return read.anyFirst(sql.type(permissionRow)`
    select distinct case when p = any(${names}) then p else split_part(p, ':', 1) || ':' end as permission
    from roles r cross join lateral unnest(r.permissions) p
    where r.tenant_id = ${tenantId} and (p = any(${names}) or split_part(p, ':', 1) = any(${sql.array(types, 'text')}))`)
}

/** At most `limit` permissions of the tenant's roles that name a type. */
export async function listPermissionsOn(
  read: Read,
  tenantId: string,
  type: string,
  limit: number,
): Promise<readonly string[]> {
  return read.anyFirst(sql.type(permissionRow)`
    select distinct p as permission from roles r cross join lateral unnest(r.permissions) p
    where r.tenant_id = ${tenantId} and split_part(p, ':', 1) = ${type}
    order by p limit ${limit}`)
}

const known = (row: z.infer<typeof memberRow>): NamedSubject => ({
  type: row.kind,
  id: row.subject_id,
  email: row.email,
  emailVerified: row.email_verified,
  externalId: row.external_id,
  membership: {
    id: row.membership_id,
    status: row.status,
    systemRoles: row.system_roles,
    roleIds: row.role_ids,
    roles: row.roles,
    permissions: row.permissions,
    attributes: row.attributes,
    departmentId: row.department_id,
    managerId: row.manager_id,
    joinedAt: row.joined_at,
  },
})

const roleRow = z.object({
  id: z.uuid(),
  name: z.string(),
  is_system: z.boolean(),
  permissions: z.array(z.string()),
})

export type RoleOfSubjects = z.infer<typeof roleRow>

/** All roles of the tenant with their permissions, oldest first. */
export function listRolesOfSubjects(read: Read, tenantId: string): Promise<readonly RoleOfSubjects[]> {
  return read.any(sql.type(roleRow)`
    select id, name, is_system, permissions from roles where tenant_id = ${tenantId} order by created_at, id`)
}

// Checked as a whole, because a search reads thousands of rows.
const subjectRow = z.custom<{
  subject_id: string
  email: string
  email_verified: boolean
  membership_id: string
  status: 'active' | 'suspended'
  department_id: string | null
  manager_id: string | null
  attributes: Record<string, unknown>
  joined_at: number
  role_ids: string[]
}>((row) => typeof row === 'object' && row !== null && 'role_ids' in row && Array.isArray(row.role_ids))

/** The people or service accounts of the tenant by id, after one. `roles` are all roles of the tenant. */
export async function listMembersAsSubjects(
  read: Read,
  tenantId: string,
  roles: readonly RoleOfSubjects[],
  { kind, after, limit }: { kind: SubjectType; after: string | null; limit: number },
): Promise<KnownSubject[]> {
  const id = kind === 'user' ? sql.fragment`m.user_id` : sql.fragment`m.id`
  const rows = await read.any(sql.type(subjectRow)`
    select ${id} as subject_id, m.email, m.email_verified, m.id as membership_id,
           case when m.is_active is false then 'suspended' else m.status end as status, m.department_id, m.manager_id,
           m.attributes, m.joined_at,
           array(select role_id from membership_roles mr
                 where mr.tenant_id = ${tenantId} and mr.membership_id = m.id) as role_ids
    from memberships m
    where m.tenant_id = ${tenantId} and m.kind = ${kind} and ${id} > ${after ?? nilUuid}::uuid
    order by ${id} limit ${limit}`)
  const rolesOf = rememberingRoles(roles)
  return rows.map((row) => ({
    type: kind,
    id: row.subject_id,
    email: row.email,
    emailVerified: row.email_verified,
    membership: {
      id: row.membership_id,
      status: row.status,
      ...rolesOf(row.role_ids),
      attributes: row.attributes,
      departmentId: row.department_id,
      managerId: row.manager_id,
      joinedAt: row.joined_at,
    },
  }))
}

/** What a set of roles gives a member; computed once for all members with the same roles. */
function rememberingRoles(roles: readonly RoleOfSubjects[]) {
  const known = new Map<string, ReturnType<typeof given>>()
  const given = (ids: readonly string[]) => {
    const held = roles.filter(({ id }) => ids.includes(id))
    const names = held.map(({ name }) => name)
    return {
      roleIds: held.map(({ id }) => id),
      roles: names,
      systemRoles: held.filter((role) => role.is_system).map(({ name }) => name as SystemRole),
      permissions: [...new Set(held.flatMap(({ permissions }) => permissions))],
    }
  }
  return (ids: readonly string[]) => {
    const key = ids.toSorted().join()
    const found = known.get(key) ?? given(ids)
    known.set(key, found)
    return found
  }
}
