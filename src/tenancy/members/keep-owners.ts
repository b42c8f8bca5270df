import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { holderOf, isOwner, refused } from '../roles/grantable-roles.ts'
import { hasActiveOwner, type MemberRow } from './store.ts'

/** Throws 403 unless the caller can change this membership: only owners can change owners. */
export function assertCanChange(caller: Caller, member: MemberRow): void {
  if (member.roles.includes('owner') && !isOwner(holderOf(caller)))
    throw refused('Only owners can change the membership of an owner.')
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
