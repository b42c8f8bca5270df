import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { permissionRow } from '../../database/executor/row-schemas.ts'
import { sql } from '../../database/executor/transaction.ts'

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
