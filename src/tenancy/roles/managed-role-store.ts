import { z } from 'zod'
import { addToCount } from '../../database/count-rows.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { roleNameKey } from './store.ts'

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
