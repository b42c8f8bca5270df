import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Versions } from '../../platform/db/version.ts'
import { notFound } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { assertAmong } from '../../platform/http/etag.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { cancelInvitationOf } from '../invitations/cancel-invitation.ts'
import { lockTenant } from '../tenants/store.ts'
import { assertMayTouch, assertOwnerRemains } from './keep-owners.ts'
import { auditedMember } from './member-schemas.ts'
import { permitMember } from './permit-member.ts'
import { deleteMember, findMember } from './store.ts'

/** Takes a person out of the tenant, or lets them leave it; 409 `last_owner`. The person stays what they are elsewhere. */
export async function removeMember(
  { db, clock }: Deps,
  actor: Actor,
  memberId: string,
  versions: Versions,
): Promise<void> {
  const { tenantId } = actor
  const found = await inTenant(db, actor, (tx) => findMember(tx, tenantId, memberId))
  if (!found) throw notFound()
  permitMember(actor, found)
  const at = clock()
  await inTenant(db, actor, async (tx) => {
    await lockTenant(tx, tenantId)
    const member = await findMember(tx, tenantId, memberId)
    if (!member) throw notFound()
    assertAmong(versions, member.version)
    assertMayTouch(actor, member)
    await deleteMember(tx, tenantId, memberId)
    await cancelInvitationOf(tx, actor, member.email, at)
    if (member.roles.includes('owner')) await assertOwnerRemains(tx, tenantId)
    await appendEvent(tx, {
      ...causedBy(actor, at),
      type: 'tenant.member_removed',
      subject: memberId,
      data: { membership_id: memberId, user_id: member.user_id },
    })
    await appendAudit(tx, {
      ...doneBy(actor, at),
      action: 'member:delete',
      target: { type: 'member', id: memberId },
      changes: changesBetween(auditedMember(member), null),
    })
  })
}
