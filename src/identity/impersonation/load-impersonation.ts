import { type Read, readInTenant } from '../../database/executor/read.ts'
import type { Databases } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { Holder } from '../../tenancy/roles/grantable-roles.ts'
import {
  type AuthContextRow,
  findAuthContext,
  findMemberContext,
  isOverHere,
} from '../sessions/context-store.ts'
import { assertCanImpersonate } from './check-impersonation.ts'

interface Bearer {
  userId: string
  tenantId: string
  sessionId: string
  /** The chain of the actor. */
  familyId: string | null
  impersonatorId: string
}

const holderOf = (row: AuthContextRow): Holder => ({
  systemRoles: row.system_roles,
  permissions: row.permissions,
})

/**
 * The contexts of an impersonation: the member's, with the session of the actor, and the actor's own. Null when that
 * session is over, or one of both is switched off. Throws 403 when the actor may no longer act as the member. The actor
 * is read in a scope of their own, because a scope shows the sessions of one person only. `now` in ms since 1970.
 */
export async function loadImpersonation(
  db: Pick<Databases, 'api'>,
  read: Read,
  { userId, tenantId, sessionId, familyId, impersonatorId }: Bearer,
  now: number,
): Promise<{ member: AuthContextRow; actor: AuthContextRow } | null> {
  const scope = { userId: impersonatorId, tenantId }
  const [member, actor] = await Promise.all([
    findMemberContext(read, { userId, tenantId }),
    readInTenant(db, scope, (own) => findAuthContext(own, { ...scope, sessionId, familyId, now })),
  ])
  if (!member || !actor?.is_active || actor.over || isOverHere(actor)) return null
  if (actor.membership_status !== 'active')
    throw new ApiError(403, 'no_active_membership', 'You are not an active member of this tenant.')
  assertCanImpersonate(holderOf(actor), holderOf(member))
  const { acr, amr, auth_time, second_factor_at, connection_id, confined_to } = actor
  return {
    member: { ...member, acr, amr, auth_time, second_factor_at, connection_id, confined_to },
    actor,
  }
}
