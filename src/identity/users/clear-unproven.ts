import type { Tx } from '../../platform/db/transaction.ts'
import { deleteAllDevices } from '../otp/youth-store.ts'
import { forgetPlaces } from '../rate-limits/store.ts'

/** Removes what was set up in an account before its address was proven: factors and known places. As the system role. */
export async function clearUnproven(tx: Tx, userId: string): Promise<void> {
  await deleteAllDevices(tx, userId)
  await forgetPlaces(tx, userId)
}
