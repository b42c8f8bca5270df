import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import { type AccountRow, findAccount } from '../members/account-store.ts'
import { listRolesOf, type RoleRow } from '../roles/store.ts'

/** Finds a service account, or null. As for members, the lock on the tenant makes changes wait for each other. */
export async function lockAccount(tx: Tx, tenantId: string, id: string): Promise<LockedAccount | null> {
  await lockTenant(tx, tenantId)
  const [account, granted] = await Promise.all([findAccount(tx, tenantId, id), listRolesOf(tx, tenantId, id)])
  return account && { ...account, user_id: null, granted }
}

/** A service account with its roles, as a member. */
export type LockedAccount = AccountRow & { user_id: null; granted: readonly RoleRow[] }
