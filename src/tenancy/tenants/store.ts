import { z } from 'zod'
import { byWord, defineList, type ListPage } from '../../platform/db/list.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'

export const tenantStatus = z.enum(['active', 'suspended', 'archived'])
export type TenantStatus = z.infer<typeof tenantStatus>

const tenantRow = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  status: tenantStatus,
  settings: z.looseObject({
    require_mfa: z.boolean().default(false),
    time_zone: z.string().default('UTC'),
    allowed_email_domains: z.array(z.string()).default([]),
  }),
  created_at: z.number(),
  updated_at: z.number(),
  suspended_at: z.number().nullable(),
  archived_at: z.number().nullable(),
  version: z.number(),
  name_key: z.string(),
  member_count: z.number(),
  my_roles: z.array(z.string()),
})

export type TenantRow = z.infer<typeof tenantRow>

const columns = sql.fragment`
  t.id, t.name, t.slug, t.status, t.settings, t.created_at, t.updated_at, t.suspended_at, t.archived_at,
  t.version, t.name_key`

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
 * Lets one transaction at a time change what has to hold over many rows of a tenant: that an owner remains, that
 * departments have no cycle, how many roles there are. What a later statement of the transaction reads is current.
 */
export async function lockTenant(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(sql.unsafe`select from tenants where id = ${tenantId} for no key update`)
}

/** Changes a tenant's name and merges its settings key by key; false when they are so already. */
export async function changeTenant(
  tx: Tx,
  tenant: { id: string; name: string | undefined; settings: Record<string, unknown>; at: number },
): Promise<boolean> {
  const name = sql.fragment`coalesce(${tenant.name ?? null}::text, name)`
  const settings = sql.fragment`settings || ${sql.jsonb(tenant.settings as never)}`
  const changed = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update tenants set name = ${name}, settings = ${settings}, updated_at = ${sql.timestamp(new Date(tenant.at))}
    where id = ${tenant.id} and deleted_at is null and (name, settings) is distinct from (${name}, ${settings})
    returning id`)
  return changed !== null
}

/** Moves a tenant from one of the states `from` to `to`; false when it is in none of those. */
export async function updateStatus(
  tx: Tx,
  move: { id: string; from: readonly TenantStatus[]; to: TenantStatus; at: number },
): Promise<boolean> {
  const at = sql.timestamp(new Date(move.at))
  const moved = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update tenants set status = ${move.to}, updated_at = ${at},
      suspended_at = case ${move.to}::text when 'suspended' then ${at} when 'archived' then suspended_at end,
      archived_at = case ${move.to}::text when 'archived' then ${at} end
    where id = ${move.id} and deleted_at is null and status = any(${sql.array(move.from, 'text')})
    returning id`)
  return moved !== null
}

/** Marks a tenant as deleted; false when it was before. */
export async function markDeleted(tx: Tx, tenant: { id: string; at: number }): Promise<boolean> {
  const marked = await tx.maybeOne(sql.type(z.object({ id: z.uuid() }))`
    update tenants set deleted_at = ${sql.timestamp(new Date(tenant.at))}
    where id = ${tenant.id} and deleted_at is null returning id`)
  return marked !== null
}

/**
 * Notes that roles, attribute definitions or policies changed, so that no decision uses older ones; holds the tenant's
 * row to the end of the transaction, so that such changes come one after the other. Gives the new revision.
 */
export function incrementPolicyRevision(tx: Tx, tenantId: string): Promise<number> {
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

/** The tenants of a person. */
export const tenantList = defineList({
  id: { column: sql.fragment`t.id`, field: 'id' },
  orderings: {
    created_at: { column: sql.fragment`t.created_at`, field: 'created_at' },
    name: { column: sql.fragment`t.name_key`, field: 'name_key' },
  },
  filters: { status: byWord(sql.fragment`t.status`, tenantStatus.options) },
  search: [{ column: sql.fragment`t.name_key`, reveals: ['name'] }],
})

/** Tenants in which a person has an active membership; read as the system role. */
export function listTenantsOf(tx: Tx, userId: string, page: ListPage): Promise<readonly TenantRow[]> {
  return tx.any(sql.type(tenantRow)`
    select ${columns}, ${memberCount} as member_count, ${rolesOf} as my_roles
    from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} and m.status = 'active' ${page.tail}`)
}

/** How many tenants `listTenantsOf` lists in all. */
export function countTenantsOf(tx: Tx, userId: string, page: ListPage): Promise<number> {
  return tx.oneFirst(sql.type(z.object({ count: z.number() }))`
    select count(*) from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} and m.status = 'active' ${page.conditions}`)
}

/** Up to `limit` tenants that were deleted before `before` (ms since 1970), longest ago first; as the worker role. */
export function listPurgeable(tx: Tx, before: number, limit: number): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
    select id from tenants where deleted_at <= ${sql.timestamp(new Date(before))} order by deleted_at, id limit ${limit}`)
}

/** Whether this transaction alone purges the tenant until it ends; as the worker role. */
export function tryPurgeLock(tx: Tx, tenantId: string): Promise<boolean> {
  return tx.oneFirst(sql.type(z.object({ locked: z.boolean() }))`
    select pg_try_advisory_xact_lock(hashtextextended(${tenantId}, 5)) as locked`)
}

/** Deletes the row of a tenant that has no other rows any more; gives how many rows that were; as the worker role. */
export async function deletePurged(tx: Tx, tenantId: string): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from tenants where id = ${tenantId} and deleted_at is not null`)
  return rowCount
}

