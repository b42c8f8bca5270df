import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { open, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { isAlive } from './instance-lock.ts'
import { findBinaries, serverEnvironment } from './postgres-binaries.ts'
import type { Place } from './postgres-place.ts'
import { endWithUs } from './postgres-watcher.ts'

const run = promisify(execFile)
const FAST_STOP_LIMIT_MS = 10_000
const defaults = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  log_line_prefix: '%m [%p] ',
}

type Server = { pid: number; port: number }
/** Server settings by name, as in postgresql.conf. */
export type Settings = Record<string, string>

/**
 * The superuser's address of the server of `place`: of the one that runs, else of a new one with `settings`.
 * Throws after `deadline` (ms since the epoch), or once the server has refused to start three times: it may
 * have found its port taken, or another process starting the same server, between look and leap.
 */
export async function serve(place: Place, settings: Settings, deadline: number): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const server = (await adopt(place, deadline)) ?? (await launch(place, settings, deadline))
      return urlOf(server.port, await readFile(join(place.home, 'password'), 'utf8'))
    } catch (error) {
      if (attempt === 3 || Date.now() > deadline) throw error
    }
  }
}

/**
 * The server that another process has started and keeps. One whose process has died is about to end, and is waited for;
 * a pid file of a foreign process is removed.
 */
async function adopt(place: Place, deadline: number): Promise<Server | undefined> {
  for (; Date.now() < deadline; await sleep(50)) {
    const server = await readPidFile(place)
    if (!server || !isAlive(server.pid)) return undefined // Postgres itself clears the file of a dead process
    if (!(await isOurs(server.pid, place))) {
      await rm(join(place.data, 'postmaster.pid'), { force: true })
      return undefined
    }
    if (await isOrphan(place, server.pid)) await stopServer(place)
    else if (await answers(server.port, place)) return server
  }
  throw new Error(`a server on ${place.data} runs but does not answer`)
}

const keeperFile = (place: Place) => join(place.home, 'keeper')

/** Whether the process that started this server has died. */
async function isOrphan(place: Place, pid: number): Promise<boolean> {
  const [server, keeper] = (await readFile(keeperFile(place), 'utf8').catch(() => '')).split(' ').map(Number)
  return server === pid && keeper !== undefined && !isAlive(keeper)
}

async function launch(place: Place, settings: Settings, deadline: number): Promise<Server> {
  const port = await freePort(Number(await readFile(join(place.home, 'port'), 'utf8').catch(() => '0')))
  const log = await open(place.log, 'a+', 0o600)
  try {
    const { size } = await log.stat()
    const child = await spawnServer(place, { ...defaults, port: String(port), ...settings }, log.fd)
    if (!(await isReady(place, child, deadline))) {
      child.kill('SIGQUIT')
      throw new Error(
        `the server does not become ready; ${place.log} says:\n${await tail(place.log, size)}\n`,
      )
    }
    await writeFile(join(place.home, 'port'), String(port))
    return { pid: child.pid!, port }
  } finally {
    await log.close()
  }
}

/** In a process group of its own: Ctrl-C in a terminal reaches us alone, and we drain before we stop it. */
async function spawnServer(place: Place, settings: Settings, log: number): Promise<ChildProcess> {
  const { native, copied } = await findBinaries(place.home, place.account)
  if (copied && place.notes.length === 0)
    place.notes.push(`Postgres runs from a copy of its binaries in ${native}`)
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(native, 'bin', 'postgres'), ['-D', place.data, ...flags], {
    ...place.account,
    cwd: place.home,
    env: serverEnvironment,
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log, log],
  })
  child.once('error', () => undefined) // it has no pid then, and isReady asks for that
  child.unref()
  endWithUs(child, place.account)
  await writeFile(keeperFile(place), `${child.pid} ${process.pid}`)
  return child
}

async function tail(log: string, from: number): Promise<string> {
  const text = (await readFile(log)).subarray(from).toString()
  return text.trim().split('\n').slice(-6).join('\n')
}

async function isReady(place: Place, child: ChildProcess, deadline: number): Promise<boolean> {
  for (; Date.now() < deadline; await sleep(5)) {
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return false
    const server = await readPidFile(place)
    if (server?.pid === child.pid && server.ready) return true
  }
  return false
}

/**
 * Ends the server of `place`, whoever started it; quiet where none runs. SIGINT is the fast shutdown, SIGQUIT,
 * after 10 s, the one that needs recovery at the next start. Throws where that does not help either.
 */
export async function stopServer(place: Place): Promise<void> {
  const pid = (await readPidFile(place))?.pid
  if (pid === undefined || !isAlive(pid) || !(await isOurs(pid, place))) return
  await signal(place, pid, 'SIGINT')
  if (await untilGone(place, pid)) return
  await signal(place, pid, 'SIGQUIT')
  if (!(await untilGone(place, pid))) throw new Error(`Postgres (pid ${pid}) does not stop`)
}

async function signal(place: Place, pid: number, name: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (!isAlive(pid)) return
  if (process.platform !== 'win32') process.kill(pid, name)
  // Windows has no signals; pg_ctl reaches the server through its pipe.
  else await runPgCtl(place, name === 'SIGINT' ? 'fast' : 'immediate')
}

async function runPgCtl(place: Place, mode: string): Promise<void> {
  const { native } = await findBinaries(place.home, place.account)
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
