import type { Tx } from '../../platform/db/transaction.ts'
import { revokeKeysOf } from '../api-keys/store.ts'
import { deleteAllDevices } from '../otp/factor-store.ts'
import { deleteSignInPlaces } from '../rate-limits/store.ts'

/**
 * Deletes the factors and sign-in places of an account from before its address was proved, and revokes its API keys. `at`
 * is in ms since 1970. As the system role.
 */
export async function clearUnproven(tx: Tx, userId: string, at: number): Promise<void> {
  revokeKeysOf(tx, { userId, at })
  await deleteAllDevices(tx, userId)
  await deleteSignInPlaces(tx, userId)
}
