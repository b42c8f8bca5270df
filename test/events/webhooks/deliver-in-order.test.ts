import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { countRow } from '../../../src/database/executor/row-schemas.ts'
import { asWorker, sql } from '../../../src/database/executor/transaction.ts'
import { claimHead } from '../../../src/events/webhooks/attempt-store.ts'
import { AttemptOutdated, concludeAttempt } from '../../../src/events/webhooks/conclude-attempt.ts'
import { superuserUrl } from '../../helpers/cluster.ts'
import { addWebhook, newSecret, seal, startReceiver } from '../../workers/receiver.ts'
import { happenAndHandOn, hour, minute, openPostRoom, second } from './post-room.ts'

// Kept open for the whole file, so that the cluster is not created for each test.
const { release } = await superuserUrl()
t.teardown(release)

t.test('a failed delivery is tried after 5 s, 30 s, 2 min, 10 min, then every 30 to 60 min', async (t) => {
  const receiver = await startReceiver(t, () => 500)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room, 2)
  for (const [least, most] of [
    [5 * second, 5.5 * second],
    [30 * second, 33 * second],
    [2 * minute, 2.2 * minute],
    [10 * minute, 11 * minute],
    [30 * minute, 60 * minute],
    [30 * minute, 60 * minute],
  ] as const) {
    const before = receiver.received.length
    const wait = await room.run(id)
    const due = await room.dueIn(id)
    t.ok(due! >= least && due! <= most, `${due} ms`)
    t.equal(
      wait,
      Math.min(due!, minute),
      'the message comes again when the delivery is due, or after a minute',
    )
    t.equal(receiver.received.length, before + 1)
    room.now += due! - 1
    await room.run(id)
    t.equal(receiver.received.length, before + 1, 'not earlier')
    room.now += 1
  }
  t.same(
    new Set(receiver.received.map(({ sequence }) => sequence)),
    new Set([1]),
    'the first delivery blocks the second',
  )
  const times = receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))
  t.equal(new Set(times).size, times.length, 'each attempt has a new signature')
  t.same(await room.statuses(id), ['failed', 'pending'])
  receiver.answer = () => 200
  t.equal(await room.run(id), null)
  t.same(
    receiver.taken.map(({ sequence }) => sequence),
    [1, 2],
    'a success closes the circuit, and the rest is delivered at once',
  )
  t.match(await room.stage.rows('select failures, failing_since from webhooks'), [
    { failures: 0, failing_since: null },
  ])
  t.equal(await room.stage.count('outbox'), 0)
})

t.test('an unreachable receiver and a redirect count as failures', async (t) => {
  const other = await startReceiver(t)
  const receiver = await startReceiver(t, (_received, response) => {
    response.writeHead(307, { location: other.url }).end()
    return undefined
  })
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room)
  await room.run(id)
  t.match(await room.stage.rows('select * from webhook_deliveries'), [
    { status: 'failed', response_status: 307, error: null, attempt: 1, duration_ms: Number },
  ])
  await receiver.close()
  room.now += 6 * second
  await room.run(id)
  t.match(await room.stage.rows('select * from webhook_deliveries'), [
    { status: 'failed', response_status: null, error: 'connection', attempt: 2 },
  ])
  t.equal(other.received.length, 0)
})

t.test('Retry-After is honoured up to an hour for 429 and 503, and ignored for other statuses', async (t) => {
  const answers: [number, string, number, number][] = [
    [503, '900', 15 * minute, 15 * minute],
    [429, '86400', hour, hour],
    [503, '1', 2 * minute, 2.2 * minute],
    [500, '3600', 10 * minute, 11 * minute],
  ]
  let asked = answers[0]!
  const receiver = await startReceiver(t, (_received, response) => {
    response.writeHead(asked[0], { 'retry-after': asked[1] }).end()
    return undefined
  })
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room)
  for (asked of answers) {
    await room.run(id)
    const due = (await room.dueIn(id))!
    t.ok(due >= asked[2] && due <= asked[3], `${asked[0]} ${asked[1]}: ${due} ms`)
    room.now += due
  }
})

t.test(
  'after 24 hours an event is dead, with all others as old, and the next is tried after 5 s',
  async (t) => {
    const receiver = await startReceiver(t, () => 500)
    const room = await openPostRoom(t)
    const { id } = await addWebhook(room.stage, receiver.url)
    const begun = room.now
    await happenAndHandOn(room, 2)
    room.now += 12 * hour
    await happenAndHandOn(room)
    room.now = begun
    while ((await room.statuses(id))[0] !== 'dead') {
      room.now += Math.max(0, (await room.dueIn(id))!)
      await room.run(id)
    }
    t.ok(room.now - begun >= 24 * hour && room.now - begun <= 25 * hour, `${(room.now - begun) / hour} h`)
    t.same(await room.statuses(id), ['dead', 'dead', 'pending'])
    const [first, second_] = await room.stage.rows('select * from webhook_deliveries order by sequence')
    t.match(first, { response_status: 500, next_attempt_at: null, ended_at: new Date(room.now) })
    t.match(second_, { attempt: 0, response_status: null, ended_at: new Date(room.now) })
    t.ok(first.attempt > 25 && first.attempt < 60, `${first.attempt} attempts`)
    t.equal(await room.dueIn(id), 5 * second)
    room.now += 5 * second
    receiver.answer = () => 200
    t.equal(await room.run(id), null)
    t.same(
      receiver.taken.map(({ sequence }) => sequence),
      [3],
    )
  },
)

