import { once } from 'node:events'
import t, { type Test } from 'tap'
import { header, mailServer } from '../workers/mail-server.ts'
import { hasRedis, openStage, startRedis, until } from '../workers/stage.ts'
import { startWorker } from '../workers/worker-process.ts'
import { startApi } from './api-process.ts'

// API and worker as in production, with queues and limits on a Redis that freezes, stops, and returns.

const password = 'a quiet harbour'

/** API and worker in production mode. `walk` is the first requests of a new person; none of them can fail or wait. */
async function openProduction(t: Test) {
  const server = await mailServer(t)
  await server.start()
  const stage = await openStage(t, { kind: 'redis', smtpUrl: server.url })
  const { WEBHOOK_ALLOW_PRIVATE, DATABASE_URL, ...env } = stage.env
  const settings = {
    ...env,
    NODE_ENV: 'production',
    PUBLIC_URL: 'http://localhost:3000',
    PORT: '0',
    SHUTDOWN_DELAY_SECONDS: '0',
    RATE_LIMIT_ENABLED: 'true',
  }
  const api = await startApi(t, settings)
  const worker = await startWorker(t, settings)
  t.not(api.url, '', 'the API listens')
  const times: number[] = []
  const ask = async (method: string, path: string, body?: object, token?: string) => {
    const begun = performance.now()
    const response = await fetch(`${api.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    })
    const text = await response.text()
    times.push(performance.now() - begun)
    return { status: response.status, body: JSON.parse(text) }
  }
  const people: string[] = []
  const walk = async (t: Test, email: string) => {
    const person = { email, password }
    people.push(email)
    const registered = await ask('POST', '/api/v1/auth/register/', person)
    t.equal(registered.status, 201, `register ${registered.body.code ?? ''}`)
    const login = await ask('POST', '/api/v1/auth/login/', person)
    t.equal(login.status, 200, `login ${login.body.code ?? ''}`)
    const refreshed = await ask('POST', '/api/v1/auth/refresh/', { refresh: login.body.refresh })
    t.equal(refreshed.status, 200, 'refresh')
    const { access } = refreshed.body
    t.equal(
      (await ask('POST', '/api/v1/tenants/', { name: 'Theirs' }, access)).status,
      201,
      'a write is answered',
    )
    const read = await ask('GET', '/api/v1/events/?after=0', undefined, access)
    t.equal(read.status, 200, 'the feed')
    t.equal((await ask('GET', '/readyz')).status, 200, '/readyz')
  }
  /** Waits until mails and events are sent, and compares them with the requests made. */
  const arrived = async (t: Test) => {
    await until(async () => (await stage.count('outbox')) === 0)
    const mailed = new Map(server.received.map(({ raw, to }) => [header(raw, 'Message-ID'), to[0]!]))
    t.same([...mailed.values()].toSorted(), people.toSorted(), 'each person gets one mail')
    t.equal(server.received.length, people.length, 'no mail is sent twice')
    const gaps = await stage.rows(
      'select tenant_id from events group by tenant_id having count(*) <> max(sequence) or count(*) <> count(sequence)',
    )
    t.same(gaps, [], 'the events of each tenant are numbered without a gap')
    const founded = await stage.count(`events where type = 'tenant.tenant_created'`)
    t.equal(founded, 2 * people.length, 'each person has a personal tenant and the one they created')
    t.equal(await stage.count('dead_letters'), 0)
  }
  return { stage, api, worker, times, walk, arrived }
}

t.test(
  'while Redis hangs or refuses connections, requests are answered as usual, and mail and events follow when it is back',
  { skip: hasRedis ? false : 'no redis-server on this machine' },
  async (t) => {
    const { stage, api, worker, times, walk, arrived } = await openProduction(t)
    const slowest = () => Math.round(Math.max(...times.splice(0)))
    await walk(t, 'before@example.com')
    await arrived(t)
    t.comment(`slowest request with Redis: ${slowest()} ms`)

    process.kill(stage.redis!.pid, 'SIGSTOP')
    try {
      for (const n of [1, 2, 3]) await walk(t, `silent${n}@example.com`)
      const ms = slowest()
      t.ok(ms < 20_000, `the slowest request while Redis hangs took ${ms} ms`)
      t.ok((await stage.count('outbox')) > 0, 'the messages wait')
    } finally {
      process.kill(stage.redis!.pid, 'SIGCONT')
    }
    await arrived(t)

    await stage.redis!.stop()
    for (const n of [1, 2, 3]) await walk(t, `refused${n}@example.com`)
    const ms = slowest()
    t.ok(ms < 20_000, `the slowest request while Redis refuses connections took ${ms} ms`)
    t.ok((await stage.count('outbox')) > 0, 'the messages wait')
    await startRedis(t, stage.redis!.port)
    await arrived(t)
    await walk(t, 'after@example.com')
    await arrived(t)

    for (const { child } of [worker, api]) {
      child.kill('SIGTERM')
      await once(child, 'exit')
      t.equal(child.exitCode, 0)
    }
  },
)

t.test(
  'API and worker start and answer while Redis hangs',
  { skip: hasRedis ? false : 'no redis-server on this machine' },
  async (t) => {
    const stopped = await startRedis(t)
    process.kill(stopped.pid, 'SIGSTOP')
    const stage = await openStage(t, { kind: 'redis' })
    const { WEBHOOK_ALLOW_PRIVATE, DATABASE_URL, ...env } = stage.env
    const begun = performance.now()
    const api = await startApi(t, { ...env, REDIS_URL: stopped.url, PORT: '0', RATE_LIMIT_ENABLED: 'true' })
    t.ok(performance.now() - begun < 30_000)
    const body = JSON.stringify({ email: 'early@example.com', password })
    const headers = { 'content-type': 'application/json' }
    for (const [path, status] of [
      ['register', 201],
      ['login', 200],
    ] as const) {
      const answer = await fetch(`${api.url}/api/v1/auth/${path}/`, { method: 'POST', headers, body })
      t.equal(answer.status, status, path)
    }
    await startWorker(t, { ...env, REDIS_URL: stopped.url })
    t.ok((await stage.count('outbox')) > 0)
    process.kill(stopped.pid, 'SIGCONT')
    await until(async () => (await stage.count('outbox')) === 0)
    t.equal(await stage.count('captured_mails'), 1)
  },
)
