import type { Tx } from '../../database/executor/transaction.ts'
import { endGrantsOfMember } from '../../messages/logouts/store.ts'
import type { Caller } from '../../request/caller.ts'
import { assertOwnerRemains } from './keep-owners.ts'
import { recordMemberChange } from './record-member-change.ts'
import { changeMember, endSessionsOfMember, type MemberRow } from './store.ts'

/**
 * Suspends a member for a directory, or lifts a suspension that a directory made. The person's sessions are over in the tenant, also when
 * they are a member again. The transaction must hold the tenant's lock. 409 `last_owner`.
 */
export async function setStatusByDirectory(
  tx: Tx,
  caller: Caller,
  member: MemberRow & { user_id: string },
  status: MemberRow['status'],
  at: number,
): Promise<void> {
  const { tenantId } = caller
  const { id, user_id: userId, attributes, department_id: departmentId, manager_id: managerId } = member
  const isSuspended = status === 'suspended'
  changeMember(tx, {
    tenantId,
    id,
    status,
    attributes,
    departmentId,
    managerId,
    byDirectory: isSuspended,
    at,
  })
  if (isSuspended) {
    await endSessionsOfMember(tx, { tenantId, id, at })
    await endGrantsOfMember(tx, { tenantId, userId }, at)
    if (member.roles.includes('owner')) await assertOwnerRemains(tx, tenantId)
  }
  const changes = { status: { before: member.status, after: status } }
  await recordMemberChange(tx, caller, at, member, { what: 'changed', action: 'member:update', changes })
}
