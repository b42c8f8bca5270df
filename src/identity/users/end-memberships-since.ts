import type { Tx } from '../../database/executor/transaction.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { deleteMember, type MembershipToEnd } from '../../tenancy/members/store.ts'
import { updateStatus } from '../../tenancy/tenants/store.ts'
import type { LockedPerson } from './erase-person.ts'
import { withoutPlace } from './prove-by-mailbox.ts'

interface Ending {
  since: number
  requestInfo: RequestInfo
  at: number
}

/**
 * Ends the memberships of a locked person that began at `since` (ms since 1970) or later. Archives the tenants that lose
 * their last owner by that, and returns these. As the system role.
 */
export async function endMembershipsSince(
  tx: Tx,
  { id: userId, memberships }: LockedPerson,
  { since, requestInfo, at }: Ending,
): Promise<MembershipToEnd[]> {
  const begun = memberships.filter(({ joined_at, is_deleted }) => joined_at >= since && !is_deleted)
  const common = { userId, requestInfo: withoutPlace(requestInfo), at }
  for (const membership of begun) await endMembership(tx, membership, common)
  const ownerless = begun.filter(({ is_owner, has_other_owner }) => is_owner && !has_other_owner)
  const archived: MembershipToEnd[] = []
  for (const membership of ownerless) if (await archive(tx, membership, common)) archived.push(membership)
  return archived
}

interface Common {
  userId: string
  requestInfo: RequestInfo
  at: number
}

async function endMembership(
  tx: Tx,
  { tenant_id: tenantId, membership_id: id }: MembershipToEnd,
  { userId, requestInfo, at }: Common,
): Promise<void> {
  await deleteMember(tx, { tenantId, id, userId, at })
  const { requestId } = requestInfo
  const event = {
    type: 'tenant.member_removed',
    subject: id,
    data: { membership_id: id, user_id: userId },
  } as const
  await appendEvent(tx, { ...event, tenantId, actorId: userId, requestId, at })
  await appendAudit(tx, {
    tenantId,
    actor: { id: userId, email: null },
    requestInfo,
    action: 'member:delete',
    target: { type: 'member', id },
    changes: changesBetween({ user_id: userId }, null),
    at,
  })
}

/** False if the tenant is archived already. */
async function archive(
  tx: Tx,
  { tenant_id: id }: MembershipToEnd,
  { requestInfo, at }: Common,
): Promise<boolean> {
  if (!(await updateStatus(tx, { id, from: ['active', 'suspended'], to: 'archived', at }))) return false
  const { requestId } = requestInfo
  const event = { type: 'tenant.tenant_archived', subject: id, data: { tenant_id: id } } as const
  await appendEvent(tx, { ...event, tenantId: id, actorId: null, requestId, at })
  await appendAudit(tx, {
    tenantId: id,
    actor: null,
    requestInfo,
    action: 'tenant:archive',
    target: { type: 'tenant', id },
    at,
  })
  return true
}
