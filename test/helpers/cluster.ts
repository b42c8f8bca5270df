import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../src/cli/embedded-postgres.ts'
import { acquireInstanceLock, InstanceRunning, isAlive } from '../../src/cli/instance-lock.ts'

/** What makes a cluster fast and not durable: nobody wants it back after a crash of the machine. */
export const volatileSettings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '400',
}

// One folder per checkout and user: test files that run at the same time share its cluster.
const checkout = createHash('sha256')
  .update(import.meta.dirname)
  .digest('hex')
  .slice(0, 8)
const folder = join(tmpdir(), `bailiwick-test-${process.getuid?.() ?? 'user'}-${checkout}`)

/**
 * The superuser's address of a Postgres for tests: TEST_DATABASE_URL, else that of a cluster shared with the test
 * files that run at the same time. Call `release` in a teardown; the last one stops the cluster and removes it.
 */
export async function superuserUrl(): Promise<{ url: string; release(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, release: async () => undefined }
  const mark = join(folder, 'users', `${process.pid}-${randomUUID()}`)
  return exclusively(async () => {
    await mkdir(join(folder, 'users'), { recursive: true })
    const { superuserUrl } = await startEmbeddedPostgres({ dataDir: folder, settings: volatileSettings })
    await writeFile(mark, '')
    return { url: superuserUrl, release: () => leave(mark) }
  })
}

async function leave(mark: string): Promise<void> {
  await exclusively(async () => {
    await rm(mark, { force: true })
    const left = await readdir(join(folder, 'users'))
    if (left.some((name) => isAlive(Number.parseInt(name, 10)))) return
    await rm(join(folder, 'users'), { recursive: true })
    await removeEmbeddedPostgres({ dataDir: folder })
  })
  await rmdir(folder).catch(() => undefined) // where others are in, they remove it
}

async function exclusively<T>(work: () => Promise<T>): Promise<T> {
  await refuseForeign()
  const lock = await waitForLock()
  try {
    return await work()
  } finally {
    await lock.release()
  }
}

/** Anyone can create a folder of that name in the temporary folder; what lies in it is trusted. */
async function refuseForeign(): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (found && found.uid !== (process.getuid?.() ?? found.uid))
    throw new Error(`${folder} belongs to someone else`)
}

async function waitForLock() {
  for (const end = Date.now() + 300_000; ; await sleep(20)) {
    try {
      return await acquireInstanceLock(folder)
    } catch (error) {
      const removed = (error as NodeJS.ErrnoException).code === 'ENOENT'
      if (!(error instanceof InstanceRunning || removed) || Date.now() > end) throw error
    }
  }
}
