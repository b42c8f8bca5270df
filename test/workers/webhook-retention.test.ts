import { randomUUID } from 'node:crypto'
import t from 'tap'
import { readConfig } from '../../src/config.ts'
import { forgetDeliveries, webhookRetention } from '../../workers/webhook-retention.ts'
import { backends, openStage, until } from './stage.ts'

t.setTimeout(120_000)

const day = 86_400_000

const webhook = (tenant: string, id: string) => `
  insert into webhooks (tenant_id, id, url, secret_sealed, created_at, updated_at)
  values ('${tenant}', '${id}', 'https://receiver.example/', '', now(), now());`

/** Keeps `count` deliveries for a webhook, that ended at `at`, or are open where that is null. */
const deliveries = (tenant: string, webhookId: string, count: number, at: number | null) => `
  insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order, status, next_attempt_at,
                                  retry_until, created_at, ended_at)
  select '${tenant}', gen_random_uuid(), '${webhookId}', gen_random_uuid(), 'a.b', n, true,
         ${at === null ? "'pending', now()" : "'dead', null"}, now(), '2026-01-01', ${at === null ? 'null' : `'${new Date(at).toISOString()}'`}
  from generate_series(1, ${count}) n;`

t.test('deliveries that ended are kept for 30 days, and open ones until they end', async (t) => {
  const { deps, root, rows, tenants } = await openStage(t, { tenants: 2 })
  const [one, other] = tenants as [string, string]
  const [a, b] = [randomUUID(), randomUUID()]
  const now = Date.now()
  const old = now - 30 * day - 1
  await root.query(webhook(one, a) + webhook(other, b))
  await root.query(deliveries(one, a, 2_500, old) + deliveries(one, a, 1, null))
  await root.query(deliveries(other, b, 3, old) + deliveries(other, b, 2, old + 2))
  t.equal(await forgetDeliveries({ ...deps, clock: () => now - 1 }), 0)
  t.equal(await forgetDeliveries({ ...deps, clock: () => now }), 2_503)
  t.same(
    await rows(
      'select webhook_id, count(*)::int from webhook_deliveries group by webhook_id order by count(*)',
    ),
    [
      { webhook_id: a, count: 1 },
      { webhook_id: b, count: 2 },
    ],
  )
  const config = { ...deps.config, WEBHOOK_DELIVERY_RETENTION_DAYS: 29 }
  t.equal(await forgetDeliveries({ ...deps, config, clock: () => now }), 2)
  t.throws(() => readConfig({ WEBHOOK_DELIVERY_RETENTION_DAYS: '0' }), /WEBHOOK_DELIVERY_RETENTION_DAYS/)
  t.throws(() => readConfig({ WEBHOOK_ALLOW: 'true' }), /WEBHOOK_ALLOW is not a setting/)
})

t.test('those of a webhook that is gone go, too, open or not, and no others', async (t) => {
  const { deps, root, rows, tenants } = await openStage(t, { tenants: 2 })
  const [one, other] = tenants as [string, string]
  const [gone, kept, elsewhere] = [randomUUID(), randomUUID(), randomUUID()]
  await root.query(webhook(one, kept) + webhook(other, gone) + webhook(other, elsewhere))
  const now = Date.now()
  await root.query(deliveries(one, gone, 1_200, null) + deliveries(one, gone, 1_100, now))
  await root.query(deliveries(one, kept, 5, null) + deliveries(one, kept, 5, now))
  await root.query(deliveries(other, gone, 3, now) + deliveries(other, elsewhere, 2, null))
  t.equal(await forgetDeliveries({ ...deps, clock: () => now }), 2_300)
  t.same(
    await rows(
      'select tenant_id, webhook_id, count(*)::int from webhook_deliveries group by 1, 2 order by 3 desc',
    ),
    [
      { tenant_id: one, webhook_id: kept, count: 10 },
      { tenant_id: other, webhook_id: gone, count: 3 },
      { tenant_id: other, webhook_id: elsewhere, count: 2 },
    ],
  )
  t.equal(await forgetDeliveries({ ...deps, clock: () => now }), 0)
})

for (const { kind, skip } of backends)
  t.test(`on ${kind} the schedule calls it`, { skip }, async (t) => {
    const { deps, root, rows, tenant, openBackend } = await openStage(t, { kind })
    await root.query(deliveries(tenant, randomUUID(), 1, null))
    const backend = openBackend()
    const running = await webhookRetention.start(deps, backend, 200)
    t.teardown(async () => {
      await running.stop()
      await backend.close()
    })
    await until(async () => (await rows('select from webhook_deliveries')).length === 0)
  })
