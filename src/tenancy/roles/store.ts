import { z } from 'zod'
import { addToCount, countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow, permissionRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { ApiError } from '../../errors.ts'
import { byFlag, byText, defineList, type ListPage } from '../../lists/list.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { systemRoles } from '../../policy-engine/catalogue/actions.ts'
import { applicationName } from '../../request/body/schemas.ts'

export const roleRow = z.object({
  id: z.uuid(),
  name: z.string(),
  permissions: z.array(z.string()),
  is_system: z.boolean(),
})

export type RoleRow = z.infer<typeof roleRow>

/** The roles of a membership. Reliable only while the tenant is locked. */
export function listRolesOf(read: Read, tenantId: string, membershipId: string): Promise<readonly RoleRow[]> {
  return read.any(sql.type(roleRow)`
    select r.id, r.name, r.permissions, r.is_system
    from membership_roles mr join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
    where mr.tenant_id = ${tenantId} and mr.membership_id = ${membershipId}`)
}

/** Inserts the four system roles of a new tenant; returns their ids by name. Their permissions are policy data. */
export async function insertSystemRoles(
  tx: Tx,
  tenantId: string,
  at: number,
): Promise<Record<string, string>> {
  const ids = systemRoles.map(() => timeOrderedId(at))
  const created = new Date(at).toISOString()
  const rows = systemRoles.map((name, i) => [tenantId, ids[i]!, name, name, true, created, created])
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`
      insert into roles (tenant_id, id, name, name_key, is_system, created_at, updated_at) ${values}`)
  addToCount(tx, tenantId, 'roles', ids.length)
  return Object.fromEntries(systemRoles.map((name, i) => [name, ids[i]!]))
}

/** The form in which role names are compared: NFC, lower case. */
export const roleNameKey = (name: string): string => name.normalize('NFC').toLowerCase()

const named = (tenantId: string, namesOrIds: readonly string[]) => sql.fragment`
  select id, name, permissions, is_system from roles
  where tenant_id = ${tenantId}
    and (name_key = any(${sql.array(namesOrIds.map(roleNameKey), 'text')})
         or id::text = any(${sql.array(
           namesOrIds.map((n) => n.toLowerCase()),
           'text',
         )}))
  order by created_at, id`

/** Finds roles by name or id, each once. Unknown names are left out. */
export function listRolesNamed(
  tx: Tx,
  tenantId: string,
  namesOrIds: readonly string[],
): Promise<readonly RoleRow[]> {
  return tx.any(sql.type(roleRow)`${named(tenantId, namesOrIds)}`)
}

/** The roles with these ids. */
export const listRolesById = (
  read: Read,
  tenantId: string,
  ids: readonly string[],
): Promise<readonly RoleRow[]> =>
  read.any(sql.type(roleRow)`
    select id, name, permissions, is_system from roles
    where tenant_id = ${tenantId} and id = any(${sql.array([...ids], 'uuid')}) order by created_at, id`)

/** As listRolesNamed, but locks the roles until the transaction ends, so that the role granted is the role checked. */
export function lockRolesNamed(
  tx: Tx,
  tenantId: string,
  namesOrIds: readonly string[],
): Promise<readonly RoleRow[]> {
  return tx.any(sql.type(roleRow)`${named(tenantId, namesOrIds)} for share`)
}

const roleDetailRow = roleRow.extend({
  managed_by: z.string().nullable(),
  managed_as: z.string().nullable(),
  name_key: z.string(),
  version: z.number(),
  description: z.string(),
  member_count: z.number(),
  created_at: z.number(),
  updated_at: z.number(),
})

export type RoleDetailRow = z.infer<typeof roleDetailRow>

const columns = (tenantId: string) => sql.fragment`
  r.id, r.name, r.description, r.permissions, r.is_system, r.created_at, r.updated_at,
  r.name_key, r.version, r.managed_by, r.managed_as,
  (select count(*) from membership_roles mr where mr.tenant_id = ${tenantId} and mr.role_id = r.id) as member_count`

/** The roles of a tenant. In the default order the system roles come first: they are the oldest. */
export const roleList = defineList({
  id: { column: sql.fragment`r.id`, field: 'id' },
  orderings: {
    created_at: { column: sql.fragment`r.created_at`, field: 'created_at' },
    name: { column: sql.fragment`r.name_key`, field: 'name_key' },
  },
  filters: {
    is_system: byFlag(sql.fragment`r.is_system`),
    managed_by: byText(sql.fragment`r.managed_by`, applicationName, 'managed_by'),
  },
  search: [{ column: sql.fragment`r.name_key`, reveals: ['name'] }],
})

