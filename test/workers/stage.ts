import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { pino } from 'pino'
import type { Test } from 'tap'
import { openPool } from '../../src/database/executor/pool.ts'
import { inTenant } from '../../src/database/executor/transaction.ts'
import { sendMail } from '../../src/messages/mail/send-mail.ts'
import { appendEvent } from '../../src/messages/outbox/append-event.ts'
import { timeOrderedId } from '../../src/messages/outbox/time-ordered-id.ts'
import { openQueueBackend } from '../../src/messages/queues/queue-backend.ts'
import { readConfig } from '../../src/settings/config.ts'
import { openWorkerDeps } from '../../workers/deps.ts'
import { disposableDatabase, distributed, overSocket } from '../helpers/database.ts'
import { rounds } from '../helpers/rounds.ts'

export type BackendKind = 'postgres' | 'redis'
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0
export const backends: { kind: BackendKind; skip: string | false }[] = [
  { kind: 'postgres', skip: false },
  { kind: 'redis', skip: hasRedis ? false : 'no redis-server on this machine' },
]
/** For code on top of queues: nightly tests use both backends, the others only Postgres (see queue-backend.test.ts). */
export const usualBackends = backends.slice(0, rounds(1, 2))
/** For tests of mail: what an actor's consumer costs, of connections and questions, exceeds what most tests do. */
export const mailActors = ['outbox-relay', 'email', 'event-fanout']
/** All actors that handle messages; the others run at intervals. */
export const messageActors = [...mailActors, 'webhook', 'webhook-once']
export type Stage = Awaited<ReturnType<typeof openStage>>

/** A port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  return port
}

/** A Redis without persistence that ends with the test. With the files of a certificate and its key it accepts only TLS. */
export async function startRedis(t: Test, port?: number, tls?: { key: string; certificate: string }) {
  const chosen = port ?? (await freePort())
  const files = tls && [
    '--tls-cert-file',
    tls.certificate,
    '--tls-key-file',
    tls.key,
    '--tls-auth-clients',
    'no',
  ]
  const listen = files ? ['--port', '0', '--tls-port', String(chosen), ...files] : ['--port', String(chosen)]
  const args = [...listen, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { stdio: 'ignore', cwd: t.testdir() })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  t.teardown(stop)
  const url = tls ? `rediss://localhost:${chosen}` : `redis://127.0.0.1:${chosen}`
  const probe = new Redis(url, {
    ...(tls && { tls: { ca: readFileSync(tls.certificate) } }),
    retryStrategy: () => 50,
  }).on('error', () => undefined)
  await probe.ping()
  probe.disconnect()
  return { url, port: chosen, pid: child.pid!, stop }
}

/** A database with tenants, the pools of API and worker, and a log that keeps its lines. */
export async function openStage(
  t: Test,
  {
    kind = 'postgres',
    smtpUrl = '',
    tenants = 1,
  }: { kind?: BackendKind; smtpUrl?: string; tenants?: number } = {},
) {
  const { urls, drop } = await disposableDatabase()
  const redis = kind === 'redis' ? await startRedis(t) : undefined
  const env = {
    NODE_ENV: 'test',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    DATABASE_URL: urls.owner,
    DATABASE_WORKER_URL: overSocket(urls.worker),
    DATABASE_DISTRIBUTED: distributed,
    DATABASE_API_URL: overSocket(urls.api),
    DATABASE_SYSTEM_URL: overSocket(urls.system),
    REDIS_URL: redis?.url ?? '',
    SMTP_URL: smtpUrl,
    SECRET_KEYS: randomBytes(32).toString('base64url'),
    MAIL_FROM: 'Bailiwick <no-reply@mail.bailiwick.test>',
  }
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) })
  const deps = await openWorkerDeps(readConfig(env), log)
  const api = await openPool(overSocket(urls.api), {
    size: 4,
    prepared: true,
    distributed: distributed === 'true',
    applicationName: 'test-api',
  })
  const root = new pg.Pool({ connectionString: urls.superuser, max: 2 })
  root.on('error', () => undefined)
  t.teardown(async () => {
    await api.end()
    await deps.close()
    await root.end()
    await drop()
  })
  const ids = Array.from({ length: tenants }, () => timeOrderedId(Date.now()))
  for (const [n, id] of ids.entries())
    await root.query(
      'insert into tenants (id, name, slug, created_at, updated_at) values ($1, $2, $3, now(), now())',
      [id, `Tenant ${n}`, `tenant-${n}`],
    )
  const limitConnections = (most: number) =>
    root.query(`alter database ${new URL(urls.worker).pathname.slice(1)} connection limit ${most}`)
  const scope = (tenantId: string) => ({ tenantId, userId: timeOrderedId(Date.now()) })
  return {
    urls,
    env,
    redis,
    deps,
    api,
    root,
    logged,
    tenants: ids,
    tenant: ids[0]!,
    openBackend: (on = kind) =>
      openQueueBackend({
        databaseUrl: urls.worker,
        redisUrl: on === 'redis' ? redis?.url : undefined,
        onError: () => undefined,
      }),
    /** Ends the connections of workers to Postgres, and refuses new ones until `letWorkersBack`. */
    async cutWorkersOff() {
      await limitConnections(0)
      await root.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and usename = 'bailiwick_worker'`,
      )
    },
    letWorkersBack: () => limitConnections(-1),
    rows: async (query: string) => (await root.query(query)).rows,
    count: async (table: string) => Number((await root.query(`select count(*) from ${table}`)).rows[0].count),
    post: (tenantId: string, to: string, link = 'https://app.test/verify?token=t') =>
      inTenant({ api }, scope(tenantId), (tx) =>
        sendMail(tx, deps.sealer, {
          tenantId,
          to,
          template: 'email_verification',
          variables: { link, firstName: 'Ada' },
          at: Date.now(),
        }),
      ),
    /** A mail of the queue `notices`. */
    notify: (tenantId: string, to: string) =>
      inTenant({ api }, scope(tenantId), (tx) =>
        sendMail(tx, deps.sealer, {
          tenantId,
          to,
          template: 'passkey_renamed',
          variables: { before: 'Old', after: 'New', firstName: 'Ada' },
          at: Date.now(),
        }),
      ),
    append: (tenantId: string) =>
      inTenant({ api }, scope(tenantId), (tx) =>
        appendEvent(tx, {
          type: 'identity.user_updated',
          tenantId,
          subject: tenantId,
          data: { user_id: tenantId },
          actorId: null,
          requestId: 'request-1',
          at: Date.now(),
        }),
      ),
  }
}

/**
 * Waits until `question` returns a true value; throws after `limit` ms, which is long by default because a slow machine
 * is not a failure.
 */
export async function until(question: () => Promise<unknown> | unknown, limit = 300_000): Promise<void> {
  let pause = 5
  for (const end = Date.now() + limit; !(await question()); await sleep(pause)) {
    if (Date.now() > end) throw new Error(`Still false after ${limit} ms: ${question}`)
    pause = Math.min(pause * 1.2, 50) // a question to Postgres costs more than the work that it waits for
  }
}
