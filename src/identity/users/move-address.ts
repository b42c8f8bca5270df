import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type AuditedActor, appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { endTokensSentElsewhere } from '../../messages/links/link-store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { isInOneDomain } from '../../tenancy/domains/store.ts'
import { findTenantRequiringDomain, listMembershipsOf } from '../../tenancy/members/store.ts'
import { recordVerified } from '../email-verification/record-verified.ts'
import { markProven, recordAddressChange } from './address-store.ts'
import { leaveAddress } from './finish-address-change.ts'
import { type UserRow, updatePerson } from './store.ts'

/** What a directory says of a person. Null keeps what the account has. */
export interface Said {
  tenantId: string
  email: string | null
  firstName: string | null
  lastName: string | null
}

/**
 * Whether a directory's new address can become that of the account at all: the account has proven its own, both are in one domain that its tenant verified and lends to
 * no one, the person is no owner anywhere, and no other tenant forbids the address. As the system role.
 */
export async function canMove(
  tx: Tx,
  { id, email: before, email_verified_at }: UserRow,
  { tenantId, email }: { tenantId: string; email: string },
): Promise<boolean> {
  const [isInOne, memberships, forbidding] = await Promise.all([
    isInOneDomain(tx, tenantId, [before, email]),
    listMembershipsOf(tx, id),
    findTenantRequiringDomain(tx, id, { before: domainOf(before), after: domainOf(email) }),
  ])
  const isMember = memberships.some(
    ({ tenant_id, membership_status }) => tenant_id === tenantId && membership_status === 'active',
  )
  return (
    email_verified_at !== null &&
    isInOne &&
    isMember &&
    !forbidding &&
    !memberships.some(({ is_owner }) => is_owner)
  )
}

const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1)

interface By {
  actor: AuditedActor
  requestInfo: RequestInfo
  at: number
}

/**
 * Gives an account the names and the address that a directory says. The address counts as verified: the tenant's domain vouches for it, or
 * its reader confirmed it. `canUndo`: the old mailbox gets a link that undoes it. 400 on `email` if another account has the address. As the
 * system role; the person is locked.
 */
export async function moveProfile(
  deps: Deps,
  tx: Tx,
  user: UserRow,
  { tenantId, email, firstName, lastName }: Said,
  { actor, requestInfo, at, canUndo }: By & { canUndo: boolean },
): Promise<void> {
  const { id } = user
  const updated = await updatePerson(tx, { id, email, firstName, lastName, preferences: {}, at }, null)
  if (!updated) return
  const { email: now, previous_email: from, previous_verified_at: fromVerifiedAt } = updated
  if (now !== from && canUndo)
    await leaveAddress(deps, tx, { userId: id, tenantId, requestInfo }, updated, at)
  else if (now !== from) {
    await recordAddressChange(tx, { id, from, fromVerifiedAt, at, codesUntil: at })
    await endTokensSentElsewhere(tx, { id, email: now, at })
  }
  if (now !== from && (await markProven(tx, { id, email: now, at })))
    await recordVerified(tx, {
      userId: id,
      email: now,
      tenantId,
      bySystem: true,
      voucher: actor,
      requestInfo,
      at,
    })
  const { requestId } = requestInfo
  const event = {
    type: 'identity.user_updated',
    subject: id,
    data: { user_id: id },
    actorId: actor.id,
  } as const
  await appendEvent(tx, { ...event, tenantId, requestId, at })
  const { email: _, first_name, last_name } = user
  await appendAudit(tx, {
    tenantId,
    actor,
    requestInfo,
    action: 'profile:update',
    target: { type: 'user', id },
    changes: changesBetween(
      { email: from, first_name, last_name },
      { email: now, first_name: updated.first_name, last_name: updated.last_name },
    ),
    at,
  })
}
