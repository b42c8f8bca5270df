import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../platform/audit/append-audit.ts'
import { makeOneTimeToken } from '../../platform/crypto/one-time-token.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { causedBy } from '../../platform/outbox/caused-by.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { departmentAsked, rolesAsked } from '../members/add-member.ts'
import { assertGivable, holderOf } from '../roles/grantable-roles.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import { findTenant, lockTenant } from '../tenants/store.ts'
import { tellExpired } from './expire-invitations.ts'
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
 * Invites an address to the caller's tenant, by a mail that alone holds the token. 400 for an unknown role or
 * department or a domain that the tenant does not take, 403 for a role above the caller's own, 409 `already_member`,
 * `invitation_pending` or `limit_reached`, 429 `throttled` for too many mails to the address, whoever sends them,
 * or to too many strangers.
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
  const most = deps.config.LIMIT_PENDING_INVITATIONS
  const expiresAt = at + deps.config.INVITATION_VALIDITY_SECONDS * 1000
  await lockTenant(tx, tenantId)
  const roles = await rolesAsked(tx, tenantId, body.roles)
  const departmentId = await departmentAsked(tx, tenantId, body.department_id)
  const tenant = await findTenant(tx, tenantId, userId)
  if (!tenant) throw notFound()
  assertDomainAllowed(tenant.settings.allowed_email_domains, email, 'email')
  assertGivable(holderOf(caller), roles)
  await makeRoom(tx, caller, { email, most, at })
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
  await appendEvent(tx, { ...causedBy(caller, at), type: 'tenant.invitation_created', subject: id, data })
  const shown = { email, roles: roles.map((role) => role.name), department_id: departmentId, message }
  await appendAudit(tx, {
    ...doneBy(caller, at),
    action: 'invitation:create',
    target: { type: 'invitation', id },
    changes: changesBetween(null, shown),
  })
  const made = await findInvitation(tx, tenantId, id, at)
  if (!made) throw new Error('The invitation just made cannot be seen')
  return made
}

/** Whoever belongs here needs no invitation, and one that has run out does not stand in the way of another. */
async function makeRoom(
  tx: Tx,
  { tenantId, requestInfo }: Caller,
  { email, most, at }: { email: string; most: number; at: number },
): Promise<void> {
  if (await isMemberAddress(tx, tenantId, email))
    throw new ApiError(409, 'already_member', 'A member of this tenant has this address.')
  const overdue = await expireOverdue(tx, tenantId, email, at)
  if (overdue) await tellExpired(tx, { tenantId, id: overdue, requestId: requestInfo.requestId, at })
  if ((await countPending(tx, tenantId, at)) >= most)
    throw new ApiError(409, 'limit_reached', `A tenant may have ${most} pending invitations.`)
}

export const invitationPending = () =>
  new ApiError(409, 'invitation_pending', 'This address has an invitation already: send that one again.')
