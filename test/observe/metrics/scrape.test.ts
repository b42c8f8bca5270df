import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { catalogue } from '../../../src/observe/metrics/catalogue.ts'
import { createMetrics } from '../../../src/observe/metrics/metrics.ts'
import { startService } from '../../helpers/service.ts'
import { until } from '../../workers/stage.ts'
import { seriesOf } from './series.ts'

const service = await startService(t)
const owner = await service.signUp()
const api = '/api/v1'

const scraped = async (url = service.url) => {
  const answer = await fetch(`${url}/metrics`)
  return seriesOf(await answer.text())
}
const requests = (action: string, status: number) =>
  `bailiwick_http_request_duration_seconds_count{action="${action}",status="${status}"}`
const decided = (action: string, effect: string) =>
  `bailiwick_decisions_total{action="${action}",effect="${effect}"}`

t.test('a scrape counts exactly the requests since the last one, by action, status and effect', async (t) => {
  const before = await scraped()
  for (let n = 0; n < 3; n++) await owner.get(`${api}/users/me/`)
  await owner.get(`${api}/tenants/${randomUUID()}/`)
  await service.call('GET', `${api}/users/me/`)
  await owner.post(`${api}/policies/`, {})
  await service.call('POST', `${api}/auth/login/`, {
    body: { email: owner.email, password: 'not this one' },
  })
  await service.call('GET', '/nowhere')
  await service.call('DELETE', '/healthz')
  const after = await scraped()
  const since = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  t.equal(since(requests('profile:read', 200)), 3)
  t.equal(since(requests('profile:read', 401)), 1)
  t.equal(since(requests('tenant:read', 404)), 1)
  t.equal(since(requests('policy:create', 400)), 1)
  t.equal(since(requests('auth_login', 401)), 1, 'public routes have the name of their operation')
  t.equal(since(requests('none', 404)), 1)
  t.equal(since(requests('none', 405)), 1)
  t.equal(since(decided('profile:read', 'allow')), 3)
  t.equal(since(decided('policy:create', 'allow')), 1)
  t.equal(since('bailiwick_password_hash_duration_seconds_count'), 1)
  t.ok(since('bailiwick_decision_duration_seconds_count') >= 4)
  t.equal(since('bailiwick_policy_cache_hits_total') + since('bailiwick_policy_cache_misses_total'), 4)
  t.ok(since('bailiwick_db_pool_wait_seconds_count{pool="system"}') >= 1)
  t.equal(after.get('bailiwick_http_requests_in_flight'), 1, 'the scrape itself')
  t.equal(after.get('bailiwick_ready'), 1)
})

