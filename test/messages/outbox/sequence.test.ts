import t from 'tap'
import { startActors } from '../../../workers/actors.ts'
import { startRelay } from '../../../workers/outbox-relay.ts'
import { rounds } from '../../helpers/rounds.ts'
import { emptyQueues } from '../../workers/queue-content.ts'
import { openStage, until, usualBackends } from '../../workers/stage.ts'

const each = rounds(60, 200)

for (const { kind, skip } of usualBackends)
  t.test(`on ${kind}`, { skip }, async (t) => {
    t.test(
      `three relays number the ${5 * each} events of 5 tenants without gaps, in order, and enqueue each once`,
      async (t) => {
        const stage = await openStage(t, { kind, tenants: 5 })
        const backend = stage.openBackend()
        const relays = await Promise.all([1, 2, 3].map(() => startRelay(stage.deps, backend)))
        t.teardown(async () => {
          await Promise.all(relays.map((relay) => relay.stop()))
          await backend.close()
        })
        const running = await startActors(stage.deps, ['event-fanout'])
        t.teardown(() => running.stop())
        // The events of one tenant are appended one after the other, those of different tenants at the same time.
        await Promise.all(
          stage.tenants.map(async (tenant) => {
            for (let n = 0; n < each; n++) await stage.append(tenant)
          }),
        )
        await until(async () => (await stage.count('outbox')) === 0)
        const perTenant = await stage.rows(`
    select count(*)::int as events, min(sequence)::int as first, max(sequence)::int as last,
           array_agg(id order by id) = array_agg(id order by sequence) as ordered
    from events group by tenant_id`)
        t.strictSame(perTenant, Array(5).fill({ events: each, first: 1, last: each, ordered: true }))
        t.strictSame(await stage.rows('select distinct last::int as last from event_sequences'), [
          { last: each },
        ])
        t.equal(stage.logged.filter((line) => line.includes('in the feed')).length, 5 * each)
        t.equal(await stage.count('dead_letters'), 0)
      },
    )

    t.test(
      'a job carries many events; those of a lost job come back, each in a job of its own',
      async (t) => {
        const stage = await openStage(t, { kind })
        for (let n = 0; n < 25; n++)
          await Promise.all(Array.from({ length: 10 }, () => stage.append(stage.tenant)))
        const backend = stage.openBackend()
        t.teardown(() => backend.close())
        const enqueue = async () => {
          const relay = await startRelay(stage.deps, backend)
          await until(async () => (await waiting()) > 0)
          await until(
            async () =>
              (await stage.rows('select 1 from outbox where enqueued_at is null limit 1')).length === 0,
          )
          await relay.stop()
        }
        const waiting = async () => {
          const samples = await backend.measure(['event-fanout'])
          return samples.find(({ gauge, labels }) => gauge === 'queueJobs' && labels.state === 'waiting')!
            .value
        }
        await enqueue()
        t.equal(await waiting(), 3, 'a relay takes 100 messages at a time')
        const [odd] = await stage.rows('select id, sequence from events order by id offset 42 limit 1')
        await stage.root.query('update events set sequence = null where id = $1', [odd!.id])
        const running = await startActors(stage.deps, ['event-fanout'])
        await until(async () => (await stage.count('outbox')) === 1)
        t.match(
          await stage.rows('select id from outbox'),
          [{ id: odd!.id }],
          'the others do not wait for a broken one',
        )
        await running.stop()

        await emptyQueues(stage)
        for (let job = 0; job < 2; job++) {
          await Promise.all(Array.from({ length: 60 }, () => stage.append(stage.tenant)))
          await enqueue()
        }
        await stage.root.query('update events set sequence = $1 where id = $2', [odd!.sequence, odd!.id])
        t.equal(await waiting(), 3, 'one for the broken event and two for the new ones')
        await emptyQueues(stage)
        const relay = await startRelay(stage.deps, backend)
        await until(async () => (await waiting()) === 121)
        await relay.stop()
        const again = await startActors(stage.deps, ['event-fanout'])
        t.teardown(() => again.stop())
        await until(async () => (await stage.count('outbox')) === 0)
        t.equal(stage.logged.filter((line) => line.includes('in the feed')).length, 370)
        t.equal(await stage.count('dead_letters'), 0)
      },
    )

    t.test('a backlog numbered by several relays at once keeps the order of its ids', async (t) => {
      const stage = await openStage(t, { kind, tenants: 2 })
      for (const tenant of stage.tenants)
        for (let n = 0; n < 30; n++) await Promise.all(Array.from({ length: 10 }, () => stage.append(tenant)))
      const backend = stage.openBackend()
      const relays = await Promise.all([1, 2, 3].map(() => startRelay(stage.deps, backend)))
      t.teardown(async () => {
        await Promise.all(relays.map((relay) => relay.stop()))
        await backend.close()
      })
      await until(
        async () => (await stage.rows('select 1 from outbox where enqueued_at is null limit 1')).length === 0,
      )
      t.strictSame(
        await stage.rows(`select count(*)::int as events, max(sequence)::int as last,
      array_agg(id order by id) = array_agg(id order by sequence) as ordered from events group by tenant_id`),
        Array(2).fill({ events: 300, last: 300, ordered: true }),
      )
    })
  })
