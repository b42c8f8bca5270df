import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow, lockedRow, tenantIdRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { lock, willChange } from '../../database/locks.ts'
import { memberCount, membershipsOf, roleNames } from '../../database/memberships-of.ts'
import { isFromBefore } from '../../database/proven-address.ts'
import { lockTenants } from '../../database/revisions.ts'
import { byWord, defineList, type ListPage } from '../../lists/list.ts'
import { isOfSubject } from '../members/subject-store.ts'
import { brandingRow, logoRow } from './branding.ts'

/** By what searches name people: the setting `subject_id` of a tenant. */
/** Whether people sign in by the connections of the tenant. `required`: by no other way. */
export const ssoModes = ['off', 'optional', 'required'] as const

export const subjectIds = ['id', 'email', 'external_id'] as const

export type SubjectId = (typeof subjectIds)[number]

export const tenantStatus = z.enum(['active', 'suspended', 'archived'])
export type TenantStatus = z.infer<typeof tenantStatus>

const tenantRow = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  status: tenantStatus,
  settings: z.looseObject({
    require_mfa: z.boolean().default(false),
    sso: z.enum(ssoModes).default('off'),
    time_zone: z.string().default('UTC'),
    allowed_email_domains: z.array(z.string()).default([]),
    subject_id: z.enum(subjectIds).default('id'),
    branding: brandingRow.default({}),
    logo: logoRow.nullable().default(null),
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

/** The count of members of tenants `t` without a membership of theirs. */
const countMembers = sql.fragment`left join row_counts c on c.tenant_id = t.id and c.relation = 'memberships'`

/** Inserts a tenant; false when its slug is taken. */
export async function insertTenant(
  tx: Tx,
  tenant: { id: string; name: string; slug: string; at: number },
): Promise<boolean> {
  const at = instant(tenant.at)
  willChange(tx, tenant.slug)
  const inserted = await tx.maybeOne(sql.type(idRow)`
    insert into tenants (id, name, slug, settings, created_at, updated_at)
    values (${tenant.id}, ${tenant.name}, ${tenant.slug}, '{"require_mfa": false, "allowed_email_domains": []}', ${at}, ${at})
    on conflict (slug) do nothing returning id`)
  return inserted !== null
}

/** Updates a tenant's name and merges its settings key by key; false when nothing changes. */
export async function changeTenant(
  tx: Tx,
  tenant: { id: string; name: string | undefined; settings: Record<string, unknown>; at: number },
): Promise<boolean> {
  const name = sql.fragment`coalesce(${tenant.name ?? null}::text, name)`
  const settings = sql.fragment`settings || ${sql.jsonb(tenant.settings as never)}`
  willChange(tx, tenant.id)
  const changed = await tx.maybeOne(sql.type(idRow)`
    update tenants set name = ${name}, settings = ${settings}, version = version + 1, updated_at = ${instant(tenant.at)}
    where id = ${tenant.id} and deleted_at is null and (name, settings) is distinct from (${name}, ${settings})
    returning id`)
  return changed !== null
}

/** Changes a tenant's status from one of `from` to `to`; false when it has none of these. */
export async function updateStatus(
  tx: Tx,
  change: { id: string; from: readonly TenantStatus[]; to: TenantStatus; at: number },
): Promise<boolean> {
  const at = instant(change.at)
  willChange(tx, change.id)
  const changed = await tx.maybeOne(sql.type(idRow)`
    update tenants set status = ${change.to}, version = version + 1, updated_at = ${at},
      suspended_at = case when ${change.to}::text = 'suspended' then ${at}::timestamptz
                          when ${change.to}::text = 'archived' then suspended_at end,
      archived_at = case when ${change.to}::text = 'archived' then ${at}::timestamptz end
    where id = ${change.id} and deleted_at is null and status = any(${sql.array(change.from, 'text')})
    returning id`)
  return changed !== null
}

/** Marks a tenant as deleted; false when it already is. */
export async function markDeleted(tx: Tx, tenant: { id: string; at: number }): Promise<boolean> {
  willChange(tx, tenant.id)
  const marked = await tx.maybeOne(sql.type(idRow)`
    update tenants set deleted_at = ${instant(tenant.at)}
    where id = ${tenant.id} and deleted_at is null returning id`)
  return marked !== null
}

/** Up to `limit` ids above `after` of tenants without the rules of `revision`. As the system role. */
export function listTenantsBehind(
  tx: Tx,
  { revision, after, limit }: { revision: number; after: string; limit: number },
): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    select id from tenants where manifest_revision < ${revision} and deleted_at is null and id > ${after}
    order by id limit ${limit}`)
}

/** The number of tenants without the rules of `revision`. As the system role. */
export function countTenantsBehind(tx: Tx, revision: number): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from tenants where manifest_revision < ${revision} and deleted_at is null`)
}

