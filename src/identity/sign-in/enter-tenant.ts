import { ApiError } from '../../errors.ts'
import type { Membership } from '../../tenancy/members/store.ts'

/** The membership, if its person can enter the tenant by it; else a 403. Only owners can enter a closed tenant. */
export function enterable(membership: Membership | undefined): Membership | ApiError {
  if (membership?.membership_status !== 'active')
    return new ApiError(403, 'no_active_membership', 'You are not an active member of this tenant.')
  if (membership.tenant_status === 'active' || membership.is_owner) return membership
  return new ApiError(
    403,
    `tenant_${membership.tenant_status}`,
    `This tenant is ${membership.tenant_status}.`,
  )
}

/** Whether a session that began at `begunAt` (ms) was ended in the tenant of this membership. */
export const isOverIn = (membership: Membership, begunAt: number): boolean =>
  membership.sessions_ended_at !== null && membership.sessions_ended_at >= begunAt
