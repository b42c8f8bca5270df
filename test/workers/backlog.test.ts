import t from 'tap'
import { measureBacklog } from '../../src/messages/outbox/measure-backlog.ts'
import { timeOrderedId } from '../../src/messages/outbox/time-ordered-id.ts'
import { DelayedError } from '../../src/messages/queues/delayed-error.ts'
import type { Sample } from '../../src/observe/metrics/read-sources.ts'
import { callCli, settingsFor } from '../cli/run-cli.ts'
import { openStage, until, usualBackends } from './stage.ts'

const shownBy = (samples: readonly Sample[], gauge: Sample['gauge'], labels: Record<string, string> = {}) =>
  samples.find(
    (one) =>
      one.gauge === gauge && Object.entries(labels).every(([k, v]) => Reflect.get(one.labels, k) === v),
  )?.value

t.test(
  'the outbox metrics show how many messages wait, since when, and how many were given up',
  async (t) => {
    const stage = await openStage(t, { tenants: 2 })
    const now = Date.now()
    const empty = await measureBacklog(stage.deps.db, now)
    t.equal(shownBy(empty, 'outboxWaiting'), 0)
    t.equal(shownBy(empty, 'outboxAge'), 0)
    t.equal(shownBy(empty, 'deadLetters', { queue: 'email' }), 0)
    t.equal(shownBy(empty, 'deadLetters', { queue: 'other' }), undefined)

    for (const [n, tenant] of stage.tenants.entries())
      for (const [age, enqueued] of [
        [90_000 + n, null],
        [500_000, new Date(now)],
      ] as const)
        await stage.root.query(
          `insert into outbox (tenant_id, id, queue, payload, created_at, enqueued_at) values ($1, $2, 'email', '{}', $3, $4)`,
          [tenant, timeOrderedId(now - age), new Date(now - age), enqueued],
        )
    for (const queue of ['email', 'a-queue-of-next-year', 'and-another'])
      await stage.root.query(
        `insert into dead_letters (tenant_id, id, queue, payload, created_at, failed_at, attempts, error)
       values ($1, $2, $3, '{}', now(), now(), 1, 'x')`,
        [stage.tenant, timeOrderedId(now), queue],
      )
    const full = await measureBacklog(stage.deps.db, now)
    t.equal(shownBy(full, 'outboxWaiting'), 2, 'of all tenants, without those on a queue')
    t.equal(shownBy(full, 'outboxAge'), 90.001, 'the age of the oldest, in seconds')
    const dead = (queue: string, reason: string) => shownBy(full, 'deadLetters', { queue, reason })
    t.equal(dead('email', 'failed'), 1)
    t.equal(dead('email', 'refused'), 0)
    t.equal(dead('other', 'failed'), 2, 'unknown queues share one name')
  },
)

for (const { kind, skip } of usualBackends)
  t.test(`a queue on ${kind} shows how many jobs wait, and how long`, { skip }, async (t) => {
    const stage = await openStage(t, { kind })
    const backend = stage.openBackend()
    t.teardown(() => backend.close())
    const measure = () => backend.measure(['email', 'event-fanout'])
    await until(() =>
      measure().then(
        () => true,
        () => false,
      ),
    )
    const job = () => ({ id: timeOrderedId(Date.now()), tenantId: stage.tenant, payload: {} })
    await backend.add('email', [job(), job(), job()])
    await until(async () => (shownBy(await measure(), 'queueLag', { queue: 'email' }) ?? 0) > 0)
    const samples = await measure()
    t.equal(shownBy(samples, 'queueJobs', { queue: 'email', state: 'waiting' }), 3)
    t.equal(shownBy(samples, 'queueJobs', { queue: 'email', state: 'active' }), 0)
    t.equal(shownBy(samples, 'queueJobs', { queue: 'event-fanout', state: 'waiting' }), 0)
    t.equal(shownBy(samples, 'queueLag', { queue: 'event-fanout' }), 0)
    t.ok((shownBy(samples, 'queueLag', { queue: 'email' }) ?? 0) < 60)
  })

for (const { kind, skip } of usualBackends)
  t.test(
    `on ${kind}, failed jobs that wait count as lag, and mails:retry makes them due now`,
    { skip },
    async (t) => {
      const stage = await openStage(t, { kind })
      const backend = stage.openBackend()
      t.teardown(() => backend.close())
      let attempts = 0
      const never = 3_600_000
      const options = {
        concurrency: 1,
        lockDuration: 15_000,
        retryDelay: () => never,
        abandoned: async () => undefined,
      }
      const failing = await backend.consume('email', options, async () => {
        if (attempts++ === 0) throw new Error('the mail server is unavailable')
      })
      const notDue = await backend.consume('webhook', options, async () => {
        throw new DelayedError(never)
      })
      t.teardown(() => Promise.all([failing.close(), notDue.close()]))
      const job = () => ({ id: timeOrderedId(Date.now()), tenantId: stage.tenant, payload: {} })
      for (const queue of ['email', 'webhook']) await backend.add(queue, [job()])
      const shown = async (gauge: 'queueLag' | 'queueJobs', labels: Record<string, string>) =>
        shownBy(await backend.measure(['email', 'webhook']), gauge, labels) ?? 0
      for (const queue of ['email', 'webhook'])
        await until(async () => (await shown('queueJobs', { queue, state: 'delayed' })) === 1)
      t.ok((await shown('queueLag', { queue: 'email' })) > 0, 'while the job waits for an hour')
      t.equal(attempts, 1)
      t.equal(await shown('queueLag', { queue: 'webhook' }), 0, 'a job that is not due is not late')
      const env = { ...settingsFor(stage.urls, stage.env.SECRET_KEYS), REDIS_URL: stage.env.REDIS_URL }
      t.match(await callCli(['mails:retry', '--json'], { env }), { code: 0, out: '{"retried":1}\n' })
      await until(() => attempts === 2)
      t.match(await callCli(['mails:retry', '--json'], { env }), { out: '{"retried":0}\n' })
    },
  )
