import type { Deps } from '../../deps.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { enterable } from '../sessions/enter-tenant.ts'
import { type FirstFactor, type SignInOutcome, signIn } from '../sessions/sign-in.ts'
import { createOwnTenant, type Person } from './create-own-tenant.ts'

/**
 * Signs a person in, by the first factor that they have just shown, to the tenant they name, else to the one they
 * entered last. Refuses with 403 for a tenant that they cannot enter.
 */
export async function signInTo(
  deps: Deps,
  person: Person,
  tenantId: string | undefined,
  factor: FirstFactor,
  requestInfo: RequestInfo,
): Promise<SignInOutcome> {
  const membership = await findPlace(deps, person, tenantId, requestInfo)
  return membership instanceof ApiError ? membership : signIn(deps, person, membership, factor, requestInfo)
}

async function findPlace(
  deps: Deps,
  person: Person,
  tenantId: string | undefined,
  requestInfo: RequestInfo,
): Promise<Membership | ApiError> {
  const list = () =>
    readAsSystem(deps.db, 'no tenant is known yet', (read) => listMembershipsOf(read, person.id))
  const memberships = await list()
  if (tenantId !== undefined)
    return enterable(memberships.find((membership) => membership.tenant_id === tenantId))
  const last = lastEntered(memberships)
  if (last) return enterable(last)
  await createOwnTenant(deps, person, requestInfo)
  return enterable(lastEntered(await list()))
}

/**
 * The membership for a login without a tenant: of the active memberships, the most recently entered in an active
 * tenant (the oldest, if none was entered), else one in a closed tenant that the person owns. Undefined if there is none.
 */
function lastEntered(memberships: readonly Membership[]): Membership | undefined {
  const active = memberships.filter((membership) => membership.membership_status === 'active')
  return (
    active.find((membership) => membership.tenant_status === 'active') ??
    active.find((membership) => membership.is_owner)
  )
}
