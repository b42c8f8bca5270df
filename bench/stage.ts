import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, readConfig } from '../src/settings/config.ts'
import { openDevelopment } from '../src/start/development/development.ts'
import { removeEmbeddedPostgres } from '../src/start/development/embedded-postgres.ts'
import { type Recording, recordStatements } from './recordings.ts'

/** A task for the load generator: one connection per account. `follows`: each request sends the last answer's token. */
export interface Load {
  url: string
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  seconds: number
  accounts: { headers: Record<string, string>; body: string; path?: string }[]
  follows?: boolean
  /** Replaces # in the body by a number that no other request of the connection has. */
  numbered?: boolean
  /** Requests per second over all connections. Without it each connection sends the next request after each answer. */
  rate?: number
  /** When the load begins, in ms since 1970: the generator itself needs half a second of CPU to start. */
  at?: number
}

/** The result of a load. Times in ms; `failed` counts missing answers and answers other than 2xx. */
export interface Loaded {
  perSecond: number
  requests: number
  failed: number
  p50: number
  p99: number
  refused: Refused
}

/** Answers of 429 and 503: their number, those without `Retry-After`, and their response times in ms. */
export interface Refused {
  count: number
  withoutRetryAfter: number
  p50: number
  p99: number
}

export interface Account {
  email: string
  password: string
  access: string
  refresh: string
  /** A personal API key. */
  key?: string
}

export type ServerName = 'api' | 'bare' | 'hand' | 'opa'

/** A running API and its database in separate processes, as in production except for the rate limits. */
export interface Stage {
  servers: Record<Exclude<ServerName, 'opa'>, { url: string; pid: number }> &
    Partial<Record<'opa', { url: string; pid: number; stop(): Promise<void> }>>
  postgresPid: number
  accounts: Account[]
  /** The settings of the database. */
  config: Config
  /** What requests send to Postgres, by the names of the suites. */
  recordings: Record<string, Recording>
  close(): Promise<void>
}

const here = import.meta.dirname
export const entry = join(here, '..', 'src', 'start', 'entry.cjs')

/**
 * Starts a stage in a temporary folder, with the embedded Postgres in its default, durable configuration. `options` are
 * Node options for the API, `settings` are settings of the service.
 */
