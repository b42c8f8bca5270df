import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import t from 'tap'
import { startCollector } from '../helpers/collector.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { type Line, productionSettings, startProcess } from '../helpers/production.ts'
import { mailServer } from '../workers/mail-server.ts'
import { until } from '../workers/stage.ts'
import { faultsOf, kinds, tables } from './log-lines.ts'

const file = join(import.meta.dirname, '..', '..', 'docs', 'reference', 'logs.md')

t.test('the tables of the document are those of the schema', async (t) => {
  const now = readFileSync(file, 'utf8')
  const wanted = now.replace(
    /(<!-- tables.*-->\n)[\s\S]*(<!-- end -->)/,
    (_all, begin, end) => `${begin}\n${tables()}\n\n${end}`,
  )
  if (process.env.UPDATE_LOGS) writeFileSync(file, wanted)
  t.equal(process.env.UPDATE_LOGS ? wanted : now, wanted, 'else run this with UPDATE_LOGS=1')
  t.ok(wanted.includes('| `duration_ms` | number |'))
  t.notOk(wanted.includes('undefined'), 'each field has its type, meaning and example')
})

t.test('the log of API and worker in production is as documented, and contains no secret', async (t) => {
  const { urls, drop } = await disposableDatabase()
  const root = new pg.Pool({ connectionString: urls.superuser, max: 1 })
  root.on('error', () => undefined) // its connection can end after the pool, with the database
  t.teardown(async () => {
    await root.end()
    await drop()
  })
  const mails = await mailServer(t)
  const codes = [451, 550]
  mails.answer = () => {
    const responseCode = codes.shift()
    return responseCode ? Object.assign(new Error('canary-said'), { responseCode }) : null
  }
  await mails.start()
  const collector = await startCollector(t)
  const env = {
    ...(await productionSettings(urls, mails.url)),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    LOG_LEVEL: 'debug',
  }
  const [api, worker] = await Promise.all([startProcess(t, 'api', env), startProcess(t, 'worker', env)])
  const said = (process: typeof api, msg: RegExp) =>
    until(() => process.lines().some((line) => msg.test(line.msg)))
  const post = (path: string, body: object) =>
    fetch(`${api.url}/api/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const person = (name: string) => ({ email: `canary-${name}@example.com`, password: 'canary quiet harbour' })

  t.equal((await post('auth/register/?canary', person('one'))).status, 201)
  await said(worker, /^became a dead letter/)
  t.equal((await post('auth/register/', person('two'))).status, 201)
  await said(worker, /^mail sent/)
  const { access } = (await (await post('auth/login/', person('two'))).json()) as { access: string }
  // No key opens its secret, so no event is sent.
  await root.query(
    `insert into webhooks (tenant_id, id, url, secret_sealed, created_at, updated_at)
     select id, gen_random_uuid(), 'https://canary.example.com/', 'canary', now(), now() from tenants`,
  )
  t.equal((await post('auth/login/', person('two'))).status, 200)
  await said(worker, /^event not delivered/)
  const headers = { authorization: `Bearer ${access}` }
  for (const path of ['users/me/', 'tenants/', 'nothing/'])
    await fetch(`${api.url}/api/v1/${path}`, { headers })
  t.equal((await post('auth/login/', { ...person('two'), password: 'canary' })).status, 401)
  await post('auth/login/', person('nobody'))
  await root.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'bailiwick_worker'",
  )
  await said(worker, /cannot be reached/)
  await root.query('alter table users rename to gone')
  t.equal((await post('auth/login/', person('two'))).status, 500)
  for (const process of [api, worker]) t.equal((await process.stop()).code, 0, process.printed.err)

  const judged = (lines: Line[]) => lines.map((line) => ({ line, ...faultsOf(line) }))
  const [ofApi, ofWorker] = [judged(api.lines()), judged(worker.lines())]
  for (const { line, faults } of [...ofApi, ...ofWorker]) t.strictSame(faults, [], JSON.stringify(line))
  const titles = (judgements: typeof ofApi) => new Set(judgements.map(({ title }) => title))
  for (const title of ['Start', 'Request', 'Stop', 'Anything else'])
    t.ok(titles(ofApi).has(title), `API: ${title}`)
  const ofTheWorker = ['Start', 'Job', 'Retry', 'Dead letter', 'Mail', 'Cleanup', 'Outage', 'Stop']
  for (const title of ofTheWorker) t.ok(titles(ofWorker).has(title), `worker: ${title}`)
  t.strictSame(
    kinds.filter(({ title }) => !titles([...ofApi, ...ofWorker]).has(title)),
    [],
    'every kind was seen',
  )
  for (const { line, title } of [...ofApi, ...ofWorker])
    if (['Request', 'Job', 'Dead letter'].includes(title)) t.ok(line.trace_id, `${title} has its trace`)
  for (const { printed } of [api, worker]) {
    t.notMatch(printed.out, /canary/)
    t.notMatch(printed.out, access)
    t.equal(printed.err, '')
  }
})
