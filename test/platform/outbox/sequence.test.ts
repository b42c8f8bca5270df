import t from 'tap'
import { startActors } from '../../../workers/actors.ts'
import { startRelay } from '../../../workers/outbox-relay.ts'
import { rounds } from '../../helpers/rounds.ts'
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
