import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { createOwnTenantOnceADay, type Person } from './create-own-tenant.ts'
import { enterable } from './enter-tenant.ts'
import { type Choice, type FirstFactor, type SignInOutcome, signIn } from './sign-in.ts'

/** Rolls back the sign-in of a person who is a member of no tenant. */
class NoTenant extends Error {}

/**
 * Signs a person in, by the first factor that they have just shown, to the tenant they name, else to the one they
 * entered last. A person without a tenant that this can be gets one of their own first, once a day. Refuses with 403 for
 * a tenant that they cannot enter.
 */
export async function signInTo(
  deps: Deps,
  person: Person,
  tenantId: string | undefined,
  factor: FirstFactor,
  requestInfo: RequestInfo,
): Promise<SignInOutcome> {
  const enter = (choose: Choice) => signIn(deps, person, choose, factor, requestInfo)
  if (tenantId !== undefined)
    return enter((memberships) => enterable(memberships.find((found) => found.tenant_id === tenantId)))
  try {
    return await enter((memberships) => {
      const last = lastEntered(memberships)
      if (!last) throw new NoTenant()
      return enterable(last)
    })
  } catch (error) {
    if (!(error instanceof NoTenant)) throw error
    const own = await createOwnTenantOnceADay(deps, person, requestInfo)
    return enter((memberships) => {
      const made = memberships.find((found) => found.tenant_id === own) ?? lastEntered(memberships)
      return made ? enterable(made) : noTenantLeft()
    })
  }
}

const noTenantLeft = () =>
  new ApiError(
    403,
    'no_active_membership',
    'You belong to no tenant, and one was created for you in the last 24 hours. Reset your password, accept an invitation, or log in again later.',
  )

/**
 * The membership for a login without a tenant: of the active memberships, the most recently entered in an active
 * tenant (the oldest, if none was entered), else one in a closed tenant that the person owns. Never one from before the
 * first proof of the address, unless the person has chosen it since. Undefined if there is none.
 */
function lastEntered(memberships: readonly Membership[]): Membership | undefined {
  const active = memberships.filter((found) => found.membership_status === 'active' && !found.only_by_choice)
  return (
    active.find((membership) => membership.tenant_status === 'active') ??
    active.find((membership) => membership.is_owner)
  )
}
