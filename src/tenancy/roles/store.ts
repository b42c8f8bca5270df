import { z } from 'zod'
import { systemRoles } from '../../platform/access/actions.ts'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'

const roleRow = z.object({
  id: z.uuid(),
  name: z.string(),
  permissions: z.array(z.string()),
  is_system: z.boolean(),
})

export type RoleRow = z.infer<typeof roleRow>

/** Gives a new tenant its four system roles; answers their ids by name. What they permit is the policies' data. */
export async function insertSystemRoles(
  tx: Tx,
  tenantId: string,
  at: number,
): Promise<Record<string, string>> {
  const ids = systemRoles.map(() => timeOrderedId(at))
  const created = sql.timestamp(new Date(at))
  await tx.query(sql.unsafe`
    insert into roles (tenant_id, id, name, name_key, is_system, created_at, updated_at)
    select ${tenantId}, id, name, name, true, ${created}, ${created}
    from ${sql.unnest(
      ids.map((id, i) => [id, systemRoles[i]!]),
      ['uuid', 'text'],
    )} as r (id, name)`)
  return Object.fromEntries(systemRoles.map((name, i) => [name, ids[i]!]))
}

/** How a role's name is compared: NFC, lower case. */
export const roleNameKey = (name: string): string => name.normalize('NFC').toLowerCase()

/** The roles that `namesOrIds` name, each once; fewer than asked for where some are unknown here. */
export function listRolesNamed(
  tx: Tx,
  tenantId: string,
  namesOrIds: readonly string[],
): Promise<readonly RoleRow[]> {
  return tx.any(sql.type(roleRow)`
    select id, name, permissions, is_system from roles
    where tenant_id = ${tenantId}
      and (name_key = any(${sql.array(namesOrIds.map(roleNameKey), 'text')})
           or id::text = any(${sql.array(
             namesOrIds.map((n) => n.toLowerCase()),
             'text',
           )}))
    order by created_at, id`)
}
