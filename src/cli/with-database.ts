import type { Config } from '../config.ts'
import { openDevelopment } from './development.ts'
import { acquireInstanceLock, InstanceRunning } from './instance-lock.ts'

/**
 * Runs a command on the database that the settings name; in development on the embedded one, beside a service that
 * runs on it, or started for the time of the command.
 */
export async function withDatabase<T>(config: Config, work: (config: Config) => Promise<T>): Promise<T> {
  const { DATABASE_API_URL, DATABASE_SYSTEM_URL, DATABASE_WORKER_URL } = config
  if (config.production || (DATABASE_API_URL && DATABASE_SYSTEM_URL && DATABASE_WORKER_URL))
    return work(config)
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