/** The tenant that a person has belonged to longest and that is not deleted, or null; as the system role. */
export function findFirstTenantOf(tx: Tx, userId: string): Promise<string | null> {
  return tx.maybeOneFirst(sql.type(z.object({ tenant_id: z.uuid() }))`
    select m.tenant_id from memberships m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    where m.user_id = ${userId} order by m.joined_at, m.id limit 1`)
}

const tenantSummary = z.object({
  id: z.uuid(),
  slug: z.string(),
  name: z.string(),
  status: z.enum([...tenantStatus.options, 'deleted']),
  member_count: z.number(),
  created_at: z.number(),
})

/** A tenant as an operator sees it: what it is called, not what is in it. */
export type TenantSummary = z.infer<typeof tenantSummary>

/**
 * Up to `limit` tenants, oldest first, whose slug or name begins with `search` in any case; the deleted ones, which
 * wait to be purged, only where that status is asked for. Read as the system role.
 */
export function listAllTenants(
  tx: Tx,
  { status, search = '', limit }: { status?: string | undefined; search?: string | undefined; limit: number },
): Promise<readonly TenantSummary[]> {
  const state = sql.fragment`case when t.deleted_at is null then t.status else 'deleted' end`
  return tx.any(sql.type(tenantSummary)`
    select t.id, t.slug, t.name, ${state} as status, ${memberCount} as member_count, t.created_at
    from tenants t
    where case when ${status ?? null}::text is null then t.deleted_at is null else ${state} = ${status ?? null} end
      and (starts_with(t.slug, lower(${search})) or starts_with(t.name_key, lower(${search})))
    order by t.created_at, t.id limit ${limit}`)
}

const namedTenant = tenantRow
  .pick({ id: true, name: true, slug: true, settings: true, member_count: true })
  .extend({ is_exact: z.boolean() })

export type NamedTenant = z.infer<typeof namedTenant>

/** Tenants, not the deleted ones, of this id, slug or (in any case) name, in this order of closeness; two at most. Read as the system role. */
export function listTenantsNamed(tx: Tx, text: string): Promise<readonly NamedTenant[]> {
  return tx.any(sql.type(namedTenant)`
    select t.id, t.name, t.slug, t.settings, ${memberCount} as member_count,
           t.id::text = ${text} or t.slug = ${text} as is_exact
    from tenants t
    where (t.id::text = ${text} or t.slug = ${text} or t.name_key = lower(${text})) and t.deleted_at is null
    order by t.id::text = ${text} desc, t.slug = ${text} desc, t.created_at, t.id limit 2`)
}

/** Locks the tenants that a person belongs to, in one order; gives their ids. As the system role. */
export function lockTenantsOf(tx: Tx, userId: string): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(z.object({ id: z.uuid() }))`
    select id from tenants where id in (select tenant_id from memberships where user_id = ${userId})
    order by id for no key update`)
}

/** Deletes tenants with the only person who belonged to them: their names go at once, the rest as always. As the system role. */
export async function eraseTenants(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  await tx.query(sql.unsafe`
    update tenants set name = 'Erased', slug = 'erased-' || id, updated_at = ${sql.timestamp(new Date(at))},
      deleted_at = coalesce(deleted_at, ${sql.timestamp(new Date(at))})
    where id = any(${sql.array(ids, 'uuid')})`)
}

/**
 * Counts a tenant among those a person made, one at a time; false where they have made `max`, or are erased. The scope
 * must be the person.
 */
export async function countMade(
  tx: Tx,
  { userId, tenantId, max }: { userId: string; tenantId: string; max: number },
): Promise<boolean> {
  await tx.query(sql.unsafe`select from users where id = ${userId} for no key update`)
  const counted = await tx.maybeOne(sql.type(z.object({ tenant_id: z.uuid() }))`
    insert into made_tenants (user_id, tenant_id)
    select ${userId}, ${tenantId} where (select count(*) from made_tenants where user_id = ${userId}) < ${max}
    returning tenant_id`)
  return counted !== null
}
