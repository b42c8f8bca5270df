import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openConnections } from '../../src/database/executor/open-connections.ts'
import { createLogger } from '../../src/observe/log.ts'
import { readConfig } from '../../src/settings/config.ts'
import { listRoutes } from '../../src/start/app.ts'
import { openDevelopment } from '../../src/start/development/development.ts'
import {
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/start/development/embedded-postgres.ts'
import { serveApi } from '../../src/start/serve.ts'
import { startActors } from '../../workers/actors.ts'
import { openWorkerDeps } from '../../workers/deps.ts'
import { useProductionTimeouts } from '../helpers/database.ts'
import { claimsOf } from '../helpers/service.ts'
import { seriesOf } from '../observe/metrics/series.ts'

// A separate cluster is stopped, frozen and started again under a running service.

useProductionTimeouts(t)
const parent = await mkdtemp(join(tmpdir(), 'bailiwick-outage-'))
await chmod(parent, 0o711)
const dataDir = join(parent, 'data')
const poolSize = 3
const development = await openDevelopment(
  readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATA_DIR: dataDir,
    DATABASE_POOL_SIZE: String(poolSize),
    LOG_LEVEL: 'silent',
  }),
)
const log = createLogger('silent', false)
const serving = await serveApi(development.config, log)
const workerDeps = await openWorkerDeps(development.config, log, Date.now, serving.deps.metrics)
const actors = await startActors(workerDeps)
t.teardown(async () => {
  await actors.stop()
  await workerDeps.close()
  await serving.stop()
  await removeEmbeddedPostgres({ dataDir })
  await rm(parent, { recursive: true, force: true })
})

const api = '/api/v1'
const person = { email: 'ada@example.com', password: 'a quiet harbour' }

