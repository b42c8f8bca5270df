import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql } from '../../database/executor/transaction.ts'
import type { CompiledPolicy } from '../../policy-engine/compile/compiled-policy.ts'

/** How many active members have one of these roles. */
export async function countApprovers(
  read: Read,
  tenantId: string,
  roleIds: readonly string[],
): Promise<number> {
  const [row] = await read.any(sql.type(countRow)`
    select count(*) from memberships m join users u on u.id = m.user_id and u.is_active
    where m.tenant_id = ${tenantId} and m.status = 'active' and exists (
      select 1 from membership_roles mr where mr.tenant_id = ${tenantId} and mr.membership_id = m.id
        and mr.role_id = any(${sql.array(roleIds, 'uuid')}))`)
  return row?.count ?? 0
}

const keyRow = z.object({ key: z.string(), having: z.number(), total: z.number() })

/**
 * How many active members a policy is about, and how many of them have each attribute, columns of members included. A
 * policy that names no subjects is about all.
 */
export async function countMembersWith(
  read: Read,
  tenantId: string,
  { roles, departments, users }: CompiledPolicy['subjects'],
  keys: readonly string[],
): Promise<{ total: number; having: Map<string, number> }> {
  const isAboutAll = roles.length + departments.length + users.length === 0
  const rows = await read.any(sql.type(keyRow)`
    select k.key, count(*) as total,
           count(*) filter (where m.attributes ? k.key
             or (k.key in ('department_id', 'department_path') and m.department_id is not null)
             or (k.key = 'manager_id' and m.manager_id is not null)) as having
    from memberships m cross join unnest(${sql.array(keys, 'text')}) as k (key)
    where m.tenant_id = ${tenantId} and m.status = 'active' and (${isAboutAll}
      or m.user_id = any(${sql.array(users, 'uuid')}) or m.department_id = any(${sql.array(departments, 'uuid')})
      or exists (select 1 from membership_roles mr where mr.tenant_id = ${tenantId} and mr.membership_id = m.id
        and mr.role_id = any(${sql.array(roles, 'uuid')})))
    group by k.key`)
  return { total: rows[0]?.total ?? 0, having: new Map(rows.map(({ key, having }) => [key, having])) }
}

/** The departments of the tenant among these ids. */
export async function listDepartmentsAmong(
  read: Read,
  tenantId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await read.any(sql.type(idRow)`
    select id from departments where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')})`)
  return new Set(rows.map(({ id }) => id))
}
