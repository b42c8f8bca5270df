import { asSystem, inTenant } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { deadLink, findLink, spendLink } from '../../messages/links/one-time-link.ts'
import { endMembership } from './remove-member.ts'
import { findMember } from './store.ts'

/**
 * Ends the membership that a one-time link names, on behalf of its person and in any state of the tenant: a person who
 * was added without being asked needs no permission to leave. 400 `token_invalid`, also when the membership has already
 * ended; 400 `token_expired`; 409 `last_owner`, which leaves the link usable.
 */
export async function leaveTenant(
  { db, clock }: Deps,
  requestInfo: RequestInfo,
  token: string,
): Promise<void> {
  const at = clock()
  const link = await asSystem(db, 'the person who opens the link need not be logged in', (tx) =>
    findLink(tx, { purpose: 'tenant_leave', token, at }),
  )
  const { tenantId, userId, targetId } = link
  if (targetId === null) throw deadLink()
  await inTenant(db, { tenantId, userId }, async (tx) => {
    await lockTenant(tx, tenantId)
    await spendLink(tx, link)
    const member = await findMember(tx, tenantId, targetId)
    if (!member) throw deadLink()
    await endMembership(tx, { tenantId, userId, requestInfo, auth: { user: member } }, member, at)
  })
}
