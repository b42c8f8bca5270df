import { type Config, type Role, roleSettings, roleUrls } from '../config.ts'
import { openDevelopment } from '../development/development.ts'
import { acquireInstanceLock, InstanceRunning } from '../development/instance-lock.ts'
import { openPool } from '../platform/db/pool.ts'
import { assertDatabaseIsSound } from '../platform/db/soundness.ts'
import type { Databases } from '../platform/db/transaction.ts'

/**
 * Runs a command on the database that the settings name for `roles`; in development, where they name none, on the
 * embedded one, beside a service that runs on it, or started for the time of the command.
 */
export async function withDatabase<T>(
  config: Config,
  roles: readonly Role[],
  work: (config: Config) => Promise<T>,
): Promise<T> {
  if (config.production || namesAll(config, roles)) return work(config)
  const lock = await acquireInstanceLock(config.DATA_DIR).catch((error) => {
    if (error instanceof InstanceRunning) return null
    throw error
  })
  try {
    const development = await openDevelopment(config)
    try {
      return await work(development.config)
    } finally {
      if (lock) await development.stop()
    }
  } finally {
    await lock?.release()
  }
}

/** Whether the settings say where the database is, for each of the roles. */
export const namesAll = (config: Config, roles: readonly Role[]): boolean =>
  roles.every((role) => config[roleSettings[role]] !== undefined)

/** The same with a pool for each of the roles, on a database that is as new as this service and isolates tenants. */
export function withPools<R extends Role, T>(
  config: Config,
  roles: readonly R[],
  work: (db: Pick<Databases, R>, config: Config) => Promise<T>,
): Promise<T> {
  return withDatabase(config, roles, async (complete) => {
    const urls = roleUrls(complete, roles)
    await assertDatabaseIsSound(urls)
    const options = { size: 2, prepared: false, applicationName: 'bailiwick-cli' }
    const pools = await Promise.all(
      roles.map(async (role) => [role, await openPool(urls[role], options)] as const),
    )
    try {
      return await work(Object.fromEntries(pools) as Pick<Databases, R>, complete)
    } finally {
      await Promise.all(pools.map(([, pool]) => pool.end()))
    }
  })
}
