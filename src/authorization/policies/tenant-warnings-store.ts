import { z } from 'zod'
import type { Read } from '../../platform/db/read.ts'
import { sql } from '../../platform/db/transaction.ts'

/** The permissions of all roles of the tenant. */
export async function listAllPermissions(read: Read, tenantId: string): Promise<string[]> {
  const rows = await read.any(sql.type(z.object({ permission: z.string() }))`
    select distinct p as permission from roles r cross join lateral unnest(r.permissions) p
    where r.tenant_id = ${tenantId}`)
  return rows.map(({ permission }) => permission)
}

/** How many active members have one of these roles. */
export async function countApprovers(
  read: Read,
  tenantId: string,
  roleIds: readonly string[],
): Promise<number> {
  const [row] = await read.any(sql.type(z.object({ count: z.number() }))`
    select count(*) from memberships m join users u on u.id = m.user_id and u.is_active
    where m.tenant_id = ${tenantId} and m.status = 'active' and exists (
      select from membership_roles mr where mr.tenant_id = m.tenant_id and mr.membership_id = m.id
        and mr.role_id = any(${sql.array(roleIds, 'uuid')}))`)
  return row?.count ?? 0
}

const keyRow = z.object({ key: z.string(), having: z.number(), total: z.number() })

/** How many active members the tenant has, and how many of them have each attribute; `department_id` counts as one. */
export async function countMembersWith(
  read: Read,
  tenantId: string,
  keys: readonly string[],
): Promise<{ total: number; having: Map<string, number> }> {
  const rows = await read.any(sql.type(keyRow)`
    select k.key, count(*) as total,
           count(*) filter (where case k.key when 'department_id' then m.department_id is not null
                                             else m.attributes ? k.key end) as having
    from memberships m cross join unnest(${sql.array(keys, 'text')}) as k (key)
    where m.tenant_id = ${tenantId} and m.status = 'active' group by k.key`)
  return { total: rows[0]?.total ?? 0, having: new Map(rows.map(({ key, having }) => [key, having])) }
}