/** A page of the tenant's roles. */
export function listRoles(tx: Read, tenantId: string, page: ListPage): Promise<readonly RoleDetailRow[]> {
  return tx.any(sql.type(roleDetailRow)`
    select ${columns(tenantId)} from roles r where r.tenant_id = ${tenantId} ${page.tail}`)
}

/** Counts the roles that match the filters. Without filters the count comes from `row_counts`. */
export function countRoles(tx: Read, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countRows(tx, tenantId, 'roles')
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from roles r where r.tenant_id = ${tenantId} ${page.conditions}`)
}

/** Counts the custom roles that the tenant made itself, for `LIMIT_CUSTOM_ROLES`. */
export function countCustomRoles(tx: Tx, tenantId: string): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from roles where tenant_id = ${tenantId} and not is_system and managed_by is null`)
}

/** One role of the tenant, or null. */
export function findRole(tx: Read, tenantId: string, roleId: string): Promise<RoleDetailRow | null> {
  return tx.maybeOne(sql.type(roleDetailRow)`
    select ${columns(tenantId)} from roles r where r.tenant_id = ${tenantId} and r.id = ${roleId}`)
}

/** Waits for transactions that grant a role, and blocks new ones until this transaction ends. */
export async function lockRole(tx: Tx, tenantId: string, roleId: string): Promise<void> {
  tx.later(sql.unsafe`select 1 from roles where tenant_id = ${tenantId} and id = ${roleId} for update`)
}

interface CustomRole {
  tenantId: string
  id: string
  name: string
  description: string
  permissions: readonly string[]
  at: number
}

const nameTaken = () =>
  new ApiError(409, 'name_taken', 'This tenant has a role with this name. Choose another name.')

/** Inserts a custom role and gives it as it is now. The transaction can fail with 409 `name_taken`. */
export function insertRole(tx: Tx, role: CustomRole): RoleDetailRow {
  const { tenantId, id, name, description, permissions } = role
  const key = roleNameKey(name)
  const at = instant(role.at)
  tx.later(
    sql.unsafe`
      insert into roles (tenant_id, id, name, name_key, description, permissions, is_system, created_at, updated_at)
      values (${tenantId}, ${id}, ${name}, ${key}, ${description}, ${sql.array(permissions, 'text')}, false, ${at}, ${at})`,
    nameTaken,
  )
  addToCount(tx, tenantId, 'roles')
  const times = { created_at: role.at, updated_at: role.at }
  const counts = { version: 1, member_count: 0 }
  const origin = { is_system: false, managed_by: null, managed_as: null }
  return {
    id,
    name,
    name_key: key,
    description,
    permissions: [...permissions],
    ...origin,
    ...counts,
    ...times,
  }
}

/** Updates a custom role, which the caller has locked. The transaction can fail with 409 `name_taken`. */
export function changeRole(tx: Tx, role: CustomRole): void {
  tx.later(
    sql.unsafe`
      update roles set name = ${role.name}, name_key = ${roleNameKey(role.name)}, description = ${role.description},
                       permissions = ${sql.array(role.permissions, 'text')}, version = version + 1,
                       updated_at = ${instant(role.at)}
      where tenant_id = ${role.tenantId} and id = ${role.id} and not is_system`,
    nameTaken,
  )
}

/** Deletes a custom role that no member has and no policy or rule of a directory names; else false. Reliable only while the role is locked. */
export async function deleteUnusedRole(tx: Tx, tenantId: string, roleId: string): Promise<boolean> {
  const deleted = await tx.maybeOne(sql.type(idRow)`
    delete from roles where tenant_id = ${tenantId} and id = ${roleId} and not is_system and not exists (
      select 1 from membership_roles mr where mr.tenant_id = ${tenantId} and mr.role_id = ${roleId})
      and not exists (
        select 1 from directory_rule_roles rr where rr.tenant_id = ${tenantId} and rr.role_id = ${roleId})
      and not exists (
        select 1 from policies p where p.tenant_id = ${tenantId}
          and (p.rules -> 'subjects' -> 'roles' ? ${roleId} or p.rules -> 'approval' -> 'approver' -> 'roles' ? ${roleId}))
    returning id`)
  if (deleted) addToCount(tx, tenantId, 'roles', -1)
  return deleted !== null
}

const actionRow = z.object({ action: z.string() })

/**
 * The actions that the manifests of applications declare, as `resource:verb`, and `resource:` for a type without any.
 */
export async function listDeclaredActions(read: Read): Promise<string[]> {
  const rows = await read.any(sql.type(actionRow)`
    select distinct t.key || ':' || coalesce(verb, '') as action
    from (select distinct on (application) document from manifests order by application, version desc) m
    cross join lateral jsonb_each(m.document -> 'resource_types') t
    left join lateral jsonb_object_keys(t.value -> 'actions') verb on true`)
  return rows.map(({ action }) => action)
}