t.test('buckets are cumulative: each counts the values below its bound, the last one all', async (t) => {
  const series = await scraped()
  const buckets = [...series].filter(([name]) =>
    /^bailiwick_http_request_duration_seconds_bucket\{.*action="profile:read",status="200"/.test(name),
  )
  const values = buckets.map(([, value]) => value)
  t.same(
    values,
    values.toSorted((a, b) => a - b),
  )
  t.match(buckets.at(-1)?.[0], /le="\+Inf"/)
  t.equal(values.at(-1), series.get(requests('profile:read', 200)))
})

t.test('denials, limits and jobs are counted with labels from fixed lists', async (t) => {
  const member = await service.signUp()
  await service.mailTo(member.email)
  const registered = 'bailiwick_jobs_total{actor="email",outcome="done"}'
  await until(async () => (await scraped()).get(registered) === 2)
  const before = await scraped()
  await member.get(`${api}/tenants/${owner.tenantId}/`)
  await owner.post(`${api}/tenants/${owner.tenantId}/invitations/`, {
    email: 'guest@example.com',
    roles: ['member'],
  })
  await service.mailTo('guest@example.com')
  for (let n = 0; n < 11; n++)
    await service.call('POST', `${api}/auth/login/`, { body: { email: 'ghost@example.com', password: 'x' } })
  const sent = 'bailiwick_mails_total{outcome="sent"}'
  const done = 'bailiwick_jobs_total{actor="email",outcome="done"}'
  await until(async () => (await scraped()).get(done) === (before.get(done) ?? 0) + 1)
  const after = await scraped()
  const since = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
  t.equal(since('bailiwick_rate_limit_refusals_total{limit="account-lock"}'), 1)
  t.equal(since(sent), 1)
  t.equal(since('bailiwick_job_duration_seconds_count{actor="email"}'), 1)
})

t.test('gauges of outbox and queues are read at a scrape, and cached for three seconds', async (t) => {
  service.advance(3_000)
  const series = await scraped()
  for (const source of ['outbox', 'queues', 'readiness'])
    t.equal(series.get(`bailiwick_scrape_source_up{source="${source}"}`), 1, source)
  t.ok(series.has('bailiwick_outbox_waiting'))
  t.equal(series.get('bailiwick_dead_letters{queue="email",reason="failed"}'), 0)
  t.ok(series.has('bailiwick_queue_jobs{queue="email",state="waiting"}'))
  t.equal(series.get('bailiwick_queue_lag_seconds{queue="email"}'), 0)
  t.equal(series.get('bailiwick_db_pool_connections_max{pool="worker"}'), 4)
})

t.test('five hundred random paths, tenants, users and actions add no series', async (t) => {
  const before = await scraped()
  const ids = Array.from({ length: 500 }, () => randomUUID())
  const paths = (id: string, n: number) =>
    [
      `/${id}`,
      `${api}/users/${id}/`,
      `${api}/tenants/${id}/members/${id}/`,
      `${api}/${id}/?q=${id}`,
      `${api}/policies/${id}/`,
    ][n % 5]!
  for (const [n, id] of ids.entries())
    await service.call(n % 7 ? 'GET' : 'DELETE', paths(id, n), n % 3 ? { token: owner.access } : {})
  for (const id of ids.slice(0, 50)) {
    const action = `thing${id.slice(0, 8)}:verb${id.slice(0, 4)}`
    const body = {
      subject: { type: 'user', id: owner.id },
      action: { name: action },
      resource: { type: 'x', id },
    }
    await service.call('POST', '/access/v1/evaluation', { token: owner.access, body })
  }
  const after = await scraped()
  const fresh = [...after.keys()].filter((name) => !before.has(name) && !/_bucket/.test(name))
  t.ok(fresh.length < 60, `${fresh.length} series`)
  t.equal(after.get(decided('application', 'allow')), 50)
  const text = [...after.keys()].join('\n')
  for (const told of [...ids, ...ids.map((id) => id.slice(0, 8)), owner.id, owner.tenantId, owner.email])
    if (text.includes(told)) t.fail(`${told} is in a label`)
})

t.test('a scrape contains no secret', async (t) => {
  const text = await (await fetch(`${service.url}/metrics`)).text()
  for (const secret of [owner.password, owner.access, owner.refresh, ...Object.values(service.databases)])
    t.notOk(text.includes(secret))
  t.notMatch(text, /postgres:\/\/|only-for-tests|example\.com|whsec_|eyJ/)
})

t.test('every series belongs to the catalogue, to Node or to the process', async (t) => {
  const text = await (await fetch(`${service.url}/metrics`)).text()
  const served = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind]) => ({ name, kind }))
  const ours = served.filter(({ name }) => !/^(process|nodejs)_/.test(name))
  t.same(
    ours.map(({ name }) => name),
    Object.values(catalogue).map(({ name }) => name),
  )
  t.same(
    ours.map(({ kind }) => kind),
    Object.values(catalogue).map(({ kind }) => kind),
  )
  t.ok(served.some(({ name }) => name === 'nodejs_eventloop_lag_p99_seconds'))
})

t.test('the metrics of two processes are independent', async (t) => {
  const [one, two] = [createMetrics('1'), createMetrics('2')]
  one.passwordRefused()
  one.webhookAttempt('refused', 0.2)
  one.sample(() => [{ gauge: 'webhookCircuits', labels: {}, value: 3 }])
  const [first, second] = [seriesOf(await one.scrape()), seriesOf(await two.scrape())]
  t.equal(first.get('bailiwick_password_hashes_refused_total'), 1)
  t.equal(second.get('bailiwick_password_hashes_refused_total'), 0)
  t.equal(first.get('bailiwick_webhook_attempts_total{outcome="refused"}'), 1)
  t.equal(first.get('bailiwick_webhook_circuits_open'), 3)
  t.notOk(second.has('bailiwick_webhook_circuits_open'), 'a gauge that was never set is not shown as 0')
})

t.test(
  'a source that does not answer is left out, asked once at a time, and shown again later',
  async (t) => {
    let now = 0
    const metrics = createMetrics('1', () => now)
    const asked: PromiseWithResolvers<void>[] = []
    metrics.source('outbox', async () => {
      asked.push(Promise.withResolvers<void>())
      await asked.at(-1)!.promise
      return [{ gauge: 'outboxWaiting', labels: {}, value: 7 }]
    })
    const begun = performance.now()
    const scrapes = await Promise.all([metrics.scrape(), metrics.scrape(), metrics.scrape()])
    t.ok(performance.now() - begun < 20_000)
    t.equal(asked.length, 1, 'for any number of scrapes')
    for (const text of scrapes) {
      t.equal(seriesOf(text).get('bailiwick_scrape_source_up{source="outbox"}'), 0)
      t.notOk(seriesOf(text).has('bailiwick_outbox_waiting'))
    }
    const again = await Promise.race([metrics.scrape(), sleep(1_400, 'late', { ref: false })])
    t.not(again, 'late', 'no scrape waits twice for the same call')
    asked[0]!.resolve()
    await new Promise(setImmediate)
    t.equal(seriesOf(await metrics.scrape()).get('bailiwick_outbox_waiting'), 7)
    now += 3_000
    const next = metrics.scrape()
    asked[1]!.reject(new Error('away'))
    const text = seriesOf(await next)
    t.notOk(text.has('bailiwick_outbox_waiting'), 'old values are not shown')
    await metrics.scrape()
    t.equal(asked.length, 2, 'a failure is cached, too')
  },
)
