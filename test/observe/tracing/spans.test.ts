import { randomBytes } from 'node:crypto'
import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { openPool } from '../../../src/database/executor/pool.ts'
import { asWorker, sql } from '../../../src/database/executor/transaction.ts'
import { beginTracing, type SamplerName } from '../../../src/observe/tracing/begin-tracing.ts'
import { samplerOf } from '../../../src/observe/tracing/sampler.ts'
import { inSpan, outsideSpans } from '../../../src/observe/tracing/span.ts'
import { contextOf, currentTraceparent } from '../../../src/observe/tracing/traceparent.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { startCollector } from '../../helpers/collector.ts'
import { disposableDatabase } from '../../helpers/database.ts'

const canary = 'canary91b2'

/** Traces this process; `logged` are its log messages about tracing. */
async function trace(t: Test, url: string, more: Record<string, string> = {}) {
  const logged: string[] = []
  const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line).msg) })
  const config = readConfig({ NODE_ENV: 'test', OTEL_EXPORTER_OTLP_ENDPOINT: url, ...more })
  const tracing = await beginTracing(config, { name: 'bailiwick-test', version: '0' }, log)
  t.teardown(() => tracing.end())
  return { ...tracing, logged }
}

const kept = (name: SamplerName | undefined, traceparent: string, kind = SpanKind.SERVER, share = 1) =>
  samplerOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: share }).shouldSample(
    traceparent ? contextOf(traceparent) : ROOT_CONTEXT,
    traceparent.slice(3, 35) || randomBytes(16).toString('hex'),
    'GET',
    kind,
    {},
    [],
  ).decision === SamplingDecision.RECORD_AND_SAMPLED

// The ratio keeps low ids, so a client who wants to be traced would choose this one.
const from = (flags: string) => `00-${'0'.repeat(31)}1-00f067aa0ba902b7-${flags}`
const [sampled, notSampled] = [from('01'), from('00')]

t.test('the sampled flag of a client counts only with a parentbased sampler', async (t) => {
  for (const traceparent of ['', sampled, notSampled]) {
    t.equal(kept(undefined, traceparent), true, 'by default every trace is kept')
    t.equal(kept('always_on', traceparent), true)
    t.equal(kept('always_off', traceparent), false)
    t.equal(kept('traceidratio', traceparent, SpanKind.SERVER, 0), false)
    t.equal(kept('traceidratio', traceparent, SpanKind.SERVER, 1), true)
  }
  for (const name of ['parentbased_always_on', 'parentbased_always_off'] as const) {
    t.equal(kept(name, sampled), true)
    t.equal(kept(name, notSampled), false)
    t.equal(kept(name, ''), name === 'parentbased_always_on')
  }
})

t.test('the trace id of a client does not decide whether a ratio keeps the trace', async (t) => {
  const share = 0.001
  const all = Array.from({ length: 500 }, () => kept('traceidratio', sampled, SpanKind.SERVER, share))
  t.ok(all.filter(Boolean).length < 20)
})

t.test('a job is kept when the request that caused it is kept', async (t) => {
  for (const name of [undefined, 'always_on', 'traceidratio', 'parentbased_always_off'] as const) {
    t.equal(kept(name, sampled, SpanKind.CONSUMER, 0), true)
    t.equal(kept(name, notSampled, SpanKind.CONSUMER, 1), false)
  }
})

t.test('the message of an error is not sent, only its kind', async (t) => {
  const collector = await startCollector(t)
  const { urls, drop } = await disposableDatabase()
  const worker = await openPool(urls.worker, { size: 1, prepared: true, applicationName: 'test' })
  t.teardown(async () => {
    await worker.end()
    await drop()
  })
  const tracing = await trace(t, collector.url)
  const work = () =>
    asWorker({ worker }, (tx) =>
      tx.query(sql.unsafe`select ${canary}::text::uuid, ${`${canary}@x.test`}::text`),
    )
  await t.rejects(inSpan('request', { kind: SpanKind.SERVER }, ROOT_CONTEXT, work))
  await tracing.end()
  const failed = await collector.span(({ name }) => name === 'transaction')
  t.equal(failed.status, 2)
  t.match(failed.attributes, { 'db.system.name': 'postgresql', 'bailiwick.role': 'worker' })
  t.ok(failed.attributes['error.type'])
  t.notOk(Buffer.concat(collector.bytes).includes(canary))
})

t.test('work that several requests share is in no trace', async (t) => {
  const collector = await startCollector(t)
  await trace(t, collector.url)
  await inSpan('request', {}, ROOT_CONTEXT, async () => {
    t.match(currentTraceparent(), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    t.equal(outsideSpans(currentTraceparent), undefined)
  })
})

t.test('a collector that never answers delays nothing, not even the shutdown', async (t) => {
  const collector = await startCollector(t)
  collector.answer = () => undefined
  const tracing = await trace(t, collector.url)
  await inSpan('request', {}, ROOT_CONTEXT, async () => undefined)
  const begun = performance.now()
  await tracing.end()
  t.ok(performance.now() - begun < 9_500, 'the exporter itself would wait for ten seconds')
})

t.test('one log line says that traces cannot be sent, and one that they are sent again', async (t) => {
  const collector = await startCollector(t)
  const tracing = await trace(t, collector.url)
  const requests = async (count: number) => {
    while (collector.requests.length < count) {
      await inSpan('request', {}, ROOT_CONTEXT, async () => undefined)
      await new Promise((done) => setTimeout(done, 50))
    }
  }
  collector.answer = (response) => void response.writeHead(400).end(canary)
  await requests(2)
  collector.answer = (response) => void response.writeHead(200).end()
  await requests(4)
  t.strictSame(tracing.logged, ['traces cannot be sent; they are dropped', 'traces are sent again'])
})

t.test(
  'production sends spans over TLS, except to this machine or where http is allowed by name',
  async (t) => {
    const plain = { NODE_ENV: 'production', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example.com:4318' }
    const refused =
      /OTEL_EXPORTER_OTLP_ENDPOINT has no TLS: begin it with https:\/\/, or set TRACING_REQUIRE_TLS=false/
    const faultsOf = (env: Record<string, string>) => {
      try {
        readConfig({ ...plain, ...env })
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    t.match(faultsOf({}), refused)
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://traces.example.com/v1/traces' }
    t.match(faultsOf(own), /OTEL_EXPORTER_OTLP_TRACES_ENDPOINT has no TLS/)
    const accepted: Record<string, string>[] = [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.com' },
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
      { TRACING_REQUIRE_TLS: 'false' },
      { OTEL_SDK_DISABLED: 'true' },
    ]
    for (const allowed of accepted) t.notMatch(faultsOf(allowed), /has no TLS/, JSON.stringify(allowed))
  },
)

t.test('OTEL_SDK_DISABLED turns tracing off, and invalid settings are named', async (t) => {
  const endpoint = { NODE_ENV: 'test', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
  t.equal(readConfig(endpoint).tracing, true)
  t.equal(readConfig({ ...endpoint, OTEL_SDK_DISABLED: 'true' }).tracing, false)
  t.equal(readConfig({ NODE_ENV: 'test' }).tracing, false)
  t.doesNotThrow(() => readConfig({ ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'a=b', OTEL_BSP_X: '1' }))
  for (const wrong of [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { OTEL_TRACES_SAMPLER: 'sometimes' },
    { OTEL_TRACES_SAMPLER_ARG: '2' },
  ])
    t.throws(() => readConfig({ ...endpoint, ...wrong }), { message: new RegExp(Object.keys(wrong)[0]!) })
})
