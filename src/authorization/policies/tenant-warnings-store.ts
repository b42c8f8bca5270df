import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql } from '../../database/executor/transaction.ts'

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

/** How many active members the tenant has, and how many of them have each attribute, columns of members included. */
export async function countMembersWith(
  read: Read,
  tenantId: string,
  keys: readonly string[],
): Promise<{ total: number; having: Map<string, number> }> {
  const rows = await read.any(sql.type(keyRow)`
    select k.key, count(*) as total,
           count(*) filter (where m.attributes ? k.key
             or (k.key in ('department_id', 'department_path') and m.department_id is not null)
             or (k.key = 'manager_id' and m.manager_id is not null)) as having
    from memberships m cross join unnest(${sql.array(keys, 'text')}) as k (key)
    where m.tenant_id = ${tenantId} and m.status = 'active' group by k.key`)
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
