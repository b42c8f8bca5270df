import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { systemRoles, wildcardOf } from '../../policy-engine/catalogue/actions.ts'
import type { Membership } from '../../policy-engine/evaluate/query.ts'

const memberRow = z.object({
  user_id: z.uuid(),
  email: z.string(),
  email_verified: z.boolean(),
  membership_id: z.uuid(),
  status: z.enum(['active', 'suspended']),
  department_id: z.uuid().nullable(),
  attributes: z.record(z.string(), z.unknown()),
  joined_at: z.number(),
  roles: z.array(z.string()),
  role_ids: z.array(z.uuid()),
  system_roles: z.array(z.enum(systemRoles)),
  permissions: z.array(z.string()),
})

/** A member as the subject of a decision. */
export interface KnownSubject {
  id: string
  email: string
  emailVerified: boolean
  membership: Membership
}

/** The member of the tenant with this user id or verified e-mail address, or null. */
export async function findSubject(tx: Tx, tenantId: string, idOrEmail: string): Promise<KnownSubject | null> {
  const row = await tx.maybeOne(sql.type(memberRow)`
    select m.user_id, m.email, u.email_verified_at is not null as email_verified, m.id as membership_id,
           case when u.is_active then m.status else 'suspended' end as status,
           m.department_id, m.attributes, m.joined_at,
           coalesce(array_agg(r.name order by r.created_at, r.id) filter (where r.id is not null), '{}') as roles,
           coalesce(array_agg(r.id order by r.created_at, r.id) filter (where r.id is not null), '{}') as role_ids,
           coalesce(array_agg(r.name) filter (where r.is_system), '{}') as system_roles,
           coalesce((select array_agg(distinct p) from membership_roles x
                     join roles y on y.tenant_id = x.tenant_id and y.id = x.role_id
                     cross join lateral unnest(y.permissions) p
                     where x.tenant_id = m.tenant_id and x.membership_id = m.id), '{}') as permissions
    from memberships m join users u on u.id = m.user_id
    left join membership_roles mr on mr.tenant_id = m.tenant_id and mr.membership_id = m.id
    left join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    where m.tenant_id = ${tenantId}
      and (m.user_id::text = ${idOrEmail.toLowerCase()}
           or (m.email = ${idOrEmail.trim().toLowerCase()} and u.email_verified_at is not null))
    group by m.tenant_id, m.id, m.user_id, u.id`)
  return row && known(row)
}

const namedRow = z.object({ action: z.boolean(), resource_type: z.boolean() })

/** Whether a role of the tenant names the action (itself, or as `resource:*`), and whether one names the resource type. */
export function namedByRoles(tx: Tx, tenantId: string, asked: { action: string; resourceType: string }) {
  const names = sql.array([asked.action, wildcardOf(asked.action)], 'text')
  return tx.one(sql.type(namedRow)`
    select coalesce(bool_or(r.permissions && ${names}), false) as action,
           coalesce(bool_or(exists (select from unnest(r.permissions) p
                                    where split_part(p, ':', 1) = ${asked.resourceType})), false) as resource_type
    from roles r where r.tenant_id = ${tenantId}`)
}

const known = (row: z.infer<typeof memberRow>): KnownSubject => ({
  id: row.user_id,
  email: row.email,
  emailVerified: row.email_verified,
  membership: {
    id: row.membership_id,
    status: row.status,
    systemRoles: row.system_roles,
    roleIds: row.role_ids,
    roles: row.roles,
    permissions: row.permissions,
    attributes: row.attributes,
    departmentId: row.department_id,
    joinedAt: row.joined_at,
  },
})
