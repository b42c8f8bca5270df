import { z } from 'zod'
import { type Keyset, keyset } from '../../platform/db/keyset.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

export const tenantStatus = z.enum(['active', 'suspended', 'archived'])

const tenantRow = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  status: tenantStatus,
  settings: z.looseObject({
    require_mfa: z.boolean().default(false),
    allowed_email_domains: z.array(z.string()).default([]),
  }),
  created_at: z.number(),
  updated_at: z.number(),
  suspended_at: z.number().nullable(),
  archived_at: z.number().nullable(),
  member_count: z.number(),
  my_roles: z.array(z.string()),
})

export type TenantRow = z.infer<typeof tenantRow>

const columns = sql.fragment`
  t.id, t.name, t.slug, t.status, t.settings, t.created_at, t.updated_at, t.suspended_at, t.archived_at`

const rolesOf = sql.fragment`
  array(select r.name from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
        where mr.tenant_id = m.tenant_id and mr.membership_id = m.id order by r.created_at, r.id)`

const memberCount = sql.fragment`
  coalesce((select c.rows from row_counts c where c.tenant_id = t.id and c.relation = 'memberships'), 0)`

/** Inserts a tenant; false when its slug is taken. */
export async function insertTenant(
  tx: Tx,
  tenant: { id: string; name: string; slug: string; at: number },
): Promise<boolean> {
  const at = sql.timestamp(new Date(tenant.at))
  const inserted = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    insert into tenants (id, name, slug, settings, created_at, updated_at)
    values (${tenant.id}, ${tenant.name}, ${tenant.slug}, '{"require_mfa": false, "allowed_email_domains": []}', ${at}, ${at})
    on conflict (slug) do nothing returning id`)
  return inserted !== null
}

/**
 * Notes that roles, attribute definitions or policies changed, so that no decision uses older ones; holds the tenant's
 * row to the end of the transaction, so that such changes come one after the other. Gives the new revision.
 */
export function growPolicyRevision(tx: Tx, tenantId: string): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ policy_revision: z.number() }))`
    update tenants set policy_revision = policy_revision + 1 where id = ${tenantId} returning policy_revision`)
}

/** The tenant as one of its members sees it. */
export function findTenant(tx: Tx, tenantId: string, userId: string): Promise<TenantRow | null> {
  return tx.maybeOne(sql.type(tenantRow)`
    select ${columns}, ${memberCount} as member_count, ${rolesOf} as my_roles
    from tenants t join memberships m on m.tenant_id = t.id and m.user_id = ${userId}
    where t.id = ${tenantId} and t.deleted_at is null`)
}

/** Tenants in which a person has an active membership, oldest first; read as the system role. */
export function listTenantsOf(tx: Tx, userId: string, page: Keyset): Promise<readonly TenantRow[]> {
  return tx.any(sql.type(tenantRow)`
    select ${columns}, ${memberCount} as member_count, ${rolesOf} as my_roles
    from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} and m.status = 'active'
    ${keyset(page, sql.fragment`t.created_at`, sql.fragment`t.id`)}`)
}

/** How many tenants `listTenantsOf` lists in all. */
export function countTenantsOf(tx: Tx, userId: string): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} and m.status = 'active'`)
}
