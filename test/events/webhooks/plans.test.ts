import { randomUUID } from 'node:crypto'
import t from 'tap'
import { listEventsAfter } from '../../../src/events/feed/store.ts'
import * as attempts from '../../../src/events/webhooks/attempt-store.ts'
import * as deliveries from '../../../src/events/webhooks/delivery-store.ts'
import * as webhooks from '../../../src/events/webhooks/store.ts'
import { plansOf } from '../../helpers/explain.ts'
import { startService } from '../../helpers/service.ts'
import { look } from '../../tenancy/staff.ts'

// Query plans of bailiwick_api, under row-level security: each uses an index that begins with tenant_id, and sorts no unlimited set.
// unlimited set.

const service = await startService(t, { workers: false })
const owner = await service.signUp()
const id = owner.tenantId
const scope = { tenantId: id, userId: owner.id }
const { db } = service.deps
const somewhere = randomUUID()

await look(
  service,
  `do $$ begin
    set local session_replication_role = replica;
    insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order, status, next_attempt_at, ended_at, retry_until, created_at)
    select md5((n % 20)::text)::uuid, gen_random_uuid(), md5((n % 40)::text)::uuid, gen_random_uuid(), 'a.b', n, true, s, e, c, now(), now() + n * interval '1 second'
    from generate_series(1, 10000) n, lateral (select case when n % 10 = 0 then 'pending' else 'succeeded' end as s,
      case when n % 10 = 0 then now() end as e, case when n % 10 > 0 then now() end as c) x;
  end $$`,
)
await look(service, 'analyze webhook_deliveries')

t.test('the feed is read in the order of the sequence index', async (t) => {
  for (const after of [0, 10]) {
    const [plan] = await plansOf(db, scope, (tx) => listEventsAfter(tx, id, after, 21))
    t.same(plan!.faults, [])
    t.notOk(plan!.sorts, String(plan!.scans))
  }
})

t.test('deliveries and webhooks are listed by age', async (t) => {
  const filters = [{}, { status: 'dead' }, { event_type: 'a.b' }, { created_at__gte: '2026-01-01T00:00:00Z' }]
  for (const query of filters)
    for (const backwards of [false, true])
      for (const from of [null, { at: service.now(), id: somewhere }]) {
        const keyset = { size: 20, from, backwards }
        const plans = await plansOf(db, scope, async (tx) => {
          const page = deliveries.deliveryList.page(query, keyset, { tenantId: id, now: service.now() })
          await deliveries.listDeliveries(tx, id, somewhere, page)
          if (!('status' in query || 'event_type' in query))
            await webhooks.listWebhooks(
              tx,
              id,
              webhooks.webhookList.page(query, keyset, { tenantId: id, now: service.now() }),
            )
        })
        for (const { faults, sorts, scans } of plans) {
          t.same(faults, [], JSON.stringify(query))
          t.notOk(sorts, String(scans))
        }
      }
})

t.test('the queries before a change use such an index too', async (t) => {
  const asked = { tenantId: id, webhookId: somewhere, id: somewhere, at: service.now() }
  const plans = await plansOf(db, scope, async (tx) => {
    await webhooks.findWebhook(tx, id, somewhere)
    await webhooks.lockWebhook(tx, id, somewhere)
    await webhooks.countOwnWebhooks(tx, id)
    await webhooks.deleteWebhook(tx, id, somewhere)
    await deliveries.findDeliveryState(tx, asked)
    await deliveries.reopenDelivery(tx, asked)
    await attempts.resumeDeliveries(tx, {
      tenantId: id,
      webhookId: somewhere,
      wasActive: false,
      now: service.now(),
    })
  })
  t.equal(plans.length, 8)
  for (const { statement, faults } of plans) t.same(faults, [], statement.slice(0, 60))
})