/** The tenant as one of its members sees it. */
export function findTenant(tx: Read, tenantId: string, userId: string): Promise<TenantRow | null> {
  const tenant = sql.fragment`${tenantId}`
  return tx.maybeOne(sql.type(tenantRow)`
    select ${columns}, ${memberCount(tenant)} as member_count, ${roleNames(tenant)} as my_roles
    from tenants t join memberships m on m.tenant_id = t.id and m.tenant_id = ${tenantId} and ${isOfSubject(userId)}
    where t.id = ${tenantId} and t.deleted_at is null`)
}

/** Whether a tenant has this slug. */
export const hasSlug = (read: Read, tenantId: string, slug: string): Promise<boolean> =>
  read.exists(sql.unsafe`select 1 from tenants where id = ${tenantId} and slug = ${slug}`)

/** Whether there is a tenant that is not deleted. As the system role. */
export const isTenant = (read: Read, id: string): Promise<boolean> =>
  read.exists(sql.unsafe`select 1 from tenants where id = ${id} and deleted_at is null`)

/** A person's tenants. */
export const tenantList = defineList({
  id: { column: sql.fragment`t.id`, field: 'id' },
  orderings: {
    created_at: { column: sql.fragment`t.created_at`, field: 'created_at' },
    name: { column: sql.fragment`t.name_key`, field: 'name_key' },
  },
  filters: { status: byWord(sql.fragment`t.status`, tenantStatus.options) },
  search: [{ column: sql.fragment`t.name_key`, reveals: ['name'] }],
})

/** Whose tenants: a person's; with `only`, at most this one, also of a service account. */
export interface TenantsWanted {
  userId: string
  only: string | null
}

/** The active memberships `m` in tenants `t`. */
const activeIn = (read: Read, { userId, only }: TenantsWanted) => {
  const [memberships, wanted] =
    only === null
      ? [membershipsOf(read, userId), sql.fragment`true`]
      : [sql.fragment`memberships`, sql.fragment`m.tenant_id = ${only} and ${isOfSubject(userId)}`]
  return sql.fragment`
    ${memberships} m join tenants t on t.id = m.tenant_id and t.deleted_at is null where ${wanted} and m.status = 'active'`
}

/** Tenants with an active membership. As the system role. */
export function listTenantsOf(read: Read, of: TenantsWanted, page: ListPage): Promise<readonly TenantRow[]> {
  const tenant = of.only === null ? null : sql.fragment`${of.only}`
  const [count, roles] = tenant
    ? [memberCount(tenant), roleNames(tenant)]
    : [sql.fragment`m.member_count`, sql.fragment`m.roles`]
  return read.any(sql.type(tenantRow)`
    select ${columns}, ${count} as member_count, ${roles} as my_roles from ${activeIn(read, of)} ${page.tail}`)
}

/** Counts the tenants that {@link listTenantsOf} lists on all pages. */
export function countTenantsOf(read: Read, of: TenantsWanted, page: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from ${activeIn(read, of)} ${page.conditions}`)
}

/** Up to `limit` tenants deleted before `before` (ms since 1970), the earliest first. As the worker role. */
export function listPurgeable(tx: Tx, before: number, limit: number): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    select id from tenants where deleted_at <= ${instant(before)} order by deleted_at, id limit ${limit}`)
}

/**
 * Locks a deleted tenant for its purge until the transaction ends, and lets the transaction see its rows; false when
 * another process has the lock, or the tenant is not deleted. As the worker role.
 */
export async function tryPurgeLock(tx: Tx, tenantId: string): Promise<boolean> {
  const locked = await tx.maybeOneFirst(sql.type(lockedRow)`
    select pg_try_advisory_xact_lock(hashtextextended(${tenantId}, 5)) as locked from tenants
    where id = ${tenantId} and deleted_at is not null`)
  if (!locked) return false
  tx.addScope('purged_tenant', tenantId)
  return true
}

/** Deletes the row of a deleted tenant whose other rows are gone; returns the number of rows. As the worker role. */
export async function deletePurged(tx: Tx, tenantId: string): Promise<number> {
  const { rowCount } = await tx.query(sql.unsafe`
    delete from tenants where id = ${tenantId} and deleted_at is not null`)
  return rowCount
}

/**
 * The tenant that a person joined first and that is not deleted, or null. It gets rows about their account, so one from
 * before the first proof of their address comes last: its members can be strangers. As the system role.
 */
