import type { Tx } from '../../platform/db/transaction.ts'
import { type AccountRow, findAccount } from '../members/account-store.ts'
import { lockTenant } from '../tenants/revision-store.ts'

/** Finds a service account, or null. As for members, the lock on the tenant makes changes wait for each other. */
export async function lockAccount(tx: Tx, tenantId: string, id: string): Promise<AccountRow | null> {
  await lockTenant(tx, tenantId)
  return findAccount(tx, tenantId, id)
}
