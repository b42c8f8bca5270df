import { createServer } from 'node:net'
import t from 'tap'
import { createLogger } from '../../../src/observe/log.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { serveApi } from '../../../src/start/serve.ts'
import { startService } from '../../helpers/service.ts'
import { seriesOf } from './series.ts'

const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://id.example.com',
  SMTP_URL: 'smtp://127.0.0.1:9',
  MAIL_FROM: 'no-reply@id.example.com',
  SHUTDOWN_DELAY_SECONDS: '0',
}
const service = await startService(t, {
  workers: false,
  env: { ...production, MANAGEMENT_PORT: '0', RATE_LIMIT_PER_USER: '3' },
})
const management = service.managementUrl!
const get = async (url: string, path: string, method = 'GET') => {
  const answer = await fetch(`${url}${path}`, { method })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

t.test('in production the main port has no metrics, with and without a token', async (t) => {
  for (const path of ['/metrics', '/metrics/', '/Metrics', '//metrics'])
    t.equal((await get(service.url, path)).status, 404, path)
  t.equal((await get(service.url, '/metrics', 'POST')).status, 404)
  t.equal((await get(service.url, '/readyz')).status, 200, 'health works as usual')
})

t.test('the management port serves metrics and health, and nothing else', async (t) => {
  const metrics = await get(management, '/metrics')
  t.equal(metrics.status, 200)
  t.equal(metrics.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.equal(metrics.headers.get('cache-control'), 'no-store')
  t.equal(seriesOf(metrics.text).get('bailiwick_ready'), 1)
  t.match(metrics.text, /^bailiwick_build_info\{version="[\d.]+",policy_revision="[0-9a-f]{64}"\} 1$/m)
  t.same(JSON.parse((await get(management, '/healthz')).text), { status: 'ok' })
  t.same(JSON.parse((await get(management, '/readyz/?now')).text), { status: 'ready' })
  const head = await get(management, '/readyz', 'HEAD')
  t.match(head, { status: 200, text: '' })
  for (const path of ['/', '/docs', '/api/v1/users/me/', '/metrics/x', '/__proto__', '//'])
    t.match(await get(management, path), { status: 404, text: /"code":"not_found"/ }, path)
  const posted = await get(management, '/metrics', 'POST')
  t.equal(posted.status, 405)
  t.equal(posted.headers.get('allow'), 'GET, HEAD')
})

t.test('it has no rate limit, and its requests are not counted', async (t) => {
  const before = seriesOf((await get(management, '/metrics')).text)
  const statuses = new Set<number>()
  for (let n = 0; n < 300; n++) statuses.add((await get(management, n % 2 ? '/metrics' : '/readyz')).status)
  t.same([...statuses], [200])
  const after = seriesOf((await get(management, '/metrics')).text)
  const requests = (series: Map<string, number>) =>
    [...series].filter(([name]) => name.startsWith('bailiwick_http_request_duration_seconds_count'))
  t.same(requests(after), requests(before))
})

t.test('calls that a limit refuses are counted by the name of the limit', async (t) => {
  const ada = await service.signUp()
  const statuses = []
  for (let n = 0; n < 5; n++) statuses.push((await ada.get('/api/v1/users/me/')).status)
  t.same(statuses, [200, 200, 200, 429, 429])
  const series = seriesOf((await get(management, '/metrics')).text)
  t.equal(series.get('bailiwick_rate_limit_refusals_total{limit="user"}'), 2)
})

t.test('the same port for both is a fault of the configuration', async (t) => {
  t.throws(() => readConfig({ PORT: '8080', MANAGEMENT_PORT: '8080' }), { message: /must differ from PORT/ })
  for (const name of ['MANAGEMENT_PROT', 'DEAD_LETTER_RETENTION_DAY'])
    t.throws(() => readConfig({ [name]: '1' }), { message: /check its spelling/ }, name)
})

t.test('without the setting production serves no metrics and logs this at the start', async (t) => {
  const lines: string[] = []
  const log = createLogger('silent', false)
  const told = Object.assign(Object.create(log), {
    info: (_: object, line = String(_)) => void lines.push(line),
  })
  const { MANAGEMENT_PORT, ...config } = service.deps.config
  const quiet = await serveApi({ ...config, PORT: 0, MANAGEMENT_PORT: undefined }, told)
  t.teardown(() => quiet.stop())
  t.equal(quiet.managementUrl, undefined)
  t.ok(lines.includes('MANAGEMENT_PORT is not set: this process serves no metrics'))
  t.equal((await get(quiet.url, '/metrics')).status, 404)
})

t.test('the error for a port in use names its setting, and nothing keeps listening', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const config = { ...service.deps.config, PORT: 0, MANAGEMENT_PORT: port }
  await t.rejects(serveApi(config, createLogger('silent', false)), {
    message: `Port ${port} of 127.0.0.1 is in use. Set MANAGEMENT_PORT to another port, or stop the process that listens there.`,
  })
})

t.test(
  'while the service drains, its management port answers not ready, and closes afterwards',
  async (t) => {
    const { MANAGEMENT_PORT, ...config } = service.deps.config
    const other = await serveApi({ ...config, PORT: 0, MANAGEMENT_PORT: 0 }, createLogger('silent', false))
    t.equal((await get(other.managementUrl!, '/readyz')).status, 200)
    const stopped = other.stop()
    const during = await get(other.managementUrl!, '/readyz').catch(() => undefined)
    if (during) t.match(during, { status: 503, text: /shutting down/ })
    await stopped
    await t.rejects(fetch(`${other.managementUrl}/healthz`))
  },
)
