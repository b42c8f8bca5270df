import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { superuserUrl } from '../../helpers/cluster.ts'
import { addTest, addWebhook, sendOnce, startReceiver } from '../../workers/receiver.ts'
import { until } from '../../workers/stage.ts'
import { happenAndHandOn, hour, minute, openPostRoom, second } from './post-room.ts'

const { release } = await superuserUrl()
t.teardown(release)

t.test('a test has its webhook as subject, is signed like an event, and has no sequence', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id, secret } = await addWebhook(room.stage, receiver.url)
  const deliveryId = await addTest(room.stage, id)
  t.equal(await room.runOnce(id), null)
  const { body, headers } = receiver.received[0]!
  const envelope = new Webhook(secret).verify(body, headers) as Record<string, unknown>
  const [row] = await room.stage.rows('select * from webhook_deliveries')
  t.match(envelope, {
    specversion: '1.0',
    id: row.event_id,
    type: 'events.webhook_tested',
    event_type: 'events.webhook_tested',
    source: `urn:bailiwick:tenant:${room.stage.tenant}`,
    subject: id,
    sequence: null,
    actorid: null,
    traceparent: null,
    data: { webhook_id: id },
  })
  t.equal(headers['webhook-id'], row.event_id)
  t.match(row, { id: deliveryId, status: 'succeeded', attempt: 1, response_status: 204 })
  t.equal(await room.stage.count('outbox'), 0)
})

t.test('a failed test is dead at once, and does not count against the ordered deliveries', async (t) => {
  const receiver = await startReceiver(t, () => 410)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await addTest(room.stage, id)
  t.equal(await room.runOnce(id), null)
  t.equal(await room.runOnce(id), 'nothing')
  t.same(await room.statuses(id), ['dead'])
  t.match(await room.stage.rows('select * from webhooks'), [
    { failures: 0, failing_since: null, disabled_reason: null, last_failure_at: Date },
  ])
  t.equal(receiver.received.length, 1)
})

t.test('a test is sent also to an inactive or disabled webhook', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  for (const columns of [{ is_active: false }, { disabled_reason: 'gone' }]) {
    const { id } = await addWebhook(room.stage, receiver.url, { columns })
    await addTest(room.stage, id)
    t.equal(await room.runOnce(id), null)
    t.same(await room.statuses(id), ['succeeded'])
  }
})

t.test(
  'a test that succeeds while the circuit is open closes it: waiting deliveries are tried at once',
  async (t) => {
    const receiver = await startReceiver(t, () => 500)
    const room = await openPostRoom(t)
    const { id } = await addWebhook(room.stage, receiver.url)
    await happenAndHandOn(room, 2)
    for (let n = 0; n < 5; n++) {
      await room.run(id)
      room.now += (await room.dueIn(id))!
    }
    await room.run(id)
    t.ok((await room.dueIn(id))! >= 30 * minute)
    await addTest(room.stage, id)
    await room.runOnce(id)
    t.ok((await room.dueIn(id))! >= 30 * minute, 'a failed test changes nothing')
    receiver.answer = () => 200
    await addTest(room.stage, id)
    await room.runOnce(id)
    t.equal(await room.dueIn(id), 0)
    t.equal(await room.run(id), null)
    t.same(
      receiver.taken.map(({ sequence }) => sequence),
      [undefined, 1, 2],
    )
  },
)

t.test('a replay sends the same event with the same id, once, outside the order', async (t) => {
  const receiver = await startReceiver(t, () => 500)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  const [event] = await happenAndHandOn(room)
  while ((await room.statuses(id))[0] !== 'dead') {
    room.now += Math.max(0, (await room.dueIn(id))!)
    await room.run(id)
  }
  await happenAndHandOn(room)
  await room.run(id)
  const [delivery] = await room.stage.rows('select * from webhook_deliveries where sequence = 1')
  const replay = async () => {
    await room.stage.root.query(
      `update webhook_deliveries set status = 'pending', in_order = false, next_attempt_at = $2, ended_at = null,
         retry_until = $2 where id = $1`,
      [delivery.id, new Date(room.now)],
    )
    await sendOnce(room.stage, id, delivery.id)
    return room.runOnce(id)
  }
  const before = receiver.received.length
  t.equal(await replay(), null)
  t.same(await room.statuses(id), ['dead', 'failed'], 'one attempt')
  receiver.answer = () => 200
  t.equal(await replay(), null)
  t.equal(await replay(), null, 'also of a delivered event')
  t.same(await room.statuses(id), ['succeeded', 'failed'])
  const bodies = receiver.received.map(({ body }) => body).filter((body) => body.includes(event!))
  t.equal(new Set(bodies).size, 1, 'the same bytes')
  t.equal(receiver.received.length, before + 3)
  for (const { headers } of receiver.received.slice(before)) t.equal(headers['webhook-id'], event)

  await room.stage.root.query('delete from events where id = $1', [event])
  await replay()
  t.equal(receiver.received.length, before + 3, 'a replay whose event was deleted is not sent')
})

t.test(
  'a test of a suspended tenant waits, of a deleted one ends; two concurrent runs send it once',
  async (t) => {
    const receiver = await startReceiver(t)
    const room = await openPostRoom(t)
    const { id } = await addWebhook(room.stage, receiver.url)
    await addTest(room.stage, id)
    await room.stage.root.query(`update tenants set status = 'suspended'`)
    t.equal(await room.runOnce(id), minute)
    await room.stage.root.query(`update tenants set status = 'active'`)
    const waits = await Promise.all([room.runOnce(id), room.runOnce(id), room.runOnce(id)])
    t.equal(waits.filter((wait) => wait === null).length >= 1, true)
    for (const wait of waits) t.ok(wait === null || wait === 'nothing' || wait <= 30 * second, `${wait}`)
    t.equal(receiver.received.length, 1)
    await addTest(room.stage, id)
    await room.stage.root.query('update tenants set deleted_at = now()')
    room.now += hour
    t.equal(await room.runOnce(id), null)
    t.equal(receiver.received.length, 1)
    t.equal(await room.stage.count('outbox'), 0)
  },
)

t.test('a test that was sent is not sent again when Postgres is away before that is recorded', async (t) => {
  const room = await openPostRoom(t)
  const receiver = await startReceiver(t, (_received, response) => {
    room.stage.cutWorkersOff().then(() => response.writeHead(204).end())
    return undefined
  })
  const { id } = await addWebhook(room.stage, receiver.url)
  await addTest(room.stage, id)
  const run = room.runOnce(id).catch(() => 'failed')
  await Promise.race([run, until(() => room.stage.logged.some((line) => line.includes('not recorded yet')))])
  await room.stage.letWorkersBack()
  t.equal(await run, null)
  receiver.answer = () => 204
  room.now += minute
  t.equal(await room.runOnce(id), 'nothing')
  t.equal(receiver.received.length, 1)
  t.same(await room.statuses(id), ['succeeded'])
})

t.test('a test ends when its webhook is deleted', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await addTest(room.stage, id)
  await room.stage.root.query('delete from webhooks')
  t.equal(await room.runOnce(id), null)
  t.equal(receiver.received.length, 0)
  t.equal(await room.stage.count('outbox'), 0)
})
