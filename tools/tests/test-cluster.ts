import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/start/development/embedded-postgres.ts'
import { isAlive } from '../../src/start/development/instance-lock.ts'

/** Settings that make a cluster fast but not durable: tests need no data after a crash of the machine. */
export const volatileSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '800',
  max_wal_size: '256MB',
}

/**
 * A connection plans a statement once, as it does in production from the sixth time on. Plans for single values were a
 * fifth of the processor time of Postgres.
 */
export const onePlan = { plan_cache_mode: 'force_generic_plan' }

/** Passwords of tests are no secrets. Deriving keys from them was half of the cost of a connection. */
const cheapPasswords = { scram_iterations: '1' }

const memory = '/dev/shm'
const enough = 4 * 2 ** 30
const prefix = 'bailiwick-test-'

/** `sockets`: the folder of its Unix sockets, if it has any. */
export type TestCluster = { superuserUrl: string; sockets?: string; notes: string[]; remove(): Promise<void> }

/** Starts a new Postgres for tests, with `more` settings; `remove` stops it and deletes its files. */
export async function startTestCluster(more: Record<string, string> = {}): Promise<TestCluster> {
  const folder = await mkdtemp(join(await chooseFolder(), `${prefix}${process.pid}-`))
  const remove = async () => {
    await removeEmbeddedPostgres({ dataDir: folder })
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await chmod(folder, 0o711) // root's server runs as another user, who must pass through
    // Only in memory, where the path is short enough for a socket.
    const hasSockets = folder.startsWith(memory)
    const sockets: Record<string, string> = hasSockets ? { unix_socket_directories: '.' } : {}
    const settings = { ...volatileSettings, ...cheapPasswords, ...sockets, ...more }
    const { superuserUrl, notes, folder: home } = await startEmbeddedPostgres({ dataDir: folder, settings })
    return { superuserUrl, ...(hasSockets && { sockets: join(home, 'data') }), notes, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * The folder for clusters: in memory if it has room. Tests create and drop hundreds of databases of 600 files. On ext4, files
 * become slower to create when many were just deleted; this took a sixth of the processor time of Postgres.
 */
async function chooseFolder(): Promise<string> {
  const room = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  )
  if (room < enough) return tmpdir()
  await removeAbandoned()
  return memory
}

/** Deletes what killed runs left in memory. Nothing else deletes it before the next boot. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(memory)) {
    const pid = Number(name.startsWith(prefix) && name.slice(prefix.length).split('-')[0])
    if (pid && !isAlive(pid))
      await rm(join(memory, name), { recursive: true, force: true }).catch(() => undefined)
  }
}
