import type { Tx } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { holderOf, isOwner, refused } from '../roles/grantable-roles.ts'
import { hasActiveOwner, type MemberRow } from './store.ts'

/** Throws 403 for an owner's membership in the hands of somebody who is none. */
export function assertMayTouch(caller: Caller, member: MemberRow): void {
  if (member.roles.includes('owner') && !isOwner(holderOf(caller)))
    throw refused('The membership of an owner is changed by owners alone.')
}

/**
 * Throws 409 `last_owner` where a change, made already in this transaction, leaves nobody who can own the tenant.
 * Every such change holds the tenant's lock, so of two that would take the last two owners away the second sees
 * the first.
 */
export async function assertOwnerRemains(tx: Tx, tenantId: string): Promise<void> {
  if (await hasActiveOwner(tx, tenantId)) return
  throw new ApiError(409, 'last_owner', 'A tenant needs an active owner. Make somebody else an owner first.')
}
