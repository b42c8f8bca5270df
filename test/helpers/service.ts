import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Test } from 'tap'
import type { HashLimits } from '../../src/crypto/passwords.ts'
import type { Deps } from '../../src/deps.ts'
import { createLogger } from '../../src/observe/log.ts'
import { createMetrics } from '../../src/observe/metrics/metrics.ts'
import { type AccessEngine, openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { type Config, readConfig } from '../../src/settings/config.ts'
import { browserUrl } from '../../src/settings/loopback.ts'
import { version } from '../../src/settings/version.ts'
import { listRoutes } from '../../src/start/app.ts'
import { openEngine } from '../../src/start/open-engine.ts'
import { serveApi } from '../../src/start/serve.ts'
import { startActors } from '../../workers/actors.ts'
import { openWorkerDeps, type WorkerDeps } from '../../workers/deps.ts'
import { answerJudge } from './answers.ts'
import {
  type DatabaseUrls,
  disposableDatabase,
  distributed,
  overSocket,
  preparedStatements,
} from './database.ts'
import { ask } from './http-client.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
export type Json = any

/** An answer: its status, headers, and body as JSON (null when there is none). */
export interface Answer {
  status: number
  headers: Headers
  body: Json
}

export interface Call {
  token?: string | undefined
  body?: unknown
  headers?: Record<string, string>
}

/** A user with a session who calls the service. `refresh` and `access` are their newest tokens. */
export interface Client {
  id: string
  email: string
  password: string
  access: string
  refresh: string
  /** The tenant of the access token. */
  tenantId: string
  get(path: string, call?: Call): Promise<Answer>
  post(path: string, body?: unknown, call?: Call): Promise<Answer>
  put(path: string, body?: unknown, call?: Call): Promise<Answer>
  patch(path: string, body?: unknown, call?: Call): Promise<Answer>
  delete(path: string, call?: Call): Promise<Answer>
  /** Switches to the tenant and uses the new pair of tokens from then on. */
  switchTo(tenantId: string): Promise<void>
}

/** The whole service on a database of its own, with a clock that only the test moves. */
export interface Service {
  url: string
  managementUrl: string | undefined
  deps: Deps
  databases: DatabaseUrls
  /** The actors' dependencies, so that the test can run an actor itself; absent without workers. */
  worker: WorkerDeps | undefined
  now(): number
  advance(ms: number): void
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** Registers a new user, without verification. */
  register(more?: Record<string, unknown>): Promise<{ id: string; email: string; password: string }>
  logIn(person: { email: string; password: string }): Promise<Client>
  /** Registers and logs in a new user, who owns a new tenant. */
  signUp(more?: Record<string, unknown>): Promise<Client>
  /** Waits for the newest captured mail to an address with `about` in its subject or text. */
  mailTo(email: string, about?: string): Promise<{ id: string; subject: string; text: string; html: string }>
}

let people = 0

/** Password hashes that take a hundredth of the usual time. */
export const cheapHashing = { cost: { memoryCost: 8, timeCost: 1 } }

/** One policy engine for all services of the process, because loading one takes 300 ms. */
let engine: Promise<AccessEngine> | undefined
const sharedEngine = () => {
  engine ??= openAccessEngine()
  return engine
}

/** The policy engine of a service with these settings. */
export const engineFor = (config: Config): Promise<AccessEngine> =>
  config.POLICIES_DIR ? openEngine(config) : sharedEngine()

/** The actors that send mail. A queue without its actor only collects messages. */
const senders = ['outbox-relay', 'email']

/**
 * Starts the service in this process for one test file and stops it with the test. `env` are settings, `actors` the
 * actors to start (an empty list: all). Without `actors`, those that send mail start at the first call of `mailTo`:
 * handling every message costs as much as the requests. Log lines go to `logTo` if given. `hashing: {}` hashes at
 * production cost.
 */
export async function startService(
  t: Pick<Test, 'teardown'>,
  {
    env = {},
    workers = true,
    actors: named,
    hashing = cheapHashing,
    logTo,
  }: {
    env?: Record<string, string>
    workers?: boolean
    actors?: string[]
    hashing?: HashLimits
    logTo?: Logger
  } = {},
): Promise<Service> {
  const database = await disposableDatabase()
  const { urls } = database
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_API_URL: overSocket(urls.api),
    DATABASE_SYSTEM_URL: overSocket(urls.system),
    DATABASE_WORKER_URL: overSocket(urls.worker),
    DATABASE_POOL_SIZE: '4',
    DATABASE_PREPARED_STATEMENTS: preparedStatements,
    DATABASE_DISTRIBUTED: distributed,
    SECRET_KEYS: randomBytes(32).toString('base64url'),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    ...env,
  })
  const log = logTo ?? createLogger(config.LOG_LEVEL, false)
  let now = Date.parse('2026-11-21T12:00:00Z')
  const clock = () => now
  const metrics = createMetrics(version, clock)
  const serving = await serveApi(config, log, {
    clock,
    metrics,
    hashing,
    engine: await engineFor(config),
  })
  const workerDeps = workers
    ? await openWorkerDeps(config, log, clock, metrics, () => serving.deps)
    : undefined
  let actors: ReturnType<typeof startActors> | undefined
  const startOnce = async (names: string[]) => {
    if (workerDeps) actors ??= startActors(workerDeps, names)
    await actors
  }
  if (named) await startOnce(named)
  t.teardown(async () => {
    await (await actors)?.stop()
    await workerDeps?.close()
    await serving.stop()
    await database.drop()
  })

  const url = browserUrl(serving.url)
  const judge = answerJudge(listRoutes(serving.deps, { ready: async () => undefined, drain() {} }))
  const call: Service['call'] = async (method, path, { token, body, headers: more = {} } = {}) => {
    const { status, headers, text } = await ask(new URL(path, url), {
      method,
      headers: {
        ...(token && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...more,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const fault = judge(method, path, status, text)
    if (fault) throw new Error(`The answer to ${method} ${path} ${fault}`)
    return { status, headers, body: text === '' ? null : JSON.parse(text) }
  }
  const succeed = async (answer: Promise<Answer>) => {
    const { status, body } = await answer
    if (status >= 300) throw new Error(`Expected success, got ${status} ${JSON.stringify(body)}`)
    return body
  }
  const register: Service['register'] = async (more = {}) => {
    const email = `person${++people}.${process.pid}@example.com`
    const person = {
      email,
      password: 'a quiet harbour',
      first_name: 'Test',
      last_name: `Person ${people}`,
      ...more,
    }
    const { id } = await succeed(call('POST', '/api/v1/auth/register/', { body: person }))
    return { ...person, id }
  }
  const logIn: Service['logIn'] = async ({ email, password }) => {
    const pair = await succeed(call('POST', '/api/v1/auth/login/', { body: { email, password } }))
    const claims = claimsOf(pair.access)
    const client: Client = {
      id: claims.user_id,
      email,
      password,
      ...pair,
      tenantId: claims.tenant_id,
      get: (path, more) => call('GET', path, { token: client.access, ...more }),
      post: (path, body, more) => call('POST', path, { token: client.access, body, ...more }),
      put: (path, body, more) => call('PUT', path, { token: client.access, body, ...more }),
      patch: (path, body, more) => call('PATCH', path, { token: client.access, body, ...more }),
      delete: (path, more) => call('DELETE', path, { token: client.access, ...more }),
      async switchTo(tenantId) {
        const body = { tenant_id: tenantId, refresh: client.refresh }
        Object.assign(client, await succeed(client.post('/api/v1/auth/switch-tenant/', body)), { tenantId })
      },
    }
    return client
  }

  return {
    url,
    managementUrl: serving.managementUrl,
    deps: serving.deps,
    databases: urls,
    worker: workerDeps,
    now: clock,
    advance(ms) {
      now += ms
    },
    call,
    register,
    logIn,
    signUp: async (more) => logIn(await register(more)),
    async mailTo(email, about = '') {
      if (!workerDeps) throw new Error('A service without workers sends no mail')
      await startOnce(senders)
      for (let tries = 0; tries < 6_000; tries++) {
        const { results } = await succeed(
          call('GET', `/dev/mailbox?to=${encodeURIComponent(email)}`, {
            headers: { accept: 'application/json' },
          }),
        )
        const mail = results.find(
          ({ subject, text }: Json) => subject.includes(about) || text.includes(about),
        )
        if (mail) return mail
        await sleep(50)
      }
      throw new Error(`No mail with "${about}" came to ${email}`)
    },
  }
}

/** What a person logs in with. */
export const loginOf = ({ email, password }: { email: string; password: string }) => ({ email, password })

/** The payload of a JWT, not verified. */
export const claimsOf = (token: string): Json =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

/** The one-time token in a mail's link. */
export function tokenIn(mail: { text: string }): string {
  const [, token] = /[?&]token=([\w-]+)/.exec(mail.text) ?? []
  if (!token) throw new Error('The mail has no link with a token')
  return token
}