t.test(
  'after a 410 the event is dead, the webhook is disabled, and the rest waits until it is activated again',
  async (t) => {
    const receiver = await startReceiver(t, () => 410)
    const room = await openPostRoom(t)
    const { id } = await addWebhook(room.stage, receiver.url)
    await happenAndHandOn(room, 3)
    t.equal(await room.run(id), null)
    t.equal(receiver.received.length, 1)
    t.same(await room.statuses(id), ['dead', 'pending', 'pending'])
    t.match(await room.stage.rows('select * from webhooks'), [{ is_active: true, disabled_reason: 'gone' }])
    t.match(await room.stage.rows('select * from audit_log'), [
      {
        actor_type: 'system',
        action: 'webhook:disable',
        target_id: id,
        changes: { disabled_reason: { before: null, after: 'gone' } },
      },
    ])
    t.equal(room.stage.logged.filter((line) => line.includes('a webhook was disabled')).length, 1)
    await happenAndHandOn(room)
    t.equal((await room.statuses(id)).length, 3, 'events while it is disabled are only in the feed')
    t.equal(await room.run(id), 'nothing')
    receiver.answer = () => 200
    await room.stage.root.query(
      'update webhooks set disabled_reason = null, failures = 0, failing_since = null',
    )
    await happenAndHandOn(room)
    t.equal(await room.run(id), null)
    t.same(
      receiver.taken.map(({ sequence }) => sequence),
      [2, 3, 5],
    )
  },
)

t.test('five days of failures disable a webhook, and a success restarts the five days', async (t) => {
  const receiver = await startReceiver(t, () => 500)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  const failFor = async (ms: number) => {
    for (const end = room.now + ms; room.now < end; ) {
      if ((await room.dueIn(id)) === null) await happenAndHandOn(room)
      room.now += Math.max(0, (await room.dueIn(id)) ?? 0)
      await room.run(id)
      if ((await room.stage.rows('select 1 from webhooks where disabled_reason is not null')).length > 0)
        return
      room.now += hour
    }
  }
  await failFor(4 * 24 * hour)
  t.match(await room.stage.rows('select * from webhooks'), [{ disabled_reason: null }])
  receiver.answer = () => 200
  if ((await room.dueIn(id)) === null) await happenAndHandOn(room)
  room.now += hour
  await room.run(id)
  receiver.answer = () => 500
  const begun = room.now
  await happenAndHandOn(room)
  await failFor(6 * 24 * hour)
  t.match(await room.stage.rows('select * from webhooks'), [{ disabled_reason: 'failing' }])
  const days = (room.now - begun) / (24 * hour)
  t.ok(days >= 5 && days < 5.3, `${days} days`)
  t.match(await room.stage.rows('select changes from audit_log'), [
    { changes: { disabled_reason: { before: null, after: 'failing' } } },
  ])
  await room.run(id)
  t.equal(await room.stage.count(`outbox where queue = 'webhook'`), 0)
})

t.test(
  'deliveries of a suspended tenant wait, of an active one continue, of a deleted one end',
  async (t) => {
    const receiver = await startReceiver(t)
    const room = await openPostRoom(t)
    const { id } = await addWebhook(room.stage, receiver.url)
    for (const status of ['suspended', 'archived']) {
      await room.stage.root.query('update tenants set status = $1', [status])
      await happenAndHandOn(room)
      t.equal(await room.run(id), minute)
      t.equal(receiver.received.length, 0)
    }
    await room.stage.root.query(`update tenants set status = 'active'`)
    t.equal(await room.run(id), null)
    t.equal(receiver.taken.length, 2)
    await happenAndHandOn(room)
    await room.stage.root.query('update tenants set deleted_at = now()')
    t.equal(await room.run(id), null)
    t.equal(receiver.taken.length, 2)
    t.equal(await room.stage.count('outbox'), 0)
  },
)

t.test('an inactive or deleted webhook gets nothing, and its message is deleted', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room)
  await room.stage.root.query('update webhooks set is_active = false')
  t.equal(await room.run(id), null)
  t.same(await room.statuses(id), ['pending'])
  await room.stage.root.query('update webhooks set is_active = true')
  await happenAndHandOn(room)
  const message = await room.message(id)
  await room.stage.root.query('delete from webhooks')
  t.ok(message)
  t.equal(await room.run(id), null)
  t.equal(await room.stage.count('outbox'), 0)
  t.equal(receiver.received.length, 0)
})

