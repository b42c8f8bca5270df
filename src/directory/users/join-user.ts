import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import { makeVouchedPerson } from '../../identity/users/make-vouched-person.ts'
import { actorOf } from '../../messages/audit/append-audit.ts'
import type { Caller } from '../../request/caller.ts'
import { overtaken } from '../../request/route.ts'
import { createInvitation } from '../../tenancy/invitations/create-invitation.ts'
import { adoptPending } from '../../tenancy/invitations/terms-store.ts'
import { findRequestedRoles, joinMember } from '../../tenancy/members/add-member.ts'
import { assertDomainAllowed } from '../../tenancy/tenants/email-domains.ts'
import { findTenant } from '../../tenancy/tenants/store.ts'
import { mutability } from '../scim-error.ts'
import { factsOf } from './describe-member.ts'
import type { Account } from './find-account.ts'
import type { Described } from './user-resource.ts'

/** What becomes of a User without a membership. */
export interface Joined {
  isMember: boolean
  /** The person whom SCIM made for it. */
  madeUserId: string | null
}

const waits: Joined = { isMember: false, madeUserId: null }

/**
 * Gives a User its membership, whose id is that of the User: at once where the tenant vouches for the address, else by an
 * invitation. `account` is null if none was looked for, or the mail for it has to wait. Without an address, and while it is not active,
 * the User waits. Gives `overtaken` if the account is made meanwhile. 403 where a policy denies the service account to add members or
 * to invite, 400 for a domain that the tenant does not accept, 409 `mutability` for a deactivated account.
 */
export async function joinUser(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  id: string,
  user: Described,
  account: Account | null,
): Promise<Joined | typeof overtaken> {
  const { email, externalId } = user
  if (email === null || !user.active || account === null) return waits
  const { tenantId, userId } = caller
  const at = deps.clock()
  const [tenant, roles] = await Promise.all([
    findTenant(tx, tenantId, userId),
    findRequestedRoles(tx, tenantId, ['member']),
  ])
  if (!tenant) throw notFound()
  assertDomainAllowed(tenant.settings.allowed_email_domains, email, 'emails')
  if (!account.isVouched) {
    if (await adoptPending(tx, { tenantId, email, membershipId: id, at })) return waits
    assertNotDenied(caller, 'invitation:create', email)
    const to = { email, message: '', department_id: null, external_id: externalId, roles: ['member'] }
    await createInvitation(tx, deps, caller, to, id)
    return waits
  }
  assertNotDenied(caller, 'member:create', email)
  if (account.isDeactivated) throw mutability('The account with this address is deactivated.')
  const known = account.person
  const { firstName, lastName } = user
  const made = {
    email,
    firstName,
    lastName,
    tenantId,
    voucher: actorOf(caller),
    requestInfo: caller.requestInfo,
    at,
  }
  const person = known ?? (await makeVouchedPerson(tx, made))
  if (!person) return overtaken
  const mailsAs = known ? tenant.name : null
  const facts = await factsOf(tx, tenantId, id, user.document)
  await joinMember(tx, deps, caller, { id, user: person, roles, externalId, ...facts, mailsAs, at })
  return { isMember: true, madeUserId: known ? null : person.id }
}

type Joining = 'member:create' | 'invitation:create'

/** Whether a policy denies the directory to make the person with this address a member, or to invite them. */
export function isDenied(caller: Caller, action: Joining, email: string): boolean {
  const type = action === 'member:create' ? 'member' : 'invitation'
  return caller.denies(action, { type, fields: { email, roles: ['member'] } })
}

function assertNotDenied(caller: Caller, action: Joining, email: string): void {
  if (isDenied(caller, action, email))
    throw new ApiError(403, 'permission_denied', `A policy denies the directory ${action}.`)
}
