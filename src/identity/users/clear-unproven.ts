import type { Tx } from '../../platform/db/transaction.ts'
import { deleteAllDevices } from '../otp/factor-store.ts'
import { deleteSignInPlaces } from '../rate-limits/store.ts'

/** Deletes the factors and sign-in places of an account from before its address was proved. As the system role. */
export async function clearUnproven(tx: Tx, userId: string): Promise<void> {
  await deleteAllDevices(tx, userId)
  await deleteSignInPlaces(tx, userId)
}
