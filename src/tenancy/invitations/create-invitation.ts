import { makeOneTimeToken } from '../../crypto/one-time-token.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { findRequestedRoles, type Joiner } from '../members/add-member.ts'
import { nameTaken } from '../members/name-member.ts'
import { isNameOfAnother } from '../members/subject-store.ts'
import { assertGrantable, assertMayDescribe, type Granting, holderOf } from '../roles/grantable-roles.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import { findTenant } from '../tenants/store.ts'
import { recordExpired } from './expire-invitations.ts'
import type { NewInvitation } from './invitation-schemas.ts'
import { mailInvitation } from './mail-invitation.ts'
import {
  countPending,
  expireOverdue,
  type InvitationRow,
  insertInvitation,
  isMemberAddress,
} from './store.ts'

/** Who invites: a caller, or the person in whose name the service does. */
export type Inviter = Joiner & Granting

/**
 * Invites an address to the caller's tenant. Only the mail holds the token. 400 for an unknown role or department or a
 * domain that the tenant does not accept, 403 for a role with permissions that the caller lacks, and for a department
 * or an `external_id` without `policy:update`, 409 `already_member`, `key_taken`, `invitation_pending` or
 * `limit_reached`, 429 `throttled` for too many mails to the address, from all senders together, or to too many people
 * outside the tenant. A directory (SCIM) names the id that the membership gets; what it may give is checked before.
 */
export async function createInvitation(
  tx: Tx,
  deps: Deps,
  caller: Inviter,
  body: NewInvitation,
  membershipId: string | null = null,
): Promise<InvitationRow> {
  const { tenantId, userId, auth, requestInfo } = caller
  const { email, message, department_id: departmentId, external_id: externalId } = body
  const at = deps.clock()
  const id = timeOrderedId(at)
  const { token, hash: tokenHash } = makeOneTimeToken()
  const max = deps.config.LIMIT_PENDING_INVITATIONS
  const expiresAt = at + deps.config.INVITATION_VALIDITY_SECONDS * 1000
  await lockTenant(tx, tenantId)
  const [roles, tenant, isMember, isTaken, overdue, pending] = await Promise.all([
    findRequestedRoles(tx, tenantId, body.roles),
    findTenant(tx, tenantId, userId),
    isMemberAddress(tx, tenantId, email),
    externalId !== null && isNameOfAnother(tx, tenantId, id, externalId),
    expireOverdue(tx, tenantId, email, at),
    countPending(tx, tenantId, at),
    requireDepartment(tx, tenantId, departmentId, 'department_id'),
  ])
  if (!tenant) throw notFound()
  assertDomainAllowed(tenant.settings.allowed_email_domains, email, 'email')
  if (membershipId === null) {
    assertGrantable(holderOf(caller), roles)
    assertMayDescribe(caller, body)
  }
  if (isMember) throw new ApiError(409, 'already_member', 'A member of this tenant has this address.')
  if (isTaken) throw nameTaken()
  // An expired invitation does not block a new one.
  if (overdue) await recordExpired(tx, { tenantId, id: overdue, requestId: requestInfo.requestId, at })
  if (pending >= max)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${max} pending invitations.`)
  const inviter = { id: userId, email: auth.user.email }
  const invitation = insertInvitation(tx, {
    tenantId,
    id,
    email,
    tokenHash,
    roles,
    departmentId,
    externalId,
    membershipId,
    message,
    inviter,
    at,
    expiresAt,
  })
  await mailInvitation(deps, tx, caller, { email, message, tenantName: tenant.name, token, expiresAt, at })
  await recordChange(tx, caller, at, {
    event: 'tenant.invitation_created',
    data: { invitation_id: id },
    action: 'invitation:create',
    target: { type: 'invitation', id },
    changes: changesBetween(null, {
      email,
      roles: invitation.roles,
      department_id: departmentId,
      external_id: externalId,
      message,
    }),
  })
  return invitation
}
