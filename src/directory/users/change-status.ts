import type { Tx } from '../../database/executor/transaction.ts'
import { revokeKeysOfMember } from '../../identity/api-keys/store.ts'
import type { Caller } from '../../request/caller.ts'
import { findMember } from '../../tenancy/members/store.ts'
import { setStatusByDirectory } from '../../tenancy/members/suspend-member.ts'
import { mutability } from '../scim-error.ts'
import type { UserRow } from './store.ts'

/**
 * Suspends a member, whose sessions, keys and grants in the tenant end; or lifts a suspension. Only one that a directory made: that of
 * a person stays theirs. 409 `mutability` for the person who made the directory's key, and `last_owner`.
 */
export async function changeStatus(
  tx: Tx,
  caller: Caller,
  row: UserRow,
  active: boolean,
  at: number,
): Promise<void> {
  const { tenantId } = caller
  if (!active) assertNotMaker(caller, row)
  if (row.status === 'suspended' && !row.suspended_by_directory) return
  const member = await findMember(tx, tenantId, row.id)
  if (!member?.user_id) return
  const { user_id } = member
  if (!active) revokeKeysOfMember(tx, { tenantId, userId: user_id, at })
  await setStatusByDirectory(tx, caller, { ...member, user_id }, active ? 'active' : 'suspended', at)
}

/** Throws 409 `mutability` for the person who made the key of the directory: it must not be able to lock itself out. */
export function assertNotMaker(caller: Caller, { user_id: userId }: UserRow): void {
  if (userId !== null && userId === caller.keyMakerId)
    throw mutability('A directory cannot suspend or remove the person who made its key.')
}
