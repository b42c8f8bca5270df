import { setTimeout as sleep } from 'node:timers/promises'
import { asWorker } from '../src/platform/db/transaction.ts'
import { describeError } from '../src/platform/describe-error.ts'
import { purgeTenant } from '../src/tenancy/tenants/purge-tenant.ts'
import { listPurgeable } from '../src/tenancy/tenants/store.ts'
import { type Actor, looksEvery } from './actor.ts'
import type { WorkerDeps } from './deps.ts'
import { measureJob } from './measure-job.ts'

const day = 86_400_000
const retention = 30 * day
const lookEvery = 600_000

/** What is erased at a time: `batch` rows per transaction, `tenants` per look. */
interface PurgeOptions {
  batch?: number
  tenants?: number
  stopped?: () => boolean
}

/**
 * Erases the tenants that were deleted 30 days ago or earlier; gives their ids. A session that began in one of them
 * and went on elsewhere is not cut short: where sessions may live longer than that, the tenant stays as long.
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

/** Looks for tenants to erase every ten minutes. It may run in any number of processes: one of them does the work. */
export const tenantPurge: Actor = {
  name: 'tenant-purge',
  description: looksEvery(lookEvery),
  async start(deps) {
    const end = new AbortController()
    const { signal } = end
    const loop = async () => {
      while (!signal.aborted) {
        const work = purgeDeletedTenants(deps, { stopped: () => signal.aborted })
        await measureJob(deps.metrics, 'tenant-purge', work).catch((error) =>
          deps.log.warn({ error: describeError(error) }, 'tenants will be erased later'),
        )
        await sleep(lookEvery, undefined, { signal, ref: false }).catch(() => undefined)
      }
    }
    const running = loop()
    return {
      async stop() {
        end.abort()
        await running
      },
    }
  },
}