interface Wanted {
  tenantId: string
  /** These come first. */
  names: readonly string[]
  /** The id of a role that does not count. */
  exceptRole: string | null
}

const maxNames = 500

/** At most 500 permissions of the tenant's other roles. */
export const listActionsInRoles = (read: Read, { tenantId, names, exceptRole }: Wanted) =>
  read.anyFirst(sql.type(permissionRow)`
    select p as permission from roles r cross join lateral unnest(r.permissions) p
    where r.tenant_id = ${tenantId} and r.id is distinct from ${exceptRole}::uuid
    group by p order by p = any(${sql.array(names, 'text')}) desc, p limit ${maxNames}`)

/** At most 500 actions of the tenant's active policies. */
export const listActionsInPolicies = (read: Read, { tenantId, names }: Omit<Wanted, 'exceptRole'>) =>
  read.anyFirst(sql.type(permissionRow)`
    select a as permission from policies p cross join lateral unnest(p.actions) a
    where p.tenant_id = ${tenantId} and p.is_active
    group by a order by a = any(${sql.array(names, 'text')}) desc, a limit ${maxNames}`)

const tenantRole = z.object({
  id: z.uuid(),
  name: z.string(),
  name_key: z.string(),
  description: z.string(),
  permissions: z.array(z.string()),
  is_system: z.boolean(),
  managed_by: z.string().nullable(),
  managed_as: z.string().nullable(),
})

/** A role of a tenant, with the manifest that it comes from. */
export type TenantRole = z.infer<typeof tenantRole>

/** All roles of the tenant. */
export function listTenantRoles(tx: Tx, tenantId: string): Promise<readonly TenantRole[]> {
  return tx.any(sql.type(tenantRole)`
    select id, name, name_key, description, permissions, is_system, managed_by, managed_as
    from roles where tenant_id = ${tenantId} order by created_at, id`)
}

/** A role as a manifest gives it; `at` in ms since 1970. */
interface GivenRole {
  tenantId: string
  id: string
  name: string
  description: string
  permissions: readonly string[]
  managed_by: string
  managed_as: string
  at: number
}

/** Inserts a role of a manifest. Its name must be free. */
export async function insertManagedRole(tx: Tx, role: GivenRole): Promise<void> {
  const at = instant(role.at)
  tx.later(sql.unsafe`
    insert into roles (tenant_id, id, name, name_key, description, permissions, is_system, managed_by, managed_as,
                       created_at, updated_at)
    values (${role.tenantId}, ${role.id}, ${role.name}, ${roleNameKey(role.name)}, ${role.description},
            ${sql.array(role.permissions, 'text')}, false, ${role.managed_by}, ${role.managed_as}, ${at}, ${at})`)
  addToCount(tx, role.tenantId, 'roles')
}

/** Changes a role to what a manifest says, and marks it as managed. */
export async function changeManagedRole(tx: Tx, role: GivenRole): Promise<void> {
  tx.later(sql.unsafe`
    update roles set name = ${role.name}, name_key = ${roleNameKey(role.name)}, description = ${role.description},
                     permissions = ${sql.array(role.permissions, 'text')}, managed_by = ${role.managed_by},
                     managed_as = ${role.managed_as}, version = version + 1, updated_at = ${instant(role.at)}
    where tenant_id = ${role.tenantId} and id = ${role.id} and not is_system`)
}

/** The ids of the managed roles that a member has or a policy of the tenant's own names. */
export function listUsedRoles(tx: Tx, tenantId: string): Promise<readonly string[]> {
  return tx.anyFirst(sql.type(idRow)`
    select r.id from roles r where r.tenant_id = ${tenantId} and r.managed_by is not null and (
      exists (select 1 from membership_roles mr where mr.tenant_id = ${tenantId} and mr.role_id = r.id)
      or exists (
        select 1 from policies p where p.tenant_id = ${tenantId} and p.managed_by is null
          and (p.rules -> 'subjects' -> 'roles' ? r.id::text
               or p.rules -> 'approval' -> 'approver' -> 'roles' ? r.id::text)))`)
}

/** Frees the names of roles that get new ones, because another role can take an old name. */
export async function freeNames(tx: Tx, tenantId: string, ids: readonly string[]): Promise<void> {
  tx.later(sql.unsafe`
    update roles set name_key = id::text where tenant_id = ${tenantId} and id = any(${sql.array(ids, 'uuid')})`)
}

/** Makes a role of a manifest the tenant's own. */
export async function releaseRole(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`
    update roles set managed_by = null, managed_as = null where tenant_id = ${tenantId} and id = ${id}`)
}
