import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../platform/audit/append-audit.ts'
import { recordChange } from '../../platform/audit/record-change.ts'
import { makeOneTimeToken } from '../../platform/crypto/one-time-token.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { requireDepartment } from '../departments/create-department.ts'
import { findRequestedRoles } from '../members/add-member.ts'
import { assertGrantable, holderOf } from '../roles/grantable-roles.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import { lockTenant } from '../tenants/revision-store.ts'
import { findTenant } from '../tenants/store.ts'
import { recordExpired } from './expire-invitations.ts'
import type { NewInvitation } from './invitation-schemas.ts'
import { mailInvitation } from './mail-invitation.ts'
import {
  countPending,
  expireOverdue,
  findInvitation,
  type InvitationRow,
  insertInvitation,
  isMemberAddress,
} from './store.ts'

/**
 * Invites an address to the caller's tenant. Only the mail holds the token. 400 for an unknown role or department or a
 * domain that the tenant does not accept, 403 for a role with permissions that the caller lacks, 409 `already_member`,
 * `invitation_pending` or `limit_reached`, 429 `throttled` for too many mails to the address, from all senders
 * together, or to too many people outside the tenant.
 */
export async function createInvitation(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  body: NewInvitation,
): Promise<InvitationRow> {
  const { tenantId, userId, auth } = caller
  const { email, message } = body
  const at = deps.clock()
  const id = timeOrderedId(at)
  const { token, hash: tokenHash } = makeOneTimeToken()
  const max = deps.config.LIMIT_PENDING_INVITATIONS
  const expiresAt = at + deps.config.INVITATION_VALIDITY_SECONDS * 1000
  await lockTenant(tx, tenantId)
  const roles = await findRequestedRoles(tx, tenantId, body.roles)
  const departmentId = body.department_id
  await requireDepartment(tx, tenantId, departmentId, 'department_id')
  const tenant = await findTenant(tx, tenantId, userId)
  if (!tenant) throw notFound()
  assertDomainAllowed(tenant.settings.allowed_email_domains, email, 'email')
  assertGrantable(holderOf(caller), roles)
  await assertCanInvite(tx, caller, { email, max, at })
  const roleIds = roles.map((role) => role.id)
  const inviter = { id: userId, email: auth.user.email }
  const invitation = {
    tenantId,
    id,
    email,
    tokenHash,
    roleIds,
    departmentId,
    message,
    inviter,
    at,
    expiresAt,
  }
  if (!(await insertInvitation(tx, invitation))) throw invitationPending()
  await mailInvitation(deps, tx, caller, { email, message, tenantName: tenant.name, token, at })
  const data = { invitation_id: id }
  const audited = { email, roles: roles.map((role) => role.name), department_id: departmentId, message }
  await recordChange(tx, caller, at, {
    event: 'tenant.invitation_created',
    data,
    action: 'invitation:create',
    target: { type: 'invitation', id },
    changes: changesBetween(null, audited),
  })
  const created = await findInvitation(tx, tenantId, id, at)
  if (!created) throw new Error('The new invitation cannot be read')
  return created
}

/** Throws 409 for a member and for too many pending invitations. An expired invitation does not block a new one. */
async function assertCanInvite(
  tx: Tx,
  { tenantId, requestInfo }: Caller,
  { email, max, at }: { email: string; max: number; at: number },
): Promise<void> {
  if (await isMemberAddress(tx, tenantId, email))
    throw new ApiError(409, 'already_member', 'A member of this tenant has this address.')
  const overdue = await expireOverdue(tx, tenantId, email, at)
  if (overdue) await recordExpired(tx, { tenantId, id: overdue, requestId: requestInfo.requestId, at })
  if ((await countPending(tx, tenantId, at)) >= max)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${max} pending invitations.`)
}

export const invitationPending = () =>
  new ApiError(
    409,
    'invitation_pending',
    'This address already has a pending invitation. Send that one again.',
  )
