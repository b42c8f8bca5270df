import { z } from 'zod'
import { addToCount } from '../../database/count-rows.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { addPersonMemberships } from './person-store.ts'
import { giveRoles } from './roles-store.ts'

interface NewMembers {
  tenantId: string
  members: readonly {
    id: string
    user: { id: string; email: string; firstName: string; lastName: string; isVerified: boolean }
    roleIds: readonly string[]
  }[]
  at: number
}

/**
 * Inserts people as members without a department, in a few statements. The people must be those of `insertUsers` in this transaction, with the same `at`. No other transaction can change them yet: it does not lock them.
 */
export function insertMembers(tx: Tx, { tenantId, members, at: atMs }: NewMembers): void {
  const at = new Date(atMs).toISOString()
  const rows = members.map(({ id, user: { id: userId, email, firstName, lastName, isVerified } }) => [
    tenantId,
    id,
    userId,
    email,
    firstName,
    lastName,
    true,
    isVerified,
    at,
    1,
    '{}',
    at,
    at,
  ])
  for (const values of listsOfValues(rows))
    tx.later(sql.unsafe`
      insert into memberships (tenant_id, id, user_id, email, first_name, last_name, is_active, email_verified, date_joined,
                               person_version, attributes, joined_at, updated_at)
      ${values}`)
  addPersonMemberships(
    tx,
    tenantId,
    members.map(({ user }) => user.id),
  )
  addToCount(tx, tenantId, 'memberships', members.length)
  giveRoles(
    tx,
    tenantId,
    members.map(({ id: memberId, roleIds }) => ({ memberId, roleIds })),
  )
}

const lockedRow = z.object({ user_id: z.uuid() })

/** As `lockMemberShared`, for many users. Gives those who are members. */
export async function lockMembersShared(
  tx: Tx,
  tenantId: string,
  userIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (userIds.length === 0) return new Set()
  const ids = await tx.anyFirst(sql.type(lockedRow)`
    select user_id from memberships
    where tenant_id = ${tenantId} and user_id = any(${sql.array([...userIds], 'uuid')})
    order by user_id for key share`)
  return new Set(ids)
}
