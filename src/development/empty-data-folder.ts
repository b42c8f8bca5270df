import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { removeEmbeddedPostgres } from './embedded-postgres.ts'
import { acquireInstanceLock } from './instance-lock.ts'

/** Removes what development keeps in a data folder; throws while a service runs on it. */
export async function emptyDataDir(folder: string): Promise<void> {
  const dataDir = resolve(folder)
  const lock = await acquireInstanceLock(dataDir)
  try {
    await removeEmbeddedPostgres({ dataDir })
    await rm(join(dataDir, 'development-secrets.json'), { force: true })
  } finally {
    await lock.release()
  }
}
