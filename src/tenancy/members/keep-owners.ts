import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import type { SystemRole } from '../../policy-engine/catalogue/actions.ts'
import type { Caller } from '../../request/caller.ts'
import { firstExcess, type GrantedRole, holderOf, isOwner, refused } from '../roles/grantable-roles.ts'
import { hasActiveOwner } from './store.ts'

/** Whom a change of a membership is about: a person, or a service account, which has no `user_id`. */
export interface Changed {
  id: string
  user_id: string | null
  granted: readonly GrantedRole[]
}

/**
 * Throws 403 unless the caller can change, suspend, sign out or remove this member: only owners can change owners, and
 * other callers only members without a permission that they lack. The role `member` puts no member above another: it
 * only reads. Scopes of a key do not count here: they limit its actions. Callers can always change themselves.
 */
export function assertCanChange(caller: Caller, { id, user_id, granted }: Changed): void {
  const holder = { ...holderOf(caller), scopes: null }
  const has = (role: GrantedRole, name: SystemRole) => role.is_system && role.name === name
  if (granted.some((role) => has(role, 'owner')) && !isOwner(holder))
    throw refused('Only owners can change the membership of an owner.')
  if ((user_id ?? id) === caller.userId) return
  const above = granted.filter((role) => !has(role, 'member'))
  const excess = firstExcess(holder, above)
  if (excess)
    throw refused(
      `You cannot change a member who has permissions that you lack, such as ${excess.permission}.`,
    )
}

/**
 * Throws 409 `last_owner` when a change already made in this transaction leaves the tenant without an active owner.
 * Every such change holds the tenant's lock: of two changes that each remove one of the last two owners, the second
 * sees the first.
 */
export async function assertOwnerRemains(tx: Tx, tenantId: string): Promise<void> {
  if (await hasActiveOwner(tx, tenantId)) return
  throw new ApiError(409, 'last_owner', 'A tenant needs an active owner. Make another member an owner first.')
}
