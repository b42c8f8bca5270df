import { ApiError } from '../../errors.ts'
import { excessOf, type Holder, holds, isOwner } from '../../tenancy/roles/grantable-roles.ts'

/** 403: this member may not act as that one. */
export const impersonationRefused = (message: string) =>
  new ApiError(403, 'impersonation_not_allowed', message)

/**
 * Throws 403 unless the actor's roles permit acting as the member: not as an owner, and not as a member with a
 * permission that the actor lacks. It is asked at the beginning, and again at each request, because roles change.
 */
export function assertCanImpersonate(actor: Holder, member: Holder): void {
  if (!holds(actor, 'member:impersonate'))
    throw impersonationRefused('Your roles do not permit acting as another member.')
  if (isOwner(member)) throw impersonationRefused('You cannot act as an owner.')
  const excess = excessOf(actor, member)
  if (excess !== null)
    throw impersonationRefused(`This member has ${excess}, which you lack, so you cannot act as them.`)
}
