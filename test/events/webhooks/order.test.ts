import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import { startActors } from '../../../workers/actors.ts'
import { eventFanout } from '../../../workers/event-fanout.ts'
import { startRelay } from '../../../workers/outbox-relay.ts'
import { webhook } from '../../../workers/webhook.ts'
import { superuserUrl } from '../../helpers/cluster.ts'
import { rounds } from '../../helpers/rounds.ts'
import { dumpOfQueues, markStalledForGood } from '../../workers/queue-content.ts'
import { addTest, addWebhook, newSecret, startReceiver, wake } from '../../workers/receiver.ts'
import { messageActors, openStage, until, usualBackends } from '../../workers/stage.ts'
import { runWorker } from '../../workers/worker-process.ts'

const { release } = await superuserUrl()
t.teardown(release)

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.jobs = 7 // most of their time they wait
    const test = (name: string, run: (t: Test) => Promise<void>) => t.test(name, { buffered: true }, run)
    test('events arrive once, in order, with signatures that an independent library accepts', async (t) => {
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind })
      const running = await startActors(stage.deps, messageActors)
      t.teardown(() => running.stop())
      const { id, secret } = await addWebhook(stage, `${receiver.url}/in`)
      for (let n = 0; n < 20; n++) await stage.append(stage.tenant)
      await until(() => receiver.taken.length === 20)
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        receiver.received.map(({ sequence }) => sequence),
        Array.from({ length: 20 }, (_, n) => n + 1),
      )
      for (const { headers, body, path, id } of receiver.received) {
        t.match(new Webhook(secret).verify(body, headers), { id, specversion: '1.0', tenantid: stage.tenant })
        t.equal(headers['webhook-id'], id)
        t.equal(path, '/in')
        t.equal(headers['content-type'], 'application/cloudevents+json')
        t.match(headers['user-agent'], /^Bailiwick\/\d/)
      }
      t.throws(() =>
        new Webhook(newSecret()).verify(receiver.received[0]!.body, receiver.received[0]!.headers),
      )
      const rows = await stage.rows(
        'select status, attempt, response_status, error, next_attempt_at from webhook_deliveries',
      )
      for (const row of rows)
        t.same(row, {
          status: 'succeeded',
          attempt: 1,
          response_status: 204,
          error: null,
          next_attempt_at: null,
        })
      t.match(await stage.rows('select * from webhooks'), [{ id, failures: 0, last_success_at: Date }])
    })

    test('the order holds with several processes and a receiver that sometimes fails', async (t) => {
      const failing = new Set([4, 17])
      const times: Record<number, number[]> = {}
      const receiver = await startReceiver(t, ({ sequence }) => {
        times[sequence!] = [...(times[sequence!] ?? []), Date.now()]
        return failing.delete(sequence!) ? 503 : 200
      })
      const stage = await openStage(t, { kind })
      const { id } = await addWebhook(stage, receiver.url)
      const workers = await Promise.all([1, 2].map(() => runWorker(t, stage.env, ...messageActors)))
      for (let n = 0; n < 30; n++) await stage.append(stage.tenant)
      await until(() => receiver.taken.length === 30)
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        receiver.taken.map(({ sequence }) => sequence),
        Array.from({ length: 30 }, (_, n) => n + 1),
      )
      t.equal(receiver.received.length, 32, 'only failed deliveries are sent twice')
      for (const [first = 0, again = 0] of [times[4]!, times[17]!])
        t.ok(again - first >= 4_900 && again - first < 20_000, `tried again after ${again - first} ms`)
      t.match(await stage.rows('select * from webhooks'), [{ id, failures: 0 }])
      for (const { child } of workers) child.kill('SIGTERM')
    })

    test('a webhook that accepts nothing blocks no other, of its tenant or of another', async (t) => {
      const silent = await startReceiver(t, () => undefined)
      const broken = await startReceiver(t, () => 500)
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind, tenants: 2 })
      const running = await startActors(stage.deps, messageActors)
      t.teardown(() => running.stop())
      const other = stage.tenants[1]!
      await addWebhook(stage, silent.url)
      await addWebhook(stage, broken.url)
      await addWebhook(stage, receiver.url)
      await addWebhook(stage, receiver.url, { tenantId: other })
      for (let n = 0; n < 5; n++) {
        await stage.append(stage.tenant)
        await stage.append(other)
      }
      await until(() => receiver.taken.length === 10)
      for (const tenantId of [stage.tenant, other])
        t.same(
          receiver.taken.filter((taken) => taken.tenantId === tenantId).map(({ sequence }) => sequence),
          [1, 2, 3, 4, 5],
        )
      t.ok(silent.received.length <= 1)
      for (const { sequence } of broken.received) t.equal(sequence, 1)
    })

    test('a worker killed during a delivery loses none, keeps the order, and the repeat has the same id', async (t) => {
      const stage = await openStage(t, { kind })
      const worker = await runWorker(t, stage.env, ...messageActors)
      let killed = false
      const receiver = await startReceiver(t, ({ sequence }) => {
        if (sequence !== 5 || killed) return 200
        killed = true
        worker.child.kill('SIGKILL')
        return undefined
      })
      await addWebhook(stage, receiver.url)
      for (let n = 0; n < 12; n++) await stage.append(stage.tenant)
      await once(worker.child, 'exit')
      await runWorker(t, stage.env, ...messageActors)
      await until(() => receiver.taken.length >= 12)
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        receiver.received.map(({ sequence }) => sequence),
        [1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12],
      )
      t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 12)
    })

    test('deliveries of a suspended tenant wait and continue when it is active; a test is sent outside the order', async (t) => {
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind })
      const running = await startActors(stage.deps, messageActors)
      t.teardown(() => running.stop())
      const { id, secret } = await addWebhook(stage, receiver.url, { eventTypes: ['identity.*'] })
      await stage.root.query(`update tenants set status = 'suspended'`)
      await stage.append(stage.tenant)
      await until(async () => (await stage.count('webhook_deliveries')) === 1)
      await until(async () => (await dumpOfQueues(stage)).includes('webhook_id'))
      await sleep(500)
      t.equal(receiver.received.length, 0)
      await stage.root.query(`update tenants set status = 'active'`)
      await wake(stage)
      await until(() => receiver.taken.length === 1)
      await addTest(stage, id)
      await until(() => receiver.taken.length === 2)
      const { body, headers } = receiver.taken[1]!
      t.match(new Webhook(secret).verify(body, headers), {
        type: 'events.webhook_tested',
        data: { webhook_id: id },
      })
      await until(async () => (await stage.count('outbox')) === 0)
      t.notMatch(
        stage.logged.join(''),
        /"error":"DelayedError/,
        'a delayed message is not a failure of the worker',
      )
      t.equal(await stage.count('dead_letters'), 0)
    })

    test('a message over which processes kept dying is started again and is not a dead letter', async (t) => {
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind })
      const backend = stage.openBackend()
      t.teardown(() => backend.close())
      const parts = [await startRelay(stage.deps, backend), await eventFanout.start(stage.deps, backend)]
      t.teardown(async () => {
        for (const part of parts) await part.stop()
      })
      const { id } = await addWebhook(stage, receiver.url)
      await stage.append(stage.tenant)
      const handedOver = `outbox where queue = 'webhook' and enqueued_at is not null`
      await until(async () => (await stage.count(handedOver)) === 1)
      await markStalledForGood(stage)
      parts.push(await webhook.start(stage.deps, backend))
      await until(() => receiver.taken.length === 1)
      await until(async () => (await stage.count('outbox')) === 0)
      t.equal(await stage.count('dead_letters'), 0)
      t.match(await stage.rows('select * from webhook_deliveries'), [{ webhook_id: id, status: 'succeeded' }])
    })

    test('events at random moments are all delivered, and no open delivery is left', async (t) => {
      const receiver = await startReceiver(t)
      const stage = await openStage(t, { kind })
      const running = await Promise.all([
        startActors(stage.deps, messageActors),
        startActors(stage.deps, messageActors),
      ])
      t.teardown(() => Promise.all(running.map((part) => part.stop())))
      await addWebhook(stage, receiver.url)
      const count = rounds(40, 120)
      for (let n = 0; n < count; n++) {
        await stage.append(stage.tenant)
        await sleep(Math.random() * 25)
      }
      await until(() => receiver.received.length >= count)
      await until(async () => (await stage.count('outbox')) === 0)
      t.same(
        receiver.received.map(({ sequence }) => sequence),
        Array.from({ length: count }, (_, n) => n + 1),
      )
      t.equal(await stage.count(`webhook_deliveries where status <> 'succeeded'`), 0)
    })
  })
