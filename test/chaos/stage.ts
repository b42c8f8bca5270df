import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'
import { freePort } from '../../bench/stage.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { openDevelopment } from '../../src/development/development.ts'
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../src/development/embedded-postgres.ts'
import { bareEnv } from '../helpers/bare-env.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'entry.cjs')
const skew = join(import.meta.dirname, 'skewed-clock.ts')

/** A process that can be killed, frozen and started again with the same settings. */
export interface Restartable {
  name: string
  url: string
  pid(): number
  kill(signal: NodeJS.Signals): Promise<void>
  start(): Promise<void>
}

/** How the webhook receiver answers. `stall`: not at all. `lie`: 200 with a body that never ends. */
export type Behaviour = 'accept' | 'refuse' | 'stall' | 'lie' | 'redirect'

/** What arrived at the receiver, by tenant: the sequence of each delivery, in order of arrival. */
export interface Receiver {
  url: string
  behaviour: Behaviour
  arrived: Map<string, number[]>
}

/** The mail server of the run: each accepted mail, as `<address> <subject>`. */
export interface MailServer {
  port: number
  taken: string[]
  stop(): Promise<void>
  start(): Promise<void>
}

export interface Stage {
  config: Config
  folder: string
  apis: Restartable[]
  workers: Restartable[]
  mail: MailServer
  receiver: Receiver
  redis: Restartable | null
  postgresPid(): Promise<number>
  startPostgres(): Promise<void>
  stop(): Promise<void>
}

/** Two APIs and two workers on a durable Postgres of their own, all on 127.0.0.1. `withRedis`: queues and limits on Redis. */
export async function openStage(withRedis: boolean): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-chaos-'))
  await chmod(folder, 0o711) // run by root, Postgres is another user and must be able to enter the folder
  const dataDir = join(folder, 'data')
  const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })]
  const stop = async () => {
    for (const end of ends.reverse()) await end()
  }
  try {
    const development = await openDevelopment(readConfig({ NODE_ENV: 'test', DATA_DIR: dataDir }))
    ends.push(() => removeEmbeddedPostgres({ dataDir }))
    const receiver = await startReceiver(ends)
    const mail = await startMailServer(ends)
    const redis = withRedis ? await startRedis(ends) : null
    const env = {
      ...settings(development.config, mail.port),
      ...(redis && { REDIS_URL: redis.url, QUEUE_BACKEND: 'redis' }),
    }
    const start = (name: 'api' | 'worker', port: number) => startProcess(name, port, env, ends)
    const ports = [await freePort(), await freePort()]
    return {
      config: development.config,
      folder,
      apis: await Promise.all(ports.map((port) => start('api', port))),
      workers: await Promise.all([1, 2].map(() => start('worker', 0))),
      mail,
      receiver,
      redis,
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

/** Limits are off, so that no refusal hides a fault. */
const settings = (config: Config, smtpPort: number) => ({
  NODE_ENV: 'test',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'fatal',
  DATABASE_API_URL: config.DATABASE_API_URL!,
  DATABASE_SYSTEM_URL: config.DATABASE_SYSTEM_URL!,
  DATABASE_WORKER_URL: config.DATABASE_WORKER_URL!,
  SECRET_KEYS: config.SECRET_KEYS!.map((key) => key.toString('base64url')).join(','),
  SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
  RATE_LIMIT_ENABLED: 'false',
  LIMIT_CUSTOM_ROLES: '10000',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  SHUTDOWN_DELAY_SECONDS: '0',
})

async function startProcess(
  name: 'api' | 'worker',
  port: number,
  env: Record<string, string>,
  ends: (() => Promise<unknown>)[],
): Promise<Restartable> {
  let child: ChildProcess
  let isWanted = false
  const url = `http://127.0.0.1:${port}`
  const spawned = () => {
    child = spawn(process.execPath, ['--import', skew, entry, name], {
      env: { ...bareEnv, ...env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    // As a supervisor does: a process that starts while Postgres is away ends.
    child.once('exit', () => isWanted && setTimeout(() => isWanted && spawned(), 1_000))
  }
  const start = async () => {
    isWanted = true
    spawned()
    if (name === 'api') await answering(url)
  }
  const kill = (signal: NodeJS.Signals) => {
    isWanted = false
    return killed(child, signal)
  }
  ends.push(() => kill('SIGKILL'))
  await start()
  return { name, url, pid: () => child.pid!, kill, start }
}

async function killed(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries++, await sleep(50))
    if ((await fetch(`${url}/readyz`).catch(() => undefined))?.ok) return
  throw new Error(`Nothing is ready at ${url}`)
}

async function startRedis(ends: (() => Promise<unknown>)[]): Promise<Restartable> {
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
  return { name: 'redis', url: `redis://127.0.0.1:${port}`, pid: () => child.pid!, kill, start }
}

async function startReceiver(ends: (() => Promise<unknown>)[]): Promise<Receiver> {
  const receiver: Receiver = { url: '', behaviour: 'accept', arrived: new Map() }
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => null)
    if (!body) return response.destroy()
    const { behaviour } = receiver
    if (behaviour === 'stall') return
    if (behaviour === 'refuse') return response.writeHead(500).end()
    if (behaviour === 'redirect') return response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    const { sequence, tenantid } = JSON.parse(body.toString())
    // A test of a webhook has no sequence.
    if (typeof sequence === 'number')
      receiver.arrived.set(tenantid, [...(receiver.arrived.get(tenantid) ?? []), sequence])
    response.writeHead(200)
    if (behaviour === 'lie') return response.write('x'.repeat(1_000_000))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  receiver.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return receiver
}

async function startMailServer(ends: (() => Promise<unknown>)[]): Promise<MailServer> {
  const taken: string[] = []
  const port = await freePort()
  let server: SMTPServer
  const start = async () => {
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onData(stream, session, done) {
        // A worker that is killed leaves half a mail.
        buffer(stream).then((mail) => {
          const subject = /^Subject: (.*)$/m.exec(mail.toString())?.[1]?.trim()
          for (const { address } of session.envelope.rcptTo) taken.push(`${address} ${subject}`)
          done()
        }, done)
      },
    })
    server.on('error', () => undefined)
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  }
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()))
  ends.push(stop)
  await start()
  return { port, taken, start, stop }
}
