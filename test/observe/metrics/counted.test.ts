import t from 'tap'
import { measureEngine } from '../../../src/authorization/decisions/measure-decisions.ts'
import { createPasswordHasher } from '../../../src/crypto/passwords.ts'
import { openMeasuredPool } from '../../../src/database/executor/measure-pool.ts'
import { readAsSystem } from '../../../src/database/executor/read.ts'
import { asSystem, sql } from '../../../src/database/executor/transaction.ts'
import { createMetrics, type Metrics } from '../../../src/observe/metrics/metrics.ts'
import { openAccessEngine } from '../../../src/policy-engine/evaluate/engine.ts'
import type { AnyQuery } from '../../../src/policy-engine/evaluate/query.ts'
import { disposableDatabase } from '../../helpers/database.ts'
import { seriesOf } from './series.ts'

const scraped = async (metrics: Metrics) => seriesOf(await metrics.scrape())

t.test('a repeated transaction counts one wait and one retry, and a read one wait', async (t) => {
  const { urls, drop } = await disposableDatabase()
  const metrics = createMetrics('1')
  const options = { size: 1, prepared: true, applicationName: 'test' }
  const system = await openMeasuredPool(urls.system, options, { name: 'system', metrics })
  t.teardown(async () => {
    await system.end()
    await drop()
  })
  let runs = 0
  await asSystem({ system }, 'a test', async (tx) => {
    if (runs++ === 0)
      await tx.query(sql.unsafe`do $$ begin raise exception 'again' using errcode = '40001'; end $$`)
    const during = await scraped(metrics)
    t.equal(during.get('bailiwick_db_pool_connections{pool="system",state="busy"}'), 1)
  })
  await readAsSystem({ system }, 'a test', (read) => read.any(sql.unsafe`select 1 as one`))
  const series = await scraped(metrics)
  t.equal(runs, 2)
  t.equal(series.get('bailiwick_db_transaction_retries_total{pool="system"}'), 1)
  t.equal(series.get('bailiwick_db_pool_wait_seconds_count{pool="system"}'), 2)
  t.equal(series.get('bailiwick_db_pool_connections{pool="system",state="idle"}'), 1)
  t.equal(series.get('bailiwick_db_pool_connections_max{pool="system"}'), 1)
})

t.test('a refused hash is counted, and a finished one is timed', async (t) => {
  const metrics = createMetrics('1')
  const { passwordHashed: hashed, passwordRefused: refused } = metrics
  const passwords = await createPasswordHasher({ inFlight: 1, waitingMax: 1, hashed, refused })
  const all = await Promise.allSettled(Array.from({ length: 5 }, () => passwords.hash('a quiet harbour')))
  t.equal(all.filter(({ status }) => status === 'fulfilled').length, 2)
  const series = await scraped(metrics)
  t.equal(series.get('bailiwick_password_hashes_refused_total'), 3)
  t.equal(series.get('bailiwick_password_hash_duration_seconds_count'), 2)
  t.same(passwords.load().waiting, { now: 0, max: 1 })
})

t.test('an engine without an answer is counted as a failure, and its error is still thrown', async (t) => {
  const metrics = createMetrics('1')
  const engine = measureEngine(await openAccessEngine(), metrics)
  t.throws(() => engine.decide({} as AnyQuery), { name: 'AuthorizationUnavailable' })
  const series = await scraped(metrics)
  t.equal(series.get('bailiwick_decision_failures_total'), 1)
  t.equal(series.get('bailiwick_decision_duration_seconds_count'), 0)
})

t.test('a value at a bound counts in its bucket, and one above all bounds in the last bucket', async (t) => {
  const metrics = createMetrics('1')
  for (const seconds of [0, 0.005, 0.0051, 5, 5.1]) metrics.requestEnded('none', 404, seconds)
  const series = await scraped(metrics)
  const bucket = (le: string) =>
    series.get(`bailiwick_http_request_duration_seconds_bucket{le="${le}",action="none",status="404"}`)
  t.same(['0.005', '0.01', '2.5', '5', '+Inf'].map(bucket), [2, 3, 3, 4, 5])
  t.equal(series.get('bailiwick_http_request_duration_seconds_sum{action="none",status="404"}'), 10.1101)
})
