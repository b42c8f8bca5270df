import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'

interface RolesOfMember {
  tenantId: string
  memberId: string
  roleIds: readonly string[]
}

/** Gives each of these members, who have none of them yet, their roles. */
export function giveRoles(
  tx: Tx,
  tenantId: string,
  members: readonly Omit<RolesOfMember, 'tenantId'>[],
): void {
  const rows = members.flatMap(({ memberId, roleIds }) =>
    roleIds.map((roleId) => [tenantId, memberId, roleId]),
  )
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`insert into membership_roles (tenant_id, membership_id, role_id) ${values}`)
}

/** Gives a member these roles. One that they have by a connection or a directory becomes manual, unless `keepsSource`. */
export function addRoles(
  tx: Tx,
  { tenantId, memberId, roleIds, keepsSource = false }: RolesOfMember & { keepsSource?: boolean },
): void {
  const onConflict = keepsSource
    ? sql.fragment`do nothing`
    : sql.fragment`(tenant_id, membership_id, role_id) do update set source = 'manual', connection_id = null`
  for (const values of listsOfValues(roleIds.map((roleId) => [tenantId, memberId, roleId])))
    tx.later(sql.unsafe`
      insert into membership_roles (tenant_id, membership_id, role_id) ${values} on conflict ${onConflict}`)
}

/** Gives a member exactly these roles. Those that they have keep their source. */
export function replaceRoles(tx: Tx, { tenantId, memberId, roleIds }: RolesOfMember): void {
  tx.later(sql.unsafe`
    delete from membership_roles
    where tenant_id = ${tenantId} and membership_id = ${memberId} and role_id <> all(${sql.array(roleIds, 'uuid')})`)
  addRoles(tx, { tenantId, memberId, roleIds, keepsSource: true })
}