export const findFirstTenantOf = (tx: Tx, userId: string): Promise<string | null> =>
  tx.maybeOneFirst(sql.type(tenantIdRow)`
    select m.tenant_id from ${membershipsOf(tx, userId)} m join tenants t on t.id = m.tenant_id and t.deleted_at is null
    join users u on u.id = ${userId}
    order by ${isFromBefore}, m.joined_at, m.id limit 1`)

const tenantSummary = z.object({
  id: z.uuid(),
  slug: z.string(),
  name: z.string(),
  status: z.enum([...tenantStatus.options, 'deleted']),
  member_count: z.number(),
  created_at: z.number(),
})

/** A tenant as operators see it: its names and counts, not its content. */
export type TenantSummary = z.infer<typeof tenantSummary>

/**
 * Up to `limit` tenants, oldest first, whose slug or name starts with `search` (case-insensitive). Deleted tenants,
 * which wait to be purged, are listed only for the status `deleted`. As the system role.
 */
export function listAllTenants(
  tx: Tx,
  { status, search = '', limit }: { status?: string | undefined; search?: string | undefined; limit: number },
): Promise<readonly TenantSummary[]> {
  const state = sql.fragment`case when t.deleted_at is null then t.status else 'deleted' end`
  return tx.any(sql.type(tenantSummary)`
    select t.id, t.slug, t.name, ${state} as status, coalesce(c.rows, 0) as member_count, t.created_at
    from tenants t ${countMembers}
    where case when ${status ?? null}::text is null then t.deleted_at is null else ${state} = ${status ?? null} end
      and (starts_with(t.slug, lower(${search})) or starts_with(t.name_key, lower(${search})))
    order by t.created_at, t.id limit ${limit}`)
}

const namedTenant = tenantRow
  .pick({ id: true, name: true, slug: true, settings: true, member_count: true })
  .extend({ is_exact: z.boolean() })

export type NamedTenant = z.infer<typeof namedTenant>

/**
 * At most two tenants with this id, slug or name (case-insensitive), in this order, without deleted ones. As the system
 * role.
 */
export function listTenantsNamed(tx: Tx, text: string): Promise<readonly NamedTenant[]> {
  return tx.any(sql.type(namedTenant)`
    select t.id, t.name, t.slug, t.settings, coalesce(c.rows, 0) as member_count,
           t.id::text = ${text} or t.slug = ${text} as is_exact
    from tenants t ${countMembers}
    where (t.id::text = ${text} or t.slug = ${text} or t.name_key = lower(${text})) and t.deleted_at is null
    order by t.id::text = ${text} desc, t.slug = ${text} desc, t.created_at, t.id limit 2`)
}

/** Locks a person's tenants in the order of their ids, which it returns. As the system role. */
export const lockTenantsOf = (tx: Tx, userId: string): Promise<readonly string[]> =>
  lockTenants(tx, sql.fragment`select tenant_id from memberships where user_id = ${userId}`)

/**
 * Deletes tenants whose only member is erased: their names disappear at once, the purge erases the rest later. As the
 * system role.
 */
export async function eraseTenants(tx: Tx, ids: readonly string[], at: number): Promise<void> {
  for (const id of ids) willChange(tx, id)
  tx.later(sql.unsafe`
    update tenants set name = 'Erased', slug = 'erased-' || id, version = version + 1, updated_at = ${instant(at)},
      deleted_at = coalesce(deleted_at, ${instant(at)})
    where id = any(${sql.array(ids, 'uuid')})`)
}

/**
 * Counts a new tenant against the limit of its creator; false when they have created `max`, or are erased. The scope
 * must be the person. The lock on the person lets one creation at a time count.
 */
export async function countCreatedTenant(
  tx: Tx,
  { userId, tenantId, max }: { userId: string; tenantId: string; max: number },
): Promise<boolean> {
  tx.later(sql.unsafe`select 1 from users where id = ${userId} ${lock(tx, userId, 'no key update')}`)
  tx.later(sql.unsafe`insert into made_tenants (user_id, tenant_id) values (${userId}, ${tenantId})`)
  const made = await tx.oneFirst(sql.type(countRow)`
    select count(*) from made_tenants where user_id = ${userId}`)
  return made <= max
}

const settingRow = z.object({ subject_id: z.enum(subjectIds) })

/** The setting `subject_id` of the tenant. */
export async function findSubjectId(read: Read, tenantId: string): Promise<SubjectId> {
  const found = await read.maybeOneFirst(sql.type(settingRow)`
    select coalesce(settings ->> 'subject_id', 'id') as subject_id from tenants where id = ${tenantId}`)
  return found ?? 'id'
}

/** Whether a connection of the tenant is active. */
export const isConnectionActive = (
  tx: Tx,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<boolean> =>
  tx.exists(sql.unsafe`
    select 1 from connections where tenant_id = ${tenantId} and id = ${id} and status = 'active'`)
