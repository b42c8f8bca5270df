import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Caller } from '../../request/caller.ts'
import { type AccountRow, findAccount, noteMachineKeeper } from '../members/account-store.ts'
import { assertGrantable, assertMayDescribe, holderOf } from '../roles/grantable-roles.ts'
import { listRolesOf, type RoleRow } from '../roles/store.ts'

/** Finds a service account, or null. As for members, the lock on the tenant makes changes wait for each other. */
export async function lockAccount(tx: Tx, tenantId: string, id: string): Promise<LockedAccount | null> {
  await lockTenant(tx, tenantId)
  const [account, granted] = await Promise.all([findAccount(tx, tenantId, id), listRolesOf(tx, tenantId, id)])
  return account && { ...account, user_id: null, granted }
}

/** The same for a caller who gets to act as the account, which takes all that it may do. Throws 403. */
export async function lockHeldAccount(tx: Tx, caller: Caller, id: string): Promise<LockedAccount | null> {
  const account = await lockAccount(tx, caller.tenantId, id)
  if (!account) return null
  assertGrantable(holderOf(caller), account.granted)
  assertMayDescribe(caller, account)
  return account
}

/** The same for a caller who gets to sign in as a machine that acts as the account: they count as its keeper from now on. */
export async function keepAccount(tx: Tx, caller: Caller, id: string): Promise<LockedAccount | null> {
  const account = await lockHeldAccount(tx, caller, id)
  if (account) noteMachineKeeper(tx, { tenantId: caller.tenantId, id, userId: caller.userId })
  return account
}

/** A service account with its roles, as a member. */
export type LockedAccount = AccountRow & { user_id: null; granted: readonly RoleRow[] }
