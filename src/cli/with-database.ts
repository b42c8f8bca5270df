import { createSealer, type Sealer } from '../crypto/seal.ts'
import { openPool } from '../database/executor/pool.ts'
import { sendingOf } from '../database/executor/scope.ts'
import { asWorker, type Databases, type Tx } from '../database/executor/transaction.ts'
import { assertDatabaseIsSound } from '../database/isolation/soundness.ts'
import { type Config, type Role, roleSettings, roleUrls } from '../settings/config.ts'
import { openDevelopment } from '../start/development/development.ts'
import { acquireInstanceLock, InstanceRunning } from '../start/development/instance-lock.ts'
import { Refused } from './command.ts'

/**
 * Runs `work` on the database that the settings name for `roles`. In development without these settings it is the
 * embedded database: that of a running service, or one that is started for the duration of the command.
 */
export async function withDatabase<T>(
  config: Config,
  roles: readonly Role[],
  work: (config: Config) => Promise<T>,
): Promise<T> {
  if (config.production || hasUrls(config, roles)) return work(config)
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

/** Whether the settings have a database address for each of the roles. */
export const hasUrls = (config: Config, roles: readonly Role[]): boolean =>
  roles.every((role) => config[roleSettings[role]] !== undefined)

/** As {@link withDatabase}, with a pool for each of the roles. Throws if the schema is too old or isolation is broken. */
export function withPools<R extends Role, T>(
  config: Config,
  roles: readonly R[],
  work: (db: Pick<Databases, R>, config: Config) => Promise<T>,
): Promise<T> {
  return withDatabase(config, roles, async (complete) => {
    const urls = roleUrls(complete, roles)
    await assertDatabaseIsSound(urls, complete)
    const options = { size: 3, ...sendingOf(complete), applicationName: 'bailiwick-cli' }
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

/** Seals and opens secrets with SECRET_KEYS. Throws {@link Refused} if that is not set. */
export function sealerOf({ SECRET_KEYS: keys }: Config): Sealer {
  if (keys === undefined) throw new Refused('configuration', 'Set SECRET_KEYS: these keys seal all secrets.')
  return createSealer(keys)
}

const batch = 500

/** Repeats `step`, each time in its own transaction, until it handles no more rows. Gives the total. */
export async function inBatches(
  db: Pick<Databases, 'worker'>,
  step: (tx: Tx, limit: number) => Promise<number>,
): Promise<number> {
  let total = 0
  for (let handled = 1; handled > 0; total += handled) handled = await asWorker(db, (tx) => step(tx, batch))
  return total
}
