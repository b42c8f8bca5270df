import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { open, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { isAlive } from './instance-lock.ts'
import { findBinaries, serverEnvironment } from './postgres-binaries.ts'
import type { Cluster } from './postgres-cluster.ts'
import { stopWithThisProcess } from './postgres-watcher.ts'

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
 * The superuser address of the server of `cluster`: of the running server, or else of a new one with `settings`. Throws
 * after `deadline` (ms since the epoch), or after three failed starts. A start can fail because its port was just taken,
 * or because another process starts the same server.
 */
export async function serve(cluster: Cluster, settings: Settings, deadline: number): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const server = (await adopt(cluster, deadline)) ?? (await launch(cluster, settings, deadline))
      return urlOf(server.port, await readFile(join(cluster.home, 'password'), 'utf8'))
    } catch (error) {
      if (attempt === 3 || Date.now() > deadline) throw error
    }
  }
}

/**
 * Gives the server that another process started. If that process has died, its server is stopped, because the watcher
 * ends it anyway. Removes a pid file that names an unrelated process.
 */
async function adopt(cluster: Cluster, deadline: number): Promise<Server | undefined> {
  for (; Date.now() < deadline; await sleep(50)) {
    const server = await readPidFile(cluster)
    if (!server || !isAlive(server.pid)) return undefined // Postgres itself replaces the file of a dead process
    if (!(await isOurs(server.pid, cluster))) {
      await rm(join(cluster.data, 'postmaster.pid'), { force: true })
      return undefined
    }
    if (await isOrphan(cluster, server.pid)) await stopServer(cluster)
    else if (await answers(server.port, cluster)) return server
  }
  throw new Error(`a server on ${cluster.data} runs but does not answer`)
}

const keeperFile = (cluster: Cluster) => join(cluster.home, 'keeper')

/** Whether the process that started this server has died. */
async function isOrphan(cluster: Cluster, pid: number): Promise<boolean> {
  const [server, keeper] = (await readFile(keeperFile(cluster), 'utf8').catch(() => ''))
    .split(' ')
    .map(Number)
  return server === pid && keeper !== undefined && !isAlive(keeper)
}

async function launch(cluster: Cluster, settings: Settings, deadline: number): Promise<Server> {
  const port = await freePort(Number(await readFile(join(cluster.home, 'port'), 'utf8').catch(() => '0')))
  const log = await open(cluster.log, 'a+', 0o600)
  try {
    const { size } = await log.stat()
    const child = await spawnServer(cluster, { ...defaults, port: String(port), ...settings }, log.fd)
    if (!(await isReady(cluster, child, deadline))) {
      child.kill('SIGQUIT')
      throw new Error(
        `the server does not become ready; ${cluster.log} says:\n${await tail(cluster.log, size)}\n`,
      )
    }
    // Only now, because another process can have started its server first: then this one adopts that.
    const { native, copied } = await findBinaries(cluster.home, cluster.account)
    if (copied && cluster.notes.length === 0)
      cluster.notes.push(`Postgres runs from a copy of its binaries in ${native}`)
    await writeFile(join(cluster.home, 'port'), String(port))
    return { pid: child.pid!, port }
  } finally {
    await log.close()
  }
}

/** Starts the server in its own process group: Ctrl-C reaches only this process, which drains before it stops the server. */
async function spawnServer(cluster: Cluster, settings: Settings, log: number): Promise<ChildProcess> {
  const { native } = await findBinaries(cluster.home, cluster.account)
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(join(native, 'bin', 'postgres'), ['-D', cluster.data, ...flags], {
    ...cluster.account,
    cwd: cluster.home,
    env: serverEnvironment,
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log, log],
  })
  child.once('error', () => undefined) // then it has no pid, which isReady checks
  child.unref()
  stopWithThisProcess(child, cluster.account)
  await writeFile(keeperFile(cluster), `${child.pid} ${process.pid}`)
  return child
}

async function tail(log: string, from: number): Promise<string> {
  const text = (await readFile(log)).subarray(from).toString()
  return text.trim().split('\n').slice(-6).join('\n')
}

async function isReady(cluster: Cluster, child: ChildProcess, deadline: number): Promise<boolean> {
  for (; Date.now() < deadline; await sleep(5)) {
    if (!child.pid || child.exitCode !== null || child.signalCode !== null) return false
    const server = await readPidFile(cluster)
    if (server?.pid === child.pid && server.ready) return true
  }
  return false
}

/**
 * Stops the server of `cluster`, whichever process started it. Does nothing if none runs. First SIGINT, the fast
 * shutdown; after 10 s SIGQUIT, which makes the next start recover. Throws if the server still runs.
 */
export async function stopServer(cluster: Cluster): Promise<void> {
  const pid = (await readPidFile(cluster))?.pid
  if (pid === undefined || !isAlive(pid) || !(await isOurs(pid, cluster))) return
  await signal(cluster, pid, 'SIGINT')
  if (await untilGone(pid)) return
  await signal(cluster, pid, 'SIGQUIT')
  if (!(await untilGone(pid))) throw new Error(`Postgres (pid ${pid}) does not stop`)
}

async function signal(cluster: Cluster, pid: number, name: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  if (!isAlive(pid)) return
  if (process.platform !== 'win32') process.kill(pid, name)
  // Windows has no signals; pg_ctl uses a named pipe of the server.
  else await runPgCtl(cluster, name === 'SIGINT' ? 'fast' : 'immediate')
}

async function runPgCtl(cluster: Cluster, mode: string): Promise<void> {
  const { native } = await findBinaries(cluster.home, cluster.account)
  await run(join(native, 'bin', 'pg_ctl'), ['stop', '-D', cluster.data, '-m', mode, '-W'])
}

async function untilGone(pid: number): Promise<boolean> {
  for (const end = Date.now() + FAST_STOP_LIMIT_MS; Date.now() < end; await sleep(10)) {
    if (!isAlive(pid)) return true
  }
  return false
}

/** postmaster.pid: 1 pid, 2 data folder, 3 start, 4 port, 5 socket folder, 6 address, 7 shared memory, 8 status. */
async function readPidFile(cluster: Cluster): Promise<(Server & { ready: boolean }) | undefined> {
  const lines = (await readFile(join(cluster.data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : undefined
}

/** Whether `pid` is the server of this cluster. Checked before the password is sent to the process on its port. */
async function isOurs(pid: number, cluster: Cluster): Promise<boolean> {
  if (process.platform === 'linux') {
    // The working directory of a server is its data folder.
    return readlink(`/proc/${pid}/cwd`).then(
      (folder) => folder === cluster.data,
      (error) => error.code === 'EACCES',
    )
  }
  if (process.platform === 'win32') return true
  const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return stdout.includes(cluster.data)
}

async function answers(port: number, cluster: Cluster): Promise<boolean> {
  const password = await readFile(join(cluster.home, 'password'), 'utf8')
  const client = new pg.Client({
    connectionString: urlOf(port, password),
    ssl: false,
    connectionTimeoutMillis: 3000,
  })
  client.on('error', () => undefined) // the server may be stopping; then connect fails
  try {
    await client.connect()
    const { rows } = await client.query('show data_directory')
    return resolve(rows[0].data_directory) === resolve(cluster.data)
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

function urlOf(port: number, password: string): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
}

/** The port `wanted` if it is free, or else one that the system picks; 0 means any. */
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