export async function openStage(
  clients: number,
  options: string[] = [],
  settings: Record<string, string> = {},
): Promise<Stage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bailiwick-bench-'))
  await chmod(dataDir, 0o711) // run by root, the server is another user and must be able to enter the folder
  const ends: (() => Promise<unknown>)[] = [() => remove(dataDir)]
  const close = async () => {
    for (const end of ends.reverse()) await end()
  }
  try {
    const development = await openDevelopment(readConfig({ DATA_DIR: dataDir }))
    ends.push(() => development.stop())
    const start = async (args: string[], env: Record<string, string>, path: string) => {
      const { url, child } = await serve(args, env, path)
      ends.push(() => end(child))
      return { url, pid: child.pid! }
    }
    const { config } = development
    const environment = { ...apiEnvironment(config), ...settings }
    const api = await start([...options, entry, 'api'], environment, '/readyz')
    const accounts = await makeAccounts(api.url, clients)
    const preload = ['--import', join(here, 'record-statements.ts')]
    const recorder = await serve([...preload, entry, 'api'], environment, '/readyz', true)
    const recordings = await recordStatements(recorder, accounts[0]!).finally(() => end(recorder.child))
    await writeFile(join(dataDir, 'recordings.json'), JSON.stringify(recordings))
    const bare = await start([join(here, 'bare-verify.ts')], {}, '/')
    const hand = await start([join(here, 'by-hand.ts')], handEnvironment(config, api.url, dataDir), '/')
    const postgresPid = await postmasterOf(dataDir)
    return { servers: { api, bare, hand }, config, recordings, postgresPid, accounts, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Runs the load generator once. */
export async function generate(load: Load): Promise<Loaded> {
  const child = spawn(process.execPath, [join(here, 'load.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(load)) // not as an argument: it contains tokens
  const [printed] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (child.exitCode !== 0) throw new Error(`The load generator ended with ${child.exitCode}`)
  return JSON.parse(printed)
}

/** Production settings for a measured API. */
export const apiEnvironment = (config: Config) => ({
  NODE_ENV: 'production',
  DATABASE_API_URL: config.DATABASE_API_URL!,
  DATABASE_SYSTEM_URL: config.DATABASE_SYSTEM_URL!,
  DATABASE_WORKER_URL: config.DATABASE_WORKER_URL!,
  SECRET_KEYS: config.SECRET_KEYS!.map((key) => key.toString('base64url')).join(','),
  PUBLIC_URL: 'http://localhost',
  SMTP_URL: 'smtp://localhost',
  MAIL_FROM: 'no-reply@bench.example',
  RATE_LIMIT_ENABLED: 'false',
  SHUTDOWN_DELAY_SECONDS: '0',
})

const handEnvironment = (config: Config, url: string, dataDir: string) => ({
  DATABASE_API_URL: config.DATABASE_API_URL!,
  DATABASE_SYSTEM_URL: config.DATABASE_SYSTEM_URL!,
  RECORDINGS: join(dataDir, 'recordings.json'),
  JWKS_URL: `${url}/.well-known/jwks.json`,
})

/** Starts a server on a free port and waits until it answers at `path`. `ipc`: with a channel for messages. */
export async function serve(args: string[], env: Record<string, string>, path: string, ipc = false) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const size = process.env.UV_THREADPOOL_SIZE ?? ''
  const child = spawn(process.execPath, ['--max-semi-space-size=16', ...args], {
    env: {
      PATH: process.env.PATH,
      UV_THREADPOOL_SIZE: size,
      // As src/start/entry.cjs sets them and the size of the young generation: every server that is measured has the same.
      MALLOC_ARENA_MAX: '1',
      MALLOC_MMAP_THRESHOLD_: '33554432',
      MALLOC_TRIM_THRESHOLD_: '67108864',
      HOST: '127.0.0.1',
      PORT: String(port),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit', ...(ipc ? (['ipc'] as const) : [])],
  })
  for (let tries = 0; tries < 300; tries++) {
    if (child.exitCode !== null) break
    const answer = await fetch(url + path).catch(() => undefined)
    if (answer?.ok) return { url, child }
    await sleep(50)
  }
  await end(child)
  throw new Error(`${args.join(' ')} does not answer at ${url}${path}`)
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

export const makeAccounts = (url: string, count: number, name = 'client'): Promise<Account[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const person = { email: `${name}${index}@example.com`, password: 'a quiet harbour' }
      await post(url, 'register', person)
      const account = await logIn(url, person)
      const { key } = await postAs(account.access, `${url}/api/v1/users/me/keys/`, { name: 'Bench' })
      return { ...account, key: key! }
    }),
  )

/** Logs a person in and returns them with unused tokens. */
export async function logIn(
  url: string,
  { email, password }: Pick<Account, 'email' | 'password'>,
): Promise<Account> {
  const { access, refresh } = await post(url, 'login', { email, password })
  return { email, password, access, refresh }
}

/** The stage with fresh tokens: a refresh token works once, an access token for 15 minutes. */
export async function freshTokens(stage: Stage): Promise<Stage> {
  return {
    ...stage,
    accounts: await Promise.all(
      stage.accounts.map(async (account) => ({
        ...account,
        ...(await logIn(stage.servers.api.url, account)),
      })),
    ),
  }
}

/** Registers or logs in. A busy machine can refuse for a moment (503): then once more, up to ten times. */
export async function post(
  url: string,
  path: string,
  body: unknown,
): Promise<Record<'access' | 'refresh', string>> {
  for (let tries = 1; ; tries++) {
    const answer = await fetch(`${url}/api/v1/auth/${path}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (answer.ok) return (await answer.json()) as Record<'access' | 'refresh', string>
    const told = await answer.text()
    if (answer.status !== 503 || tries === 10) throw new Error(`${path} answered ${answer.status} ${told}`)
    await sleep(1_000)
  }
}

/** Posts JSON with an access token, and gives the answer; throws unless it is created. */
export async function postAs(access: string, url: string, body: unknown): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${access}` }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url} answered ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Record<string, string>
}

async function postmasterOf(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10)
}

async function remove(dataDir: string): Promise<void> {
  await removeEmbeddedPostgres({ dataDir })
  await rm(dataDir, { recursive: true, force: true })
}
