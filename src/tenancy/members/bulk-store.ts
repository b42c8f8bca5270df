import { sql, type Tx } from '../../platform/db/transaction.ts'

interface NewMembers {
  tenantId: string
  members: readonly { id: string; user: { id: string; email: string; firstName: string; lastName: string } }[]
  roleIds: readonly string[]
  at: number
}

/** Inserts people who are no members yet, all with the same roles and without a department, in two statements. */
export function insertMembers(tx: Tx, { tenantId, members, roleIds, at: atMs }: NewMembers): void {
  const at = sql.timestamp(new Date(atMs))
  const rows = members.map(({ id, user }) => [id, user.id, user.email, user.firstName, user.lastName])
  tx.later(sql.unsafe`
    insert into memberships (tenant_id, id, user_id, email, first_name, last_name, attributes, joined_at, updated_at)
    select ${tenantId}, id, user_id, email, first_name, last_name, '{}', ${at}, ${at}
    from ${sql.unnest(rows, ['uuid', 'uuid', 'text', 'text', 'text'])} as m (id, user_id, email, first_name, last_name)`)
  const ofRoles = members.flatMap(({ id }) => roleIds.map((roleId) => [id, roleId]))
  tx.later(sql.unsafe`
    insert into membership_roles (tenant_id, membership_id, role_id)
    select ${tenantId}, id, role_id from ${sql.unnest(ofRoles, ['uuid', 'uuid'])} as r (id, role_id)`)
}
