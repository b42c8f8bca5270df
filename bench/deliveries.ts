import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import pg from 'pg'
import { pino } from 'pino'
import { createSealer } from '../src/crypto/seal.ts'
import { openPool } from '../src/database/executor/pool.ts'
import { inTenant } from '../src/database/executor/transaction.ts'
import { newSecret, secretContext } from '../src/events/webhooks/webhook-secret.ts'
import { appendEvent } from '../src/messages/outbox/append-event.ts'
import { timeOrderedId } from '../src/messages/outbox/time-ordered-id.ts'
import { readConfig } from '../src/settings/config.ts'
import { disposableDatabase } from '../test/helpers/database.ts'
import { startActors } from '../workers/actors.ts'
import { openWorkerDeps } from '../workers/deps.ts'
import { percentile } from './percentile.ts'

// node bench/deliveries.ts: measures how many events per second are fanned out on this machine, how many reach one receiver,
// with one webhook (in order, so one after the other) and with several, and how long a single event takes from its commit to the receiver. `--redis` starts a Redis for the
// queues. TEST_DATABASE_URL names a Postgres to use; otherwise one without fsync is started.

const { values } = parseArgs({
  options: {
    redis: { type: 'boolean', default: false },
    webhooks: { type: 'string', default: '20' },
    backlog: { type: 'string', default: '12000' },
    events: { type: 'string', default: '1000' },
    single: { type: 'string', default: '100' },
  },
})

const arrived = new Map<string, number>()
let count = 0
const receiver = createServer((request, response) => {
  const id = String(request.headers['webhook-id'])
  if (!arrived.has(id)) arrived.set(id, performance.now())
  count++
  request.resume().on('end', () => response.writeHead(204).end())
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const url = `http://127.0.0.1:${(receiver.address() as { port: number }).port}/`

const redis = values.redis ? await startRedis() : undefined
const { urls, drop } = await disposableDatabase()
const key = randomBytes(32).toString('base64url')
const config = readConfig({
  NODE_ENV: 'test',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  DATABASE_WORKER_URL: urls.worker,
  REDIS_URL: redis?.url ?? '',
  SECRET_KEYS: key,
})
const deps = await openWorkerDeps(config, pino({ level: 'warn' }))
const sealer = createSealer(config.SECRET_KEYS!)
const api = await openPool(urls.api, { size: 4, prepared: true, applicationName: 'bench' })
const root = new pg.Client({ connectionString: urls.superuser })
await root.connect()

const throughput = async (webhooks: number, events: number) => {
  const tenantId = await makeTenant(webhooks)
  count = 0
  const started = performance.now()
  for (let left = events; left > 0; left -= 20) await appendEvents(tenantId, Math.min(left, 20))
  const written = performance.now()
  while (count < webhooks * events) await sleep(5)
  const seconds = (performance.now() - started) / 1_000
  return { perSecond: Math.round(count / seconds), writing: Math.round(written - started), seconds }
}

const fanOut = await fanOutRate(Number(values.backlog))
const actors = await startActors(deps)
const one = await throughput(1, Number(values.events))
const many = await throughput(Number(values.webhooks), Math.round(Number(values.events) / 4))
const waits = await singleEvents(Number(values.single))
console.log(
  JSON.stringify({
    queues: redis ? 'redis' : 'postgres',
    fanned_out_per_second: fanOut,
    one_webhook_per_second: one.perSecond,
    [`${values.webhooks}_webhooks_per_second`]: many.perSecond,
    p50_ms: rounded(percentile(waits, 0.5)),
    p99_ms: rounded(percentile(waits, 0.99)),
  }),
)
await actors.stop()
await deps.close()
await api.end()
await root.end()
await drop()
receiver.closeAllConnections()
receiver.close()
redis?.child.kill('SIGKILL')

/** Creates a tenant with this many webhooks, all to the same receiver. */
async function makeTenant(webhooks: number): Promise<string> {
  const tenantId = timeOrderedId(Date.now())
  await root.query(
    'insert into tenants (id, name, slug, created_at, updated_at) values ($1::uuid, $2, $3, now(), now())',
    [tenantId, 'Bench', `bench-${randomBytes(6).toString('hex')}`],
  )
  for (let n = 0; n < webhooks; n++) {
    const id = timeOrderedId(Date.now())
    await root.query(
      `insert into webhooks (tenant_id, id, url, secret_sealed, created_at, updated_at)
       values ($1, $2, $3, $4, now(), now())`,
      [tenantId, id, url, newSecret(sealer, secretContext(tenantId, id)).sealed],
    )
  }
  return tenantId
}

/** How many events per second of a backlog a worker fans out in a tenant without webhooks: numbered, through the queue, acknowledged. */
async function fanOutRate(events: number): Promise<number> {
  const tenantId = await makeTenant(0)
  for (let left = events; left > 0; left -= 100) await appendEvents(tenantId, Math.min(left, 100))
  const started = performance.now()
  const actors = await startActors(deps, ['outbox-relay', 'event-fanout'])
  while ((await root.query('select 1 from outbox limit 1')).rowCount) await sleep(10)
  const seconds = (performance.now() - started) / 1_000
  await actors.stop()
  return Math.round(events / seconds)
}

/** Appends this many events in one transaction; returns the id of the last. */
function appendEvents(tenantId: string, events: number): Promise<string> {
  return inTenant({ api }, { tenantId, userId: tenantId }, async (tx) => {
    let last = ''
    for (let n = 0; n < events; n++)
      last = await appendEvent(tx, {
        type: 'identity.user_updated',
        tenantId,
        subject: tenantId,
        data: { user_id: tenantId },
        actorId: null,
        requestId: 'bench',
        at: Date.now(),
      })
    return last
  })
}

/** The ms from the commit of an event to its arrival, one event at a time. */
async function singleEvents(events: number): Promise<number[]> {
  const tenantId = await makeTenant(1)
  const found: number[] = []
  for (let n = 0; n < events; n++) {
    const id = await appendEvents(tenantId, 1)
    const committed = performance.now()
    while (!arrived.has(id)) await sleep(1)
    found.push(Math.max(0, arrived.get(id)! - committed))
    await sleep(30)
  }
  return found
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}

async function startRedis() {
  const port = 20_000 + (process.pid % 20_000)
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  const redis = new Redis(`redis://127.0.0.1:${port}`, { retryStrategy: () => 50 }).on(
    'error',
    () => undefined,
  )
  await redis.ping()
  redis.disconnect()
  return { url: `redis://127.0.0.1:${port}`, child }
}
