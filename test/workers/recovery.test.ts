import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { eventFanout } from '../../workers/event-fanout.ts'
import { startRelay } from '../../workers/outbox-relay.ts'
import { dumpOfQueues, emptyQueues, markStalledForGood } from './queue-content.ts'
import { backends, mailActors, openStage, startRedis, until } from './stage.ts'

for (const { kind, skip } of backends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.test('a message whose job was lost is enqueued again, a waiting one is not', async (t) => {
      const stage = await openStage(t, { kind })
      const backend = stage.openBackend()
      t.teardown(() => backend.close())
      const relay = await startRelay(stage.deps, backend, { overdueAfter: 400 })
      t.teardown(() => relay.stop())
      await stage.append(stage.tenant)
      await until(async () => (await dumpOfQueues(stage)).includes('event_id'))
      await sleep(1_500)
      const again = () => stage.logged.filter((line) => line.includes('missing from their queues')).length
      t.equal(again(), 0)
      await emptyQueues(stage)
      await until(() => again() === 1)
      t.match(await dumpOfQueues(stage), /event_id/)
      const fanout = await eventFanout.start(stage.deps, backend)
      await until(async () => (await stage.count('outbox')) === 0)
      await fanout.stop()
      t.equal(stage.logged.filter((line) => line.includes('in the feed')).length, 1)
    })

    t.test(
      'an event whose relay dies between enqueueing and commit is fanned out once it has its sequence',
      async (t) => {
        const stage = await openStage(t, { kind })
        const backend = stage.openBackend()
        t.teardown(() => backend.close())
        const fanout = await eventFanout.start(stage.deps, backend)
        t.teardown(() => fanout.stop())
        await stage.append(stage.tenant)
        const dying = {
          ...backend,
          async add(...jobs: Parameters<typeof backend.add>) {
            await backend.add(...jobs)
            throw new Error('The relay dies here')
          },
        }
        const first = await startRelay(stage.deps, dying)
        await until(() => stage.logged.some((line) => line.includes('EventWithoutSequence')))
        await first.stop()
        t.equal(await stage.count('outbox'), 1)
        const second = await startRelay(stage.deps, backend)
        t.teardown(() => second.stop())
        await until(async () => (await stage.count('outbox')) === 0)
        t.match(await stage.rows('select sequence::int from events'), [{ sequence: 1 }])
        t.equal(await stage.count('dead_letters'), 0)
      },
    )

    t.test('a message over which processes keep dying becomes a dead letter', async (t) => {
      const stage = await openStage(t, { kind })
      const backend = stage.openBackend()
      t.teardown(() => backend.close())
      const relay = await startRelay(stage.deps, backend)
      t.teardown(() => relay.stop())
      await stage.append(stage.tenant)
      await until(async () => (await dumpOfQueues(stage)).includes('event_id'))
      await markStalledForGood(stage)
      const fanout = await eventFanout.start(stage.deps, backend)
      t.teardown(() => fanout.stop())
      await until(async () => (await stage.count('outbox')) === 0)
      t.match(await stage.rows('select queue, error from dead_letters'), [
        { queue: 'event-fanout', error: 'The processes that handled it died' },
      ])
    })

    t.test('a worker whose Postgres connections were all ended soon handles the next message', async (t) => {
      const stage = await openStage(t, { kind })
      const running = await startActors(stage.deps, mailActors)
      t.teardown(() => running.stop())
      await stage.append(stage.tenant)
      await until(async () => (await stage.count('outbox')) === 0)
      for (let round = 0; round < 3; round++) {
        await stage.root.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and usename = 'bailiwick_worker'`,
        )
        await stage.append(stage.tenant)
        await until(async () => (await stage.count('outbox')) === 0, 10_000)
      }
      const lines = stage.logged.filter((line) => line.includes('cannot be reached'))
      t.ok(lines.length <= 4, `an outage is one line per part that noticed it: ${lines.length} lines`)
    })
  })

t.test(
  'a worker survives an outage of Redis and handles waiting messages soon after its return',
  { skip: backends[1]!.skip },
  async (t) => {
    const stage = await openStage(t, { kind: 'redis' })
    const running = await startActors(stage.deps, mailActors)
    t.teardown(() => running.stop())
    await stage.append(stage.tenant)
    await until(async () => (await stage.count('outbox')) === 0)
    await stage.redis!.stop()
    await stage.append(stage.tenant)
    await stage.post(stage.tenant, 'ada@example.test')
    await sleep(1_500)
    t.equal(await stage.count('outbox'), 2, 'the messages wait in the outbox')
    await startRedis(t, stage.redis!.port)
    await until(async () => (await stage.count('outbox')) === 0, 10_000)
    t.equal(await stage.count('captured_mails'), 1)
    const told = stage.logged.map((line) => JSON.parse(line).msg)
    t.ok(told.includes('Redis cannot be reached; trying again'))
    t.ok(told.includes('Redis can be reached again'))
  },
)