/** Sends one request; returns its answer and its duration (ms). */
async function ask(
  method: string,
  path: string,
  { token = '', body }: { token?: string; body?: unknown } = {},
) {
  const begun = performance.now()
  const response = await fetch(`${serving.url}${path}`, {
    method,
    headers: {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(60_000),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: text ? JSON.parse(text) : null,
    headers: response.headers,
    ms: performance.now() - begun,
  }
}

async function pair() {
  const { body } = await ask('POST', `${api}/auth/login/`, { body: person })
  return body as { access: string; refresh: string }
}

/** Paths and valid bodies for every route that needs Postgres. */
function everyRoute(access: string, refresh: string): [method: string, path: string, body: unknown][] {
  const tenantId = claimsOf(access).tenant_id
  const bodies: Record<string, unknown> = {
    '/auth/register': { ...person, email: 'late@example.com' },
    '/auth/login': person,
    '/auth/refresh': { refresh },
    '/auth/email/verify/confirm': { token: 'x'.repeat(43) },
    '/auth/switch-tenant': { tenant_id: tenantId },
    '/tenants': { name: 'Late' },
  }
  return listRoutes(serving.deps, { ready: async () => undefined, drain() {} })
    .filter(
      ({ path, action }) => path.startsWith(api) && (action !== 'public' || bodies[path.slice(api.length)]),
    )
    .map(({ method, path }) => [
      method,
      `${path.replace(/:\w+/g, tenantId)}/`,
      method === 'GET' ? undefined : (bodies[path.slice(api.length)] ?? {}),
    ])
}

const superuser = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const url = new URL(development.config.DATABASE_API_URL!)
  const password = (await readFile(join(dataDir, 'postgres', 'password'), 'utf8').catch(() => '')).trim()
  Object.assign(url, { username: 'postgres', password })
  const client = new pg.Client({ connectionString: url.href })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
const backends = () =>
  superuser(async (client) => {
    const { rows } = await client.query(
      "select count(*)::int from pg_stat_activity where application_name like 'bailiwick-api/%'",
    )
    return rows[0].count as number
  })

/** Repeats a request until the answer has this status; returns the ms it took, at most 15,000. */
async function until(status: number, method: string, path: string, more = {}): Promise<number> {
  const begun = performance.now()
  while (performance.now() - begun < 60_000) {
    if ((await ask(method, path, more).catch(() => undefined))?.status === status) break
    await sleep(50)
  }
  return performance.now() - begun
}

await ask('POST', `${api}/auth/register/`, { body: person })
const { access, refresh } = await pair()
let live = access

const refuses = async (t: Test, what: string) => {
  for (const [method, path, body] of everyRoute(live, refresh)) {
    const answer = await ask(method, path, { token: live, body })
    t.match(answer, { status: 503, body: { code: 'dependency_unavailable' } }, `${what}: ${method} ${path}`)
    t.ok(answer.headers.get('retry-after'), 'the answer says when to try again')
    t.ok(answer.ms < 20_000, `${what}: ${method} ${path} took ${Math.round(answer.ms)} ms`)
    t.notMatch(JSON.stringify(answer.body), /ECONN|127\.0\.0\.1|postgres:|slonik|select/i)
  }
  t.equal((await ask('GET', '/healthz')).status, 200)
  t.equal((await ask('GET', '/.well-known/jwks.json')).status, 200)
  await sleep(1_000) // readiness is cached for a second
  const ready = await ask('GET', '/readyz')
  t.match(ready, { status: 503, body: { code: 'dependency_unavailable' } })
  t.ok(ready.ms < 10_000)
}

/** A scrape without Postgres answers in time and leaves out the unavailable sources. */
async function tellsOfTheOutage(t: Test) {
  await sleep(3_000) // earlier readings are cached for this long
  for (let n = 0; n < 3; n++) {
    const begun = performance.now()
    const answer = await fetch(`${serving.url}/metrics`, { signal: AbortSignal.timeout(60_000) })
    const series = seriesOf(await answer.text())
    t.ok(performance.now() - begun < 10_000, `${Math.round(performance.now() - begun)} ms`)
    t.equal(answer.status, 200)
    t.equal(series.get('bailiwick_ready'), 0)
    t.equal(series.get('bailiwick_scrape_source_up{source="outbox"}'), 0)
    t.notOk(series.has('bailiwick_outbox_waiting'))
    t.ok((series.get('bailiwick_db_pool_connections{pool="worker",state="busy"}') ?? 0) > 0)
    t.ok(series.has('bailiwick_http_request_duration_seconds_count{action="tenant:create",status="503"}'))
  }
}

t.test('while Postgres is stopped, all routes that need it fail at once; they recover with it', async (t) => {
  await development.stop()
  await refuses(t, 'stopped')
  const burst = await Promise.all(
    Array.from({ length: 60 }, () => ask('GET', `${api}/users/me/`, { token: live })),
  )
  t.same([...new Set(burst.map(({ status }) => status))], [503])
  t.ok(
    Math.max(...burst.map(({ ms }) => ms)) < 20_000,
    `the slowest of 60 took ${Math.round(Math.max(...burst.map(({ ms }) => ms)))} ms`,
  )

  await startEmbeddedPostgres({ dataDir })
  const ms = await until(200, 'GET', `${api}/users/me/`, { token: live })
  t.ok(ms < 20_000, `back after ${Math.round(ms)} ms`)
  t.ok((await until(200, 'GET', '/readyz')) < 20_000)
  t.equal(
    (await ask('POST', `${api}/auth/refresh/`, { body: { refresh } })).status,
    200,
    'nothing was consumed',
  )
  t.equal(
    (await ask('POST', `${api}/auth/register/`, { body: { ...person, email: 'late@example.com' } })).status,
    201,
    'nothing was partly written',
  )
  const now = await backends()
  t.ok(now <= 2 * poolSize, `${now} backends`)
})

t.test('1,000 refused requests open no new database connection', async (t) => {
  const pids = () =>
    superuser(async (client) => {
      const { rows } = await client.query(
        "select pid from pg_stat_activity where application_name like 'bailiwick-api/%'",
      )
      return new Set<number>(rows.map(({ pid }) => pid))
    })
  for (let i = 0; i < 20; i++) await ask('GET', `${api}/users/me/`, { token: live })
  // Else a busy machine opens the last connections of a pool late.
  for (const pool of [serving.deps.db.api, serving.deps.db.system]) await openConnections(pool, poolSize, log)
  const before = await pids()
  const paths = [
    `${api}/users/${crypto.randomUUID()}/`,
    `${api}/tenants/${crypto.randomUUID()}/`,
    `${api}/users/?page_size=0`,
  ]
  for (let i = 0; i < 20; i++) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => ask('GET', paths[n % 3]!, { token: live })),
    )
    t.ok(answers.every(({ status }) => status === 404 || status === 400))
  }
  const created = [...(await pids())].filter((pid) => !before.has(pid))
  t.same(created, [])
})

