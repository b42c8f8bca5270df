import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../src/development/embedded-postgres.ts'

/** Settings that make a cluster fast but not durable. No test needs it after a crash of the machine. */
export const volatileSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
}

/** The cluster of this process, when no address is given: the number of its users, and the function that stops it. */
let own: Promise<{ url: string; remove(): Promise<void> }> | undefined
let users = 0

/**
 * The superuser's address of a Postgres for tests: TEST_DATABASE_URL, which `npm test` sets, else that of a new cluster
 * of this process. Call `release` in a teardown. The last call stops and removes the cluster.
 */
export async function superuserUrl(): Promise<{ url: string; release(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, release: async () => undefined }
  users++
  own ??= startCluster()
  const { url, remove } = await own
  return {
    url,
    release: async () => {
      if (--users > 0) return
      own = undefined
      await remove()
    },
  }
}

async function startCluster() {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-test-'))
  await chmod(folder, 0o711) // started as root, the server runs as another user, which must be able to enter the folder
  const { superuserUrl } = await startEmbeddedPostgres({ dataDir: folder, settings: volatileSettings })
  const remove = async () => {
    await removeEmbeddedPostgres({ dataDir: folder })
    await rm(folder, { recursive: true, force: true })
  }
  return { url: superuserUrl, remove }
}
