import type { Tx } from '../../database/executor/transaction.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { type AuditActor, changesBetween } from '../../messages/audit/append-audit.ts'
import { assertAmong } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { cancelInvitationTo } from '../invitations/cancel-invitation.ts'
import { assertCanChange, assertOwnerRemains, type Changed } from './keep-owners.ts'
import { auditedMember } from './member-schemas.ts'
import { recordMemberChange } from './record-member-change.ts'
import { deleteMember, type MemberRow } from './store.ts'

/**
 * Removes a person from the tenant, or lets them leave. 403 for a member above the caller, 409 `last_owner`. Their account and other memberships remain. A
 * service account is deleted with its keys.
 */
export async function removeMember(
  tx: Tx,
  { clock }: Deps,
  caller: Caller,
  member: MemberRow & Changed,
  versions: Versions,
): Promise<void> {
  assertAmong(versions, member.version)
  assertCanChange(caller, member)
  await endMembership(tx, caller, member, clock())
}

/**
 * Deletes a membership and cancels a pending invitation to the same address, which would restore it. Records one event and one audit row. 409 `last_owner`. The transaction must hold the tenant's lock.
 */
export async function endMembership(tx: Tx, doer: AuditActor, member: MemberRow, at: number): Promise<void> {
  const { tenantId } = doer
  const { id, user_id, email, roles } = member
  // Before the membership goes: by it the tenant sees the person.
  if (user_id !== null) await cancelInvitationTo(tx, doer, { userId: user_id, email }, at)
  await deleteMember(tx, { tenantId, id, userId: user_id, at })
  if (roles.includes('owner')) await assertOwnerRemains(tx, tenantId)
  const changes = changesBetween(auditedMember(member), null)
  await recordMemberChange(tx, doer, at, member, { what: 'removed', action: 'member:delete', changes })
}