t.test(
  'while Postgres is frozen no request takes longer than 5 s, and refused requests changed nothing',
  async (t) => {
    live = (await pair()).access
    const postmaster = Number.parseInt(
      await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8'),
      10,
    )
    const pids = [
      postmaster,
      ...(await superuser(async (client) =>
        (
          await client.query('select pid from pg_stat_activity where pid <> pg_backend_pid()')
        ).rows.map(({ pid }) => pid as number),
      )),
    ]
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    try {
      const founding = Array.from({ length: 20 }, (_, n) =>
        ask('POST', `${api}/tenants/`, { token: live, body: { name: `Frozen ${n}` } }),
      )
      const reading = Array.from({ length: 20 }, () => ask('GET', `${api}/users/me/`, { token: live }))
      const answers = await Promise.all([
        ...founding,
        ...reading,
        ask('POST', `${api}/auth/login/`, { body: person }),
        ask('GET', '/readyz'),
      ])
      for (const { status, body, ms } of answers) {
        t.match({ status, body }, { status: 503, body: { code: 'dependency_unavailable' } })
        t.ok(ms < 20_000, `${Math.round(ms)} ms`)
      }
      t.equal((await ask('GET', '/healthz')).status, 200)
      await tellsOfTheOutage(t)
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    }
    t.ok((await until(200, 'GET', `${api}/users/me/`, { token: live })) < 20_000)
    await sleep(3_000)
    const series = seriesOf(await (await fetch(`${serving.url}/metrics`)).text())
    t.equal(series.get('bailiwick_scrape_source_up{source="outbox"}'), 1, 'the sources recover with Postgres')
    const { body } = await ask('GET', `${api}/tenants/?page_size=100`, { token: live })
    t.same(
      body.results
        .map(({ name }: { name: string }) => name)
        .filter((name: string) => name.startsWith('Frozen')),
      [],
    )
    t.ok((await backends()) <= 2 * poolSize)
  },
)

t.test(
  'every request acknowledged during outages of Postgres has its event, once and without gaps',
  async (t) => {
    const acknowledged: string[] = []
    let running = true
    const write = async (n: number) => {
      for (let i = 0; running; i++) {
        const answer = await ask('POST', `${api}/tenants/`, {
          token: live,
          body: { name: `Kept ${n}-${i}` },
        }).catch(() => undefined)
        if (answer?.status === 201) acknowledged.push(answer.body.id)
        else await sleep(20)
      }
    }
    const writers = [0, 1, 2, 3].map(write)
    for (let round = 0; round < 2; round++) {
      await sleep(400)
      const { stop } = await startEmbeddedPostgres({ dataDir }) // adopts the running server
      await stop()
      await startEmbeddedPostgres({ dataDir })
      await until(200, 'GET', `${api}/users/me/`, { token: live })
    }
    await sleep(400)
    running = false
    await Promise.all(writers)
    t.ok(acknowledged.length > 10, `${acknowledged.length} tenants`)
    const events = async () =>
      superuser(async (client) => {
        const { rows } = await client.query(
          'select tenant_id, type, sequence::int from events where tenant_id = any($1) order by tenant_id, sequence',
          [acknowledged],
        )
        return rows as { tenant_id: string; type: string; sequence: number | null }[]
      })
    let found = await events()
    for (let i = 0; i < 200 && found.some(({ sequence }) => sequence === null); i++) {
      await sleep(50)
      found = await events()
    }
    const byTenant = Map.groupBy(found, ({ tenant_id }) => tenant_id)
    t.equal(byTenant.size, acknowledged.length)
    for (const each of byTenant.values())
      t.same(each.map(({ type, sequence }) => [type, sequence]).sort(), [
        ['tenant.member_added', 2],
        ['tenant.tenant_created', 1],
      ])
  },
)
