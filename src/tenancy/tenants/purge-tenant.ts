import { deleteTenantRows, listTenantTables } from '../../platform/db/tenant-tables.ts'
import { asWorker, type Databases, type Tx } from '../../platform/db/transaction.ts'
import { deletePurged, tryPurgeLock } from './store.ts'

/**
 * Erases a deleted tenant with everything that bears its id, `batch` rows per transaction; people stay. True when
 * nothing is left, false where another process is at it, or `stopped` says to end: whoever comes next goes on.
 */
export async function purgeTenant(
  db: Pick<Databases, 'worker'>,
  tenantId: string,
  batch: number,
  stopped: () => boolean,
): Promise<boolean> {
  const inTurn = (work: (tx: Tx) => Promise<number>) =>
    asWorker(db, async (tx) => ((await tryPurgeLock(tx, tenantId)) ? work(tx) : null))
  for (const table of await asWorker(db, listTenantTables))
    for (let deleted: number | null = batch; deleted !== 0; ) {
      deleted = stopped() ? null : await inTurn((tx) => deleteTenantRows(tx, table, tenantId, batch))
      if (deleted === null) return false
    }
  return (await inTurn((tx) => deletePurged(tx, tenantId))) === 1
}
