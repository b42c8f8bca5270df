import { ApiError } from '../../platform/errors.ts'
import type { Membership } from '../../tenancy/members/store.ts'

export const noActiveMembership = () =>
  new ApiError(403, 'no_active_membership', 'You are not an active member of this tenant.')

/** Throws 403 unless these are the terms of a place that its person may enter; a closed tenant admits owners alone. */
export function assertEnterable(place: Membership | undefined): asserts place is Membership {
  if (place?.membership_status !== 'active') throw noActiveMembership()
  if (place.tenant_status === 'active' || place.is_owner) return
  throw new ApiError(403, `tenant_${place.tenant_status}`, `This tenant is ${place.tenant_status}.`)
}

/** Whether a session, begun at `begunAt` (ms), was ended in the tenant of this place. */
export const isOverIn = (place: Membership, begunAt: number): boolean =>
  place.sessions_ended_at !== null && place.sessions_ended_at >= begunAt

/**
 * Where a login without a tenant leads: the active membership in an active tenant that was entered last, else the
 * oldest such, else an own closed tenant. Undefined when there is none: then a new personal tenant is due.
 */
export function choosePlace(places: readonly Membership[]): Membership | undefined {
  const active = places.filter((place) => place.membership_status === 'active')
  return active.find((place) => place.tenant_status === 'active') ?? active.find((place) => place.is_owner)
}
