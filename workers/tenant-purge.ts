import { foreignKeyViolation } from '../src/database/executor/database-errors.ts'
import { asWorker, type Databases, sqlState, type Tx } from '../src/database/executor/transaction.ts'
import { deleteTenantRows, listTenantTables } from '../src/database/isolation/tenant-tables.ts'
import { deletePurged, listPurgeable, tryPurgeLock } from '../src/tenancy/tenants/store.ts'
import type { WorkerDeps } from './deps.ts'
import { defineTimed } from './schedule.ts'

const day = 86_400_000
const retention = 30 * day
const maxTries = 3

/** `batch`: rows per transaction. `tenants`: tenants per run. */
interface PurgeOptions {
  batch?: number
  tenants?: number
  stopped?: () => boolean
}

/**
 * Erases the tenants that were deleted at least 30 days ago; returns their ids. A session that began in such a tenant
 * and continued in another one must not end with it: where sessions can last longer, the tenant stays as long.
 */
export async function purgeDeletedTenants(
  { db, clock, config, log }: Pick<WorkerDeps, 'db' | 'clock' | 'config' | 'log'>,
  { batch = 1_000, tenants = 100, stopped = () => false }: PurgeOptions = {},
): Promise<string[]> {
  const kept = Math.max(retention, config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1_000)
  const due = await asWorker(db, (tx) => listPurgeable(tx, clock() - kept, tenants))
  const purged: string[] = []
  for (const tenantId of due) {
    if (stopped()) break
    if (!(await purgeTenant(db, tenantId, batch, stopped))) continue
    purged.push(tenantId)
    log.info({ tenant_id: tenantId }, 'a deleted tenant was erased')
  }
  return purged
}

/**
 * Deletes all rows of a deleted tenant, `batch` rows per transaction; people stay. False when another process has the
 * lock, or when `stopped`: the next run continues.
 */
async function purgeTenant(
  db: Pick<Databases, 'worker'>,
  tenantId: string,
  batch: number,
  stopped: () => boolean,
): Promise<boolean> {
  const locked = (work: (tx: Tx) => Promise<number>) =>
    asWorker(db, async (tx) => ((await tryPurgeLock(tx, tenantId)) ? work(tx) : null))
  const tables = await asWorker(db, listTenantTables)
  for (let tries = 1; ; tries++) {
    for (const table of tables)
      for (let deleted: number | null = batch; deleted !== 0; ) {
        deleted = stopped() ? null : await locked((tx) => deleteTenantRows(tx, table, tenantId, batch))
        if (deleted === null) return false
      }
    try {
      return (await locked((tx) => deletePurged(tx, tenantId))) === 1
    } catch (error) {
      // A row was written after its table was emptied, such as a count of what happened before.
      if (sqlState(error) !== foreignKeyViolation || tries === maxTries) throw error
    }
  }
}

/** Erases due tenants. Of the processes that try, one does the work. */
export const tenantPurge = defineTimed({
  name: 'tenant-purge',
  every: 600_000,
  run: async (deps, stopped) => ({ erased: (await purgeDeletedTenants(deps, { stopped })).length }),
})
