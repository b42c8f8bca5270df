import { z } from 'zod'
import { nilUuid } from '../../crypto/uuid.ts'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { isProven } from '../../database/proven-address.ts'
import type { SystemRole } from '../../policy-engine/catalogue/actions.ts'
import type { SubjectType } from '../../policy-engine/evaluate/query.ts'
import type { KnownSubject } from '../evaluation/store.ts'

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
const memberRow = z.custom<{
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
  const rows = await read.any(sql.type(memberRow)`
    select ${id} as subject_id, m.email, ${isProven} as email_verified, m.id as membership_id,
           case when u.is_active is false then 'suspended' else m.status end as status, m.department_id, m.manager_id,
           m.attributes, m.joined_at,
           array(select role_id from membership_roles mr
                 where mr.tenant_id = ${tenantId} and mr.membership_id = m.id) as role_ids
    from memberships m left join users u on u.id = m.user_id
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
