import type { Deps } from '../../deps.ts'
import { recordChange } from '../../platform/audit/record-change.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { invalidState, notFound } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { signature } from '../../platform/mail/free-text.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import type { MemberRow } from '../../tenancy/members/store.ts'
import { holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { findTenant } from '../../tenancy/tenants/store.ts'
import type { AuthContextRow } from '../sessions/context-store.ts'
import { assertPossibleSecondFactor } from '../sessions/fresh-authentication.ts'
import { type Impersonation, issueImpersonation } from '../sessions/issue-tokens.ts'
import { assertCanImpersonate, impersonationRefused } from './check-impersonation.ts'
import { findMemberContext } from './store.ts'

/**
 * Lets the caller act as a member for 15 minutes, records it and mails the member. Throws 401 unless the session showed
 * a second factor in the last 10 minutes, where the installation has one; 403 for an owner, a service account, oneself,
 * or a member with a permission that the caller lacks; 409 for a suspended member.
 */
export async function impersonate(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  member: MemberRow,
  reason: string,
): Promise<Impersonation> {
  const { tenantId } = caller
  const at = deps.clock()
  assertPossibleSecondFactor(caller, at)
  const { id, user_id: userId } = member
  if (userId === null) throw impersonationRefused('You cannot act as a service account: give it a key.')
  if (userId === caller.userId) throw impersonationRefused('You are this member already.')
  const person = await findMemberContext(tx, { userId, tenantId })
  if (!person) throw notFound()
  const { system_roles: systemRoles, permissions } = person
  assertCanImpersonate(holderOf(caller), { systemRoles, permissions })
  if (person.membership_status !== 'active' || !person.is_active)
    throw invalidState('This member is suspended, so you cannot act as them.', 'suspended')

  await recordChange(tx, caller, at, {
    event: 'tenant.member_impersonated',
    data: { membership_id: id, user_id: userId },
    action: 'member:impersonate',
    target: { type: 'member', id },
    changes: { reason: { before: null, after: reason } },
  })
  await notifyMember(tx, deps, caller, person, { reason, at })
  return issueImpersonation(deps, caller, { userId, email: person.email, roles: person.roles }, at)
}

async function notifyMember(
  tx: Tx,
  { sealer }: Deps,
  { tenantId, auth, userId, requestInfo }: Caller,
  person: AuthContextRow,
  { reason, at }: { reason: string; at: number },
): Promise<void> {
  const tenant = await findTenant(tx, tenantId, userId)
  await sendMail(tx, sealer, {
    tenantId,
    to: person.email,
    template: 'impersonated',
    variables: {
      firstName: person.first_name,
      tenantName: tenant?.name ?? '',
      actor: signature(auth.user),
      reason,
    },
    requestId: requestInfo.requestId,
    at,
  })
}
