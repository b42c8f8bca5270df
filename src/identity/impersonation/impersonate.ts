import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { invalidState, notFound } from '../../errors.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { signature } from '../../messages/mail/free-text.ts'
import type { Caller } from '../../request/caller.ts'
import { isOnlyAdded } from '../../tenancy/members/person-store.ts'
import type { MemberRow } from '../../tenancy/members/store.ts'
import { holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { findTenant } from '../../tenancy/tenants/store.ts'
import type { AuthContextRow } from '../sessions/context-store.ts'
import { findMemberContext } from '../sessions/context-store.ts'
import { assertPossibleSecondFactor } from '../sessions/fresh-authentication.ts'
import type { Acting } from '../sign-in/outcome.ts'
import { notifyMembers } from '../users/notify-people.ts'
import { assertCanImpersonate, impersonationRefused } from './check-impersonation.ts'

const impersonationMs = 15 * 60_000

/**
 * Lets the caller act as a member for 15 minutes, records it and mails the member. Throws 401 unless the session showed
 * a second factor in the last 10 minutes, where the installation has one; 403 for an owner, a service account, oneself,
 * a member with a permission that the caller lacks, or one who was added by their id and never entered the tenant; 409 for a suspended member.
 */
export async function impersonate(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  member: MemberRow,
  reason: string,
): Promise<Acting> {
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
  if (await isOnlyAdded(tx, { userId, tenantId }))
    throw impersonationRefused('This member has never entered this tenant, so you cannot act as them yet.')

  await recordChange(tx, caller, at, {
    event: 'tenant.member_impersonated',
    data: { membership_id: id, user_id: userId },
    action: 'member:impersonate',
    target: { type: 'member', id },
    changes: { reason: { before: null, after: reason } },
  })
  await notifyMember(tx, deps, caller, userId, { person, reason, at })
  const acted = { userId, roles: person.roles }
  return { kind: 'acting', actor: caller, member: acted, at, until: at + impersonationMs }
}

async function notifyMember(
  tx: Tx,
  { sealer }: Deps,
  { tenantId, auth, userId: actorId, requestInfo }: Caller,
  userId: string,
  { person, reason, at }: { person: AuthContextRow; reason: string; at: number },
): Promise<void> {
  const tenant = await findTenant(tx, tenantId, actorId)
  await notifyMembers(tx, sealer, [userId], {
    tenantId,
    template: 'impersonated',
    variables: {
      firstName: person.first_name,
      tenantName: tenant?.name ?? '',
      actor: signature(auth.user),
      reason,
    },
    requestInfo,
    at,
  })
}
