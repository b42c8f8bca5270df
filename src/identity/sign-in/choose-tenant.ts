import { ApiError } from '../../errors.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { type Refused, refused } from './outcome.ts'

/** A membership by which its person can enter. */
export interface Chosen {
  kind: 'chosen'
  membership: Membership
}

/** What a sign-in says of the tenant that it enters. */
interface Target {
  /** The tenant that the person named; null: the one that they entered last. */
  tenantId: string | null
  /** The tenant that was made for them because they had none, or null if none could be made. */
  made?: string | null | undefined
}

/** The tenant of a sign-in. `no_tenant`: the person named none, and belongs to none that they could enter. */
export function chooseTenant(
  memberships: readonly Membership[],
  { tenantId, made }: Target,
): Chosen | Refused | { kind: 'no_tenant' } {
  if (tenantId !== null) return membershipIn(memberships, tenantId)
  const found = memberships.find((membership) => membership.tenant_id === made) ?? lastEntered(memberships)
  return found ? enterable(found) : { kind: 'no_tenant' }
}

/**
 * The membership for a login without a tenant: of the active memberships, the most recently entered in an active
 * tenant (the oldest, if none was entered), first of those that do not require a connection, else one in a closed tenant that the person owns. Never one from before the
 * first proof of the address, unless the person has chosen it since. Undefined if there is none.
 */
function lastEntered(memberships: readonly Membership[]): Membership | undefined {
  const active = memberships.filter((found) => found.membership_status === 'active' && !found.only_by_choice)
  const open = active.filter((membership) => membership.tenant_status === 'active')
  return (
    open.find((membership) => !membership.requires_sso) ??
    open[0] ??
    active.find((membership) => membership.is_owner)
  )
}

/** The membership in a tenant, if its person can enter by it; else a 403. */
export const membershipIn = (memberships: readonly Membership[], tenantId: string): Chosen | Refused =>
  enterable(memberships.find((membership) => membership.tenant_id === tenantId))

/** Only owners can enter a closed tenant. */
function enterable(membership: Membership | undefined): Chosen | Refused {
  if (membership?.membership_status !== 'active')
    return refused(new ApiError(403, 'no_active_membership', 'You are not an active member of this tenant.'))
  const { tenant_status: status, is_owner: isOwner } = membership
  if (status === 'active' || isOwner) return { kind: 'chosen', membership }
  return refused(new ApiError(403, `tenant_${status}`, `This tenant is ${status}.`))
}

/** Whether a session that began at `begunAt` (ms) was ended in the tenant of this membership. */
export const isOverIn = (membership: Membership, begunAt: number): boolean =>
  membership.sessions_ended_at !== null && membership.sessions_ended_at >= begunAt
