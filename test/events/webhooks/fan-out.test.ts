import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { asWorker } from '../../../src/database/executor/transaction.ts'
import { renewMessage } from '../../../src/events/webhooks/attempt-store.ts'
import { superuserUrl } from '../../helpers/cluster.ts'
import { rounds } from '../../helpers/rounds.ts'
import { addWebhook, startReceiver } from '../../workers/receiver.ts'
import { happenAndHandOn, openPostRoom } from './post-room.ts'

const { release } = await superuserUrl()
t.teardown(release)

t.test('an event goes to the active webhooks of its tenant that subscribe to its type', async (t) => {
  const room = await openPostRoom(t, { tenants: 2 })
  const { stage } = room
  const url = 'http://127.0.0.1:9/'
  const add = (eventTypes: string[], columns = {}, tenantId = stage.tenant) =>
    addWebhook(stage, url, { eventTypes, columns, tenantId })
  const wanting = [
    await add([]),
    await add(['identity.*']),
    await add(['identity.user_updated']),
    await add(['tenant.*', 'app.thing_done', 'identity.user_updated']),
  ]
  for (const types of [
    ['identity.user'],
    ['identity.user_*'],
    ['tenant.*'],
    ['IDENTITY.*'],
    ['identity'],
    ['*'],
  ])
    await add(types)
  await add(['ident_ty.*'])
  await add([], { is_active: false })
  await add([], { disabled_reason: 'failing' })
  await add([], {}, stage.tenants[1])
  const [event] = await happenAndHandOn(room)
  const rows = await stage.rows('select * from webhook_deliveries order by webhook_id')
  t.same(rows.map((row) => row.webhook_id).sort(), wanting.map(({ id }) => id).sort())
  for (const row of rows)
    t.match(row, {
      tenant_id: stage.tenant,
      event_id: event,
      event_type: 'identity.user_updated',
      sequence: 1,
      in_order: true,
      status: 'pending',
      attempt: 0,
      next_attempt_at: new Date(room.now),
      retry_until: new Date(room.now + 86_400_000),
    })
  t.equal(await stage.count(`outbox where queue = 'webhook'`), wanting.length)
  await room.handOn([event!])
  t.equal(
    await stage.count('webhook_deliveries'),
    wanting.length,
    'an event that is fanned out twice is delivered once',
  )
  t.equal(await stage.count(`outbox where queue = 'webhook'`), wanting.length)
})

t.test(
  'a tenant at its daily limit gets no more deliveries, the audit log says so, and events stay in the feed',
  async (t) => {
    const room = await openPostRoom(t, { tenants: 2 })
    const { stage } = room
    const url = 'http://127.0.0.1:9/'
    const other = stage.tenants[1]!
    await addWebhook(stage, url)
    await addWebhook(stage, url)
    await addWebhook(stage, url, { tenantId: other })
    const made = () =>
      stage.rows('select sequence::int as n from webhook_deliveries order by sequence, webhook_id')
    const { tenant: tenantId } = stage
    t.same(await room.handOn(await room.happen(2), tenantId, 5), [])
    t.same(await room.handOn(await room.happen(2), tenantId, 5), [{ tenantId, count: 3, isFirst: true }])
    t.same(await room.handOn(await room.happen(), tenantId, 5), [{ tenantId, count: 2, isFirst: false }])
    t.same(
      (await made()).map(({ n }) => n),
      [1, 1, 2, 2, 3],
      'the latest events are dropped',
    )
    t.match(await stage.rows("select * from audit_log where action = 'webhook:throttle'"), [
      { tenant_id: tenantId },
    ])
    t.equal(await stage.count('events'), 5)
    t.same(await room.handOn(await room.happen(1, other), other, 5), [], 'other tenants have their own limit')
    room.now += 86_400_000
    t.same(await room.handOn(await room.happen(), tenantId, 5), [])
    t.equal((await made()).length, 8)
    t.equal(await stage.count('daily_counts'), 2)
  },
)

t.test('a message that is deleted leaves no open delivery behind, also with concurrent events', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { stage } = room
  const { id } = await addWebhook(stage, receiver.url)
  const times = rounds(50, 150)
  let settled = 0
  for (let round = 0; round < times; round++) {
    const ids = await room.happen(2)
    const late = sleep(Math.random() * 12).then(() => room.handOn([ids[1]!]))
    await room.handOn([ids[0]!])
    const waits = await Promise.all([room.run(id), room.run(id), late])
    const [open, messages] = [
      await stage.count(`webhook_deliveries where status in ('pending', 'failed')`),
      await stage.count(`outbox where queue = 'webhook'`),
    ]
    if (waits[0] === null || waits[1] === null) settled++
    if (open > 0 && messages !== 1) t.fail(`round ${round}: ${open} open, ${messages} messages`)
    for (let wait = await room.run(id); wait !== null && wait !== 'nothing'; ) wait = await room.run(id)
  }
  t.ok(settled > 0, `${settled} of ${times} rounds deleted the message concurrently`)
  t.same(
    receiver.received.map(({ sequence }) => sequence),
    Array.from({ length: 2 * times }, (_, n) => n + 1),
  )
  t.equal(await stage.count('outbox'), 0)
})

t.test('an activation while the message is deleted leaves a message if a delivery is open', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { stage } = room
  const { id, tenantId } = await addWebhook(stage, receiver.url)
  const times = rounds(20, 60)
  for (let round = 0; round < times; round++) {
    await happenAndHandOn(room)
    await stage.root.query('update webhooks set is_active = false')
    const client = await stage.root.connect()
    const activate = async () => {
      await sleep(Math.random() * 6)
      await client.query('begin')
      await client.query('update webhooks set is_active = true')
      await client.query(
        `insert into outbox (tenant_id, id, queue, payload, created_at)
         values ($1, gen_random_uuid(), 'webhook', jsonb_build_object('v', 1, 'webhook_id', $2::text), now())
         on conflict do nothing`,
        [tenantId, id],
      )
      await sleep(Math.random() * 4)
      await client.query('commit')
      client.release()
    }
    await Promise.all([room.run(id), activate()])
    if ((await room.dueIn(id)) !== null && !(await room.message(id))) t.fail(`round ${round}: no message`)
    for (let wait = await room.run(id); wait !== null && wait !== 'nothing'; ) wait = await room.run(id)
  }
  t.equal(receiver.taken.length, times)
})

t.test('deleting a webhook during the fan-out does not break the fan-out of others', async (t) => {
  const room = await openPostRoom(t)
  const { stage } = room
  const url = 'http://127.0.0.1:9/'
  const kept = await addWebhook(stage, url)
  for (let round = 0; round < 20; round++) {
    const { id } = await addWebhook(stage, url)
    const ids = await room.happen()
    await Promise.all([room.handOn(ids), stage.root.query('delete from webhooks where id = $1', [id])])
  }
  t.equal((await room.statuses(kept.id)).length, 20)
})

t.test('a message over which processes died is replaced, once', async (t) => {
  const room = await openPostRoom(t)
  const { id, tenantId } = await addWebhook(room.stage, 'http://127.0.0.1:9/')
  await happenAndHandOn(room)
  const old = (await room.message(id))!
  const renew = () =>
    asWorker(room.stage.deps.db, (tx) => renewMessage(tx, { tenantId, id: old.id }, room.now))
  t.equal(await renew(), true)
  t.equal(await renew(), false)
  t.not((await room.message(id))!.id, old.id)
  t.equal(await room.stage.count('outbox where enqueued_at is null'), 1)
})
