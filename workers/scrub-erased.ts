import { deleteErasure, listErasures } from '../src/identity/expiry-store.ts'
import { scrubLogs } from '../src/platform/audit/erase-audit.ts'
import { asWorker } from '../src/platform/db/transaction.ts'
import { deleteMailsNaming } from '../src/platform/mail/mail-store.ts'
import type { WorkerDeps } from './deps.ts'

/** Requests of a person that were under way when they were erased have written what they write by then. */
const settled = 60_000
const maxPeople = 100

/** Leaves of people who were erased the id alone, tenant by tenant; gives how many people. Running twice changes nothing. */
export async function scrubErased({
  db,
  clock,
  sealer,
}: Pick<WorkerDeps, 'db' | 'clock' | 'sealer'>): Promise<number> {
  const erased = await asWorker(db, (tx) => listErasures(tx, clock() - settled, maxPeople))
  for (const { user_id: userId, email, tenant_ids, target_ids: targetIds } of erased) {
    for (const tenantId of tenant_ids) {
      await asWorker(db, (tx) => scrubLogs(tx, { tenantId, userId, email, targetIds }))
      await asWorker(db, (tx) => deleteMailsNaming(tx, sealer, tenantId, email))
    }
    await asWorker(db, (tx) => deleteErasure(tx, userId))
  }
  return erased.length
}
