import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { startCollector } from '../../helpers/collector.ts'
import { disposableDatabase } from '../../helpers/database.ts'
import { productionSettings, startProcess } from '../../helpers/production.ts'
import { mailServer } from '../../workers/mail-server.ts'
import { startRedis, until, usualBackends } from '../../workers/stage.ts'

const canary = 'canary7f3a'
const strangersTrace = '0af7651916cd43dd8448eb211c80319c'
const strangersSpan = 'b7ad6b7169203331'

const post = (url: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/api/v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

for (const { kind, skip } of usualBackends)
  t.test(`request, relay and jobs are one trace with queues on ${kind}`, { skip }, async (t) => {
    const { urls, drop } = await disposableDatabase()
    t.teardown(drop)
    const collector = await startCollector(t)
    const mails = await mailServer(t)
    await mails.start()
    const env = {
      ...(await productionSettings(urls, mails.url)),
      REDIS_URL: kind === 'redis' ? (await startRedis(t)).url : '',
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=for-the-collector',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
    }
    const [api, worker] = await Promise.all([startProcess(t, 'api', env), startProcess(t, 'worker', env)])

    const person = { email: `${canary}@example.com`, password: `${canary} quiet harbour`, last_name: canary }
    const headers = {
      traceparent: `00-${strangersTrace}-${strangersSpan}-00`,
      tracestate: `vendor=${canary}`,
      'user-agent': canary,
    }
    const registered = await post(api.url, `auth/register/?x=${canary}`, person, headers)
    t.equal(registered.status, 201)
    const { id } = (await registered.json()) as { id: string }
    await until(() => mails.received.length > 0)

    await t.test('from the request to the mail', async (t) => {
      const request = await collector.span(({ name }) => name === 'POST /api/v1/auth/register')
      const { traceId, parentId, service, attributes } = request
      t.match(
        { traceId, parentId, service, kind: request.kind },
        {
          traceId: strangersTrace,
          parentId: strangersSpan,
          service: 'bailiwick-api',
          kind: 2,
        },
      )
      t.strictSame(attributes, {
        'http.request.method': 'POST',
        'http.response.status_code': 201,
        'http.route': '/api/v1/auth/register',
        'bailiwick.action': 'public',
      })
      const inTrace = new Set<string>()
      for (const queue of ['email', 'event-fanout']) {
        const job = await collector.span(
          ({ name, traceId }) => name === `process ${queue}` && traceId === strangersTrace,
        )
        t.match(job, { service: 'bailiwick-worker', kind: 5, status: 0 })
        t.equal(job.attributes['messaging.destination.name'], queue)
        inTrace.add(job.parentId)
      }
      for (const parent of inTrace) {
        const left = await collector.span(({ spanId }) => spanId === parent)
        t.match(left, { name: 'transaction', service: 'bailiwick-api', traceId: strangersTrace })
      }
      await collector.span(
        ({ name, service, traceId }) =>
          name === 'transaction' && service === 'bailiwick-worker' && traceId === strangersTrace,
      )
    })

    await t.test('the event has the span that wrote it', async (t) => {
      const root = new pg.Client({ connectionString: urls.superuser })
      await root.connect()
      const { rows } = await root.query("select traceparent from events where type = 'identity.user_created'")
      await root.end()
      const [, trace, span, flags] = rows[0].traceparent.split('-')
      t.strictSame([trace, flags], [strangersTrace, '01'], 'kept, whatever the flag of the client was')
      await collector.span(({ spanId }) => spanId === span)
    })

    await t.test('each log line of the request has its trace', async (t) => {
      const request = api.lines().find(({ path }) => path === '/api/v1/auth/register/')
      t.match(request, { trace_id: strangersTrace, span_id: /^[0-9a-f]{16}$/ })
      await until(() => worker.lines().some(({ msg }) => msg === 'mail sent'))
      const sent = worker.lines().find(({ msg }) => msg === 'mail sent')
      t.match(sent, { trace_id: strangersTrace, span_id: /^[0-9a-f]{16}$/ })
      const mail = await collector.span(({ name }) => name === 'process email')
      t.equal(sent?.span_id, mail.spanId)
    })

    await t.test('the decision is on the span of the request, and a refusal is not a failure', async (t) => {
      const login = await post(api.url, 'auth/login/', person)
      const { access } = (await login.json()) as { access: string }
      const authorization = `Bearer ${access}`
      const seen = await fetch(`${api.url}/api/v1/users/${id}/`, { headers: { authorization } })
      const lost = await fetch(`${api.url}/api/v1/users/${randomUUID()}/`, { headers: { authorization } })
      const mine = await fetch(`${api.url}/api/v1/users/me/`, { headers: { authorization } })
      const wrong = await post(api.url, 'auth/login/', { ...person, password: `wrong ${canary}` })
      t.strictSame([seen.status, lost.status, mine.status, wrong.status], [200, 404, 200, 401])
      const me = await collector.span(({ name }) => name === 'GET /api/v1/users/me')
      t.match(me.events[0], { name: 'decision', attributes: { 'bailiwick.effect': 'allow' } })
      t.equal(me.attributes['bailiwick.action'], 'profile:read')
      const refused = await collector.span(
        ({ attributes }) => attributes['http.response.status_code'] === 401,
      )
      t.match(refused, { name: 'POST /api/v1/auth/login', status: 0 })
      t.notOk('error.type' in refused.attributes)
      await collector.span(
        ({ name, attributes }) =>
          name === 'GET /api/v1/users/:id' && attributes['bailiwick.code'] === 'not_found',
      )
      t.notSame(me.traceId, strangersTrace, 'without a traceparent a new trace begins')
    })

    await t.test('a malformed traceparent begins a new trace', async (t) => {
      const bad = [
        `00-${'0'.repeat(32)}-${strangersSpan}-01`,
        `00-${strangersTrace}-${'0'.repeat(16)}-01`,
        `ff-${strangersTrace}-${strangersSpan}-01`,
        `00-${strangersTrace.toUpperCase()}-${strangersSpan}-01`,
        `00-${strangersTrace}-${strangersSpan}-01-x`,
        'x',
      ]
      for (const traceparent of bad) await fetch(`${api.url}/healthz`, { headers: { traceparent } })
      const spans = () => collector.spans.filter(({ name }) => name === 'GET /healthz')
      await until(() => spans().length === bad.length)
      t.same(new Set(spans().map(({ parentId }) => parentId)), new Set(['']))
      t.equal(new Set(spans().map(({ traceId }) => traceId)).size, bad.length)
      t.notOk(spans().some(({ traceId }) => /^0+$|^0af7/.test(traceId)))
    })

    for (const process of [api, worker]) t.equal((await process.stop()).code, 0, process.printed.err)
    const everything = Buffer.concat(collector.bytes).toString('latin1')
    t.ok(collector.spans.length > 20)
    for (const secret of [canary, id, '127.0.0.1', '?x=', 'token=', 'eyJ'])
      t.notOk(everything.includes(secret), `no ${secret} in ${everything.length} bytes`)
    const token = /token=(?:3D)?([\w-]{12})/.exec(mails.received[0]!.raw)?.[1]
    t.ok(token && !everything.includes(token), 'no token of a mail is in a span')
    t.match(everything, 'deployment.environment.name')
    for (const { url, headers } of collector.requests) {
      t.equal(url, '/v1/traces')
      t.match(headers, { 'content-type': 'application/x-protobuf', 'api-key': 'for-the-collector' })
    }
  })