t.test('the previous secret also signs until it expires', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id, secret } = await addWebhook(room.stage, receiver.url)
  const previous = newSecret()
  await room.stage.root.query(
    'update webhooks set previous_secret_sealed = $1, previous_secret_expires_at = $2',
    [seal(room.stage, room.stage.tenant, id, previous), new Date(room.now + hour)],
  )
  await happenAndHandOn(room)
  await room.run(id)
  room.now += hour
  await happenAndHandOn(room)
  await room.run(id)
  const [both, one] = receiver.taken
  t.match(both!.headers['webhook-signature'], /^v1,\S+ v1,\S+$/)
  new Webhook(secret).verify(both!.body, both!.headers)
  new Webhook(previous).verify(both!.body, both!.headers)
  t.match(one!.headers['webhook-signature'], /^v1,\S+$/)
})

t.test('a secret that no key opens is a failure of its webhook only', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const broken = await addWebhook(room.stage, receiver.url, { columns: { secret_sealed: Buffer.alloc(48) } })
  const sound = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room)
  await room.run(broken.id)
  t.equal(await room.run(sound.id), null)
  t.same(await room.statuses(broken.id), ['failed'])
  t.match(await room.stage.rows(`select error from webhook_deliveries where status = 'failed'`), [
    { error: 'secret' },
  ])
  t.equal(receiver.received.length, 1)
})

t.test('a later event waits for the deliveries of an earlier one', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  const [first, middle, third] = await room.happen(3)
  await room.handOn([middle!])
  const wait = await room.run(id)
  t.ok(typeof wait === 'number' && wait > 0 && wait <= second, `${wait} ms`)
  t.equal(receiver.received.length, 0)
  await room.handOn([third!])
  await room.run(id)
  t.equal(receiver.received.length, 0)
  await room.handOn([first!])
  t.equal(await room.run(id), null)
  t.same(
    receiver.taken.map(({ sequence }) => sequence),
    [1, 2, 3],
  )
})

t.test('an attempt whose process died is repeated after 30 s, and its late result is ignored', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id, tenantId } = await addWebhook(room.stage, receiver.url)
  const webhook = { tenantId, webhookId: id }
  await happenAndHandOn(room, 2)
  const { db } = room.stage.deps
  const claimed = await asWorker(db, (tx) => claimHead(tx, webhook, 100, room.now))
  t.ok(claimed)
  t.equal(await asWorker(db, (tx) => claimHead(tx, webhook, 100, room.now)), null)
  t.equal(await room.run(id), 30 * second)
  t.equal(receiver.received.length, 0)
  room.now += 30 * second
  t.equal(await room.run(id), null)
  t.same(
    receiver.taken.map(({ sequence }) => sequence),
    [1, 2],
  )
  for (const status of [500, 410, 200]) {
    const answer = { status, reason: null, retryAfter: null, duration: 1 }
    await t.rejects(
      asWorker(db, (tx) => concludeAttempt(tx, webhook, claimed!, answer, room.now)),
      AttemptOutdated,
    )
  }
  t.match(await room.stage.rows('select * from webhooks'), [{ failures: 0, disabled_reason: null }])
  t.same(await room.statuses(id), ['succeeded', 'succeeded'])
})

t.test('concurrent runs send each event once and keep the order', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room, 40)
  await Promise.all(Array.from({ length: 6 }, () => room.run(id)))
  t.same(
    receiver.received.map(({ sequence }) => sequence),
    Array.from({ length: 40 }, (_, n) => n + 1),
  )
  t.equal(await room.stage.count('outbox'), 0)
})

t.test('a run ends after a hundred deliveries, so that other webhooks have their turn', async (t) => {
  const receiver = await startReceiver(t)
  const room = await openPostRoom(t)
  const { id } = await addWebhook(room.stage, receiver.url)
  await happenAndHandOn(room, 101)
  t.equal(await room.run(id), 0)
  t.ok(receiver.received.length <= 100)
  for (let wait = await room.run(id); wait !== null && wait !== 'nothing'; ) wait = await room.run(id)
  t.equal(receiver.taken.length, 101)
})

t.test(
  'the next delivery is claimed without reading the others, also before Postgres has statistics',
  async (t) => {
    const room = await openPostRoom(t)
    const { id: webhookId } = await addWebhook(room.stage, 'http://127.0.0.1:9/')
    const { tenant: tenantId, deps } = room.stage
    await happenAndHandOn(room, 200)
    await asWorker(deps.db, async (tx) => {
      const countRead = () =>
        tx.oneFirst(sql.type(countRow)`
          select coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::int as count from pg_stat_xact_user_tables
          where relname in ('webhook_deliveries', 'events')`)
      tx.later(sql.unsafe`set local plan_cache_mode = force_generic_plan`)
      const before = await countRead()
      t.match(await claimHead(tx, { tenantId, webhookId }, 201, room.now), { sequence: 1 })
      const read = (await countRead()) - before
      t.ok(read > 0 && read < 10, `it read ${read} rows`)
    })
  },
)
