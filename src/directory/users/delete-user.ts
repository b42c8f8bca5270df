import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { cancelInvitationTo } from '../../tenancy/invitations/cancel-invitation.ts'
import { endMembership } from '../../tenancy/members/remove-member.ts'
import { findMember } from '../../tenancy/members/store.ts'
import { mutability } from '../scim-error.ts'
import { assertNotMaker } from './change-status.ts'
import { assertFree, recordUser } from './save-user.ts'
import { deletePendingUser, type UserRow } from './store.ts'
import { describeUser, resourceOf } from './user-resource.ts'

/**
 * Deletes a User with its membership, or its invitation. The person stays. The transaction must hold the tenant's lock. 409 `mutability`
 * for the person who made the directory's key and for a member whom a person suspended, and `last_owner`; 409 `uniqueness` for a User that waits
 * with an address of a member; 403 where a policy denies the service account to remove members.
 */
export async function deleteUser(tx: Tx, { clock }: Deps, caller: Caller, row: UserRow): Promise<void> {
  const { tenantId } = caller
  const { id, user_id: userId, email } = row
  const at = clock()
  assertNotMaker(caller, row)
  const before = describeUser(resourceOf(row))
  if (userId === null) {
    // Deprovisioning must not miss the member who has the address by now.
    await assertFree(tx, { ...before, tenantId, id })
    if (before.email !== null) await cancelInvitationTo(tx, caller, { userId: id, email: before.email }, at)
    deletePendingUser(tx, tenantId, id)
  } else {
    if (
      caller.denies('member:delete', {
        type: 'member',
        id,
        ownerId: userId,
        fields: { email, user_id: userId },
      })
    )
      throw new ApiError(403, 'permission_denied', 'A policy denies the directory member:delete.')
    if (row.status === 'suspended' && !row.suspended_by_directory)
      throw mutability('An administrator suspended this member, and only they can remove it.')
    const member = await findMember(tx, tenantId, id)
    if (member) await endMembership(tx, caller, member, at)
  }
  const isMember = userId !== null
  await recordUser(tx, caller, at, { event: 'directory.user_deleted', id, isMember, before, after: null })
}
