import { makeOneTimeToken } from '../../crypto/one-time-token.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { invalidState, notFound } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import { assertGrantable, assertMayDescribe, holderOf } from '../roles/grantable-roles.ts'
import { assertDomainAllowed } from '../tenants/email-domains.ts'
import { findTenant } from '../tenants/store.ts'
import { mailInvitation } from './mail-invitation.ts'
import {
  findInvitation,
  hasOtherPending,
  type InvitationRow,
  invitationPending,
  lockRolesById,
  renewInvitation,
} from './store.ts'

/**
 * Sends an invitation again, with a new token and its full validity. The previous token stops working; an expired
 * invitation becomes pending. 403 for roles with permissions that the caller lacks, 409 for an accepted or cancelled
 * invitation, 429 `throttled` for too many mails to the address or to too many people outside the tenant.
 */
export async function resendInvitation(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  { id }: InvitationRow,
): Promise<InvitationRow> {
  const { tenantId, userId } = caller
  const at = deps.clock()
  const { token, hash: tokenHash } = makeOneTimeToken()
  const expiresAt = at + deps.config.INVITATION_VALIDITY_SECONDS * 1000
  await lockTenant(tx, tenantId)
  const [found, tenant] = await Promise.all([
    findInvitation(tx, tenantId, id, at),
    findTenant(tx, tenantId, userId),
  ])
  if (!found || !tenant) throw notFound()
  const { email, message } = found
  assertGrantable(holderOf(caller), await lockRolesById(tx, tenantId, found.role_ids))
  assertMayDescribe(caller, found)
  assertDomainAllowed(tenant.settings.allowed_email_domains, email, 'email')
  if (await hasOtherPending(tx, tenantId, email, id)) throw invitationPending()
  const [renewed, invitation] = await Promise.all([
    renewInvitation(tx, { tenantId, id, tokenHash, at, expiresAt }),
    findInvitation(tx, tenantId, id, at),
  ])
  if (!invitation) throw notFound()
  if (!renewed)
    throw invalidState(`An invitation that is ${invitation.status} cannot be sent again.`, invitation.status)
  await mailInvitation(deps, tx, caller, { email, message, tenantName: tenant.name, token, expiresAt, at })
  await recordChange(tx, caller, at, {
    event: 'tenant.invitation_resent',
    data: { invitation_id: id },
    action: 'invitation:resend',
    target: { type: 'invitation', id },
    changes: changesBetween(auditedState(found), auditedState(invitation)),
  })
  return invitation
}

const auditedState = ({ status, send_count, expires_at }: InvitationRow) => ({
  status,
  send_count,
  expires_at: new Date(expires_at).toISOString(),
})
