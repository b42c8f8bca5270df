import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../../bench/stage.ts'
import { type Config, readConfig } from '../../src/settings/config.ts'
import { openDevelopment } from '../../src/start/development/development.ts'
import {
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/start/development/embedded-postgres.ts'
import { bareEnv } from '../helpers/bare-env.ts'
import { present } from '../upgrade/release.ts'
import { type MailServer, type Receiver, startMailServer, startReceiver } from './receivers.ts'

const run = promisify(execFile)
const preloaded = ['skewed-clock.ts', 'report-heap.ts'].flatMap((name) => [
  '--import',
  join(import.meta.dirname, name),
])

/** A process that can be killed, frozen and started again with the same settings. */
export interface Restartable {
  name: string
  url: string
  /** False while an API answers 503 at /readyz, or nothing: a balancer sends it no requests then. */
  isReady: boolean
  pid(): number
  /** Ends it, and waits until it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Starts it again, from now on from this folder if one is given, and waits until it is ready. */
  start(folder?: string): Promise<void>
}

export interface Stage {
  config: Config
  folder: string
  apis: Restartable[]
  workers: Restartable[]
  mail: MailServer
  receiver: Receiver
  redis: Restartable | null
  /** The folder of Postgres if it is a file system of its own, which can be filled; else null. */
  smallDisk: string | null
  /** Adds a function that is called when the run ends. */
  atEnd(end: () => unknown): void
  /** The address of Postgres for a superuser. */
  superuserUrl(): Promise<string>
  postgresPid(): Promise<number>
  startPostgres(): Promise<void>
  stop(): Promise<void>
}

/**
 * Two APIs and two workers on a durable Postgres of their own, all on 127.0.0.1. `withRedis`: queues and limits on Redis.
 * `withSmallDisk`: Postgres on a file system of its own, where this process may mount one. `withLimits`: the limits of
 * production; without them no refusal hides a fault.
 */
export async function openStage({
  withRedis = false,
  withSmallDisk = false,
  withLimits = false,
}): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-chaos-'))
  await chmod(folder, 0o711) // run by root, Postgres is another user and must be able to enter the folder
  const dataDir = join(folder, 'data')
  const ends: Ends = [() => rm(folder, { recursive: true, force: true })]
  const stop = async () => {
    for (const end of ends.reverse()) await end()
  }
  try {
    const smallDisk = withSmallDisk && (await mountSmallDisk(dataDir, ends)) ? dataDir : null
    const development = await openDevelopment(readConfig({ NODE_ENV: 'test', DATA_DIR: dataDir }))
    ends.push(() => removeEmbeddedPostgres({ dataDir }))
    const receiver = await startReceiver(ends)
    const mail = await startMailServer(ends)
    const redis = withRedis ? await startRedis(ends) : null
    const env = {
      ...settings(development.config, mail.port),
      ...(withLimits ? limited : unlimited),
      // A collection stops a process for 0.1 s: there are none where response times are measured.
      ...(!withLimits && { CHAOS_HEAP_FOLDER: folder }),
      ...(redis && { REDIS_URL: redis.url, QUEUE_BACKEND: 'redis' }),
    }
    const start = (name: 'api' | 'worker', port: number) => startProcess(name, port, env, ends)
    const ports = [await freePort(), await freePort()]
    const apis = await Promise.all(ports.map((port) => start('api', port)))
    watchReadiness(apis, ends)
    return {
      config: development.config,
      folder,
      smallDisk,
      atEnd: (end) => ends.push(async () => end()),
      apis,
      workers: await Promise.all([1, 2].map(() => start('worker', 0))),
      mail,
      receiver,
      redis,
      async superuserUrl() {
        const url = new URL(development.config.DATABASE_API_URL!)
        const password = await readFile(join(dataDir, 'postgres', 'password'), 'utf8')
        Object.assign(url, { username: 'postgres', password: password.trim() })
        return url.href
      },
      postgresPid: async () =>
        Number.parseInt(await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10),
      startPostgres: async () => void (await startEmbeddedPostgres({ dataDir })),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What ends the parts of a run, in the order in which they were started. */
export type Ends = (() => Promise<unknown>)[]

/** Room for Postgres and a load of minutes. */
const smallDiskMegabytes = 768

/** Mounts a small file system in memory. False where this process may not. */
async function mountSmallDisk(folder: string, ends: Ends): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  const options = `size=${smallDiskMegabytes}m,mode=711`
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', options, 'none', folder]).then(
    () => true,
    () => false,
  )
  if (isMounted) ends.push(() => run('umount', ['--lazy', folder]))
  return isMounted
}

/** Asks each API as a balancer does. */
function watchReadiness(apis: readonly Restartable[], ends: Ends): void {
  const timer = setInterval(() => {
    for (const api of apis)
      fetch(`${api.url}/readyz`, { signal: AbortSignal.timeout(1_000) }).then(
        ({ ok }) => {
          api.isReady = ok
        },
        () => {
          api.isReady = false
        },
      )
  }, 500)
  ends.push(async () => clearInterval(timer))
}

const settings = (config: Config, smtpPort: number) => ({
  NODE_ENV: 'test',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'fatal',
  DATABASE_API_URL: config.DATABASE_API_URL!,
  DATABASE_SYSTEM_URL: config.DATABASE_SYSTEM_URL!,
  DATABASE_WORKER_URL: config.DATABASE_WORKER_URL!,
  SECRET_KEYS: config.SECRET_KEYS!.map((key) => key.toString('base64url')).join(','),
  SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
  WEBHOOK_ALLOW_PRIVATE: 'true',
  SHUTDOWN_DELAY_SECONDS: '2',
})

const unlimited = { RATE_LIMIT_ENABLED: 'false', LIMIT_CUSTOM_ROLES: '10000' }
/** All clients have one address here. */
const limited = { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_REGISTER_PER_HOUR: '1000' }

async function startProcess(
  name: 'api' | 'worker',
  port: number,
  env: Record<string, string>,
  ends: Ends,
): Promise<Restartable> {
  let child: ChildProcess
  let isWanted = false
  let entry = join(present, 'src', 'start', 'entry.cjs')
  const url = `http://127.0.0.1:${port}`
  // A worker answers on the management port only.
  const managementPort = name === 'worker' ? await freePort() : null
  const probe = managementPort ? `http://127.0.0.1:${managementPort}` : url
  const management: Record<string, string> = managementPort ? { MANAGEMENT_PORT: String(managementPort) } : {}
  const spawned = () => {
    child = spawn(process.execPath, ['--expose-gc', ...preloaded, entry, name], {
      env: { ...bareEnv, ...env, ...management, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    // As a supervisor does: a process that starts while Postgres is away ends.
    child.once('exit', () => isWanted && setTimeout(() => isWanted && spawned(), 1_000))
  }
  const start = async (folder?: string) => {
    if (folder) entry = join(folder, 'src', 'start', 'entry.cjs')
    isWanted = true
    spawned()
    await answering(probe)
  }
  const kill = (signal: NodeJS.Signals) => {
    isWanted = false
    return killed(child, signal)
  }
  ends.push(() => kill('SIGKILL'))
  await start()
  return { name, url, isReady: true, pid: () => child.pid!, kill, start }
}

async function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < 2_400; tries++, await sleep(50))
    if ((await fetch(`${url}/readyz`).catch(() => undefined))?.ok) return
  throw new Error(`Nothing is ready at ${url}`)
}

async function startRedis(ends: Ends): Promise<Restartable> {
  const port = await freePort()
  let child: ChildProcess
  const start = async () => {
    const args = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
    ]
    child = spawn('redis-server', args, { stdio: 'ignore' })
    await sleep(500)
  }
  const kill = (signal: NodeJS.Signals) => killed(child, signal)
  ends.push(() => kill('SIGKILL'))
  await start()
  const url = `redis://127.0.0.1:${port}`
  return { name: 'redis', url, isReady: true, pid: () => child.pid!, kill, start }
}
