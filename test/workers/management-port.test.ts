import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { asWorker, sql } from '../../src/database/executor/transaction.ts'
import { seriesOf } from '../observe/metrics/series.ts'
import { mailServer } from './mail-server.ts'
import { freePort, openStage, until, usualBackends } from './stage.ts'
import { startWorker } from './worker-process.ts'

for (const { kind, skip } of usualBackends)
  t.test(
    `the management port of a worker on ${kind} shows whether it works, and its metrics`,
    { skip },
    async (t) => {
      const server = await mailServer(t)
      await server.start()
      const stage = await openStage(t, { kind, smtpUrl: server.url })
      const port = await freePort()
      await asWorker(stage.deps.db, (tx) => tx.query(sql.unsafe`select 1`))
      const connected = `select pid from pg_stat_activity where usename = 'bailiwick_worker' and datname = current_database()`
      const own = (await stage.rows(connected)).map(({ pid }) => pid).join()
      await stage.post(stage.tenant, 'ada@example.test')
      const worker = await startWorker(t, { ...stage.env, MANAGEMENT_PORT: String(port) })
      const ask = async (path: string) => {
        const answer = await fetch(`http://127.0.0.1:${port}${path}`)
        return { status: answer.status, text: await answer.text() }
      }
      await until(async () => (await ask('/readyz')).status === 200)
      const done = 'bailiwick_jobs_total{actor="email",outcome="done"}'
      await until(async () => seriesOf((await ask('/metrics')).text).get(done) === 1)
      // Gauges can be up to 3 s old.
      const settled = () => ask('/metrics').then(({ text }) => seriesOf(text))
      await until(async () => (await settled()).get('bailiwick_outbox_waiting') === 0)
      // The next run of a schedule; the first one can still be in progress.
      await until(
        async () => (await settled()).get('bailiwick_queue_jobs{queue="otp-expiry",state="delayed"}') === 1,
      )
      const series = await settled()
      t.equal(series.get('bailiwick_mails_total{outcome="sent"}'), 1)
      t.equal(series.get('bailiwick_ready'), 1)
      t.ok(
        [...series.keys()].some((name) =>
          /^bailiwick_build_info\{.*policy_revision="[0-9a-f]{64}"/.test(name),
        ),
      )
      for (const source of ['outbox', 'queues', 'readiness'])
        t.equal(series.get(`bailiwick_scrape_source_up{source="${source}"}`), 1, source)
      t.equal(series.get('bailiwick_dead_letters{queue="email",reason="failed"}'), 0)
      t.equal((await ask('/api/v1/users/me/')).status, 404)
      // As docs/reference/workers.md says. The stage's own pool has the same role and is excluded.
      const connections = await stage.count(
        `pg_stat_activity where usename = 'bailiwick_worker' and datname = current_database() and pid not in (${own})`,
      )
      t.ok(connections <= { postgres: 46, redis: 7 }[kind], `${connections} connections`)
      worker.child.kill('SIGTERM')
      await once(worker.child, 'exit')
      t.equal(worker.child.exitCode, 0, worker.printed)
    },
  )

t.test('a worker names the port in use and the setting it comes from', async (t) => {
  const stage = await openStage(t)
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  const { child, printed } = await startWorker(t, { ...stage.env, MANAGEMENT_PORT: String(port) })
  if (child.exitCode === null) await once(child, 'exit')
  t.equal(child.exitCode, 1)
  t.equal(
    printed.trim(),
    `Port ${port} of 127.0.0.1 is in use. Set MANAGEMENT_PORT to another port, or stop the process that listens there.`,
  )
})
