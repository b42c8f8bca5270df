import t from 'tap'
import { startActors } from '../../workers/actors.ts'
import { addWebhook, startReceiver } from '../workers/receiver.ts'
import { messageActors, openStage, until } from '../workers/stage.ts'
import { callCli, settingsFor } from './run-cli.ts'

const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n)

t.test(
  'events are delivered to the webhooks of their tenant again, in order, with the same id',
  async (t) => {
    const receiver = await startReceiver(t)
    const stage = await openStage(t, { tenants: 2 })
    const running = await startActors(stage.deps, messageActors)
    t.teardown(() => running.stop())
    const [mine, theirs] = stage.tenants as [string, string]
    const first = await addWebhook(stage, `${receiver.url}/first`)
    await addWebhook(stage, `${receiver.url}/narrow`, { eventTypes: ['tenant.*'] })
    await addWebhook(stage, `${receiver.url}/theirs`, { tenantId: theirs })
    for (let n = 0; n < 8; n++) await stage.append(mine)
    await stage.append(theirs)
    await until(() => receiver.taken.length === 9)
    await until(async () => (await stage.count('outbox')) === 0)
    const idsBefore = new Map(
      receiver.taken.map(({ sequence, tenantId, id }) => [`${tenantId} ${sequence}`, id]),
    )
    const second = await addWebhook(stage, `${receiver.url}/second`)
    receiver.received.length = 0

    const env = settingsFor(stage.urls, stage.env.SECRET_KEYS)
    const replay = (...args: string[]) => ['events:replay', '--tenant', mine, ...args]
    const ran = await callCli(replay('--from', '3', '--to', '6', '--json'), { env })
    t.same(ran.json(), { replayed: 8, from: 3, to: 6, webhooks: 3 }, ran.said)
    await until(async () => (await stage.count('outbox')) === 0)
    const sequencesOf = (path: string) =>
      receiver.received.filter((received) => received.path === path).map(({ sequence }) => sequence)
    t.same(sequencesOf('/first'), from(3, 6))
    t.same(sequencesOf('/second'), from(3, 6), 'a webhook that was created later')
    t.same([...sequencesOf('/narrow'), ...sequencesOf('/theirs')], [])
    for (const { id, tenantId, sequence } of receiver.received)
      t.equal(id, idsBefore.get(`${tenantId} ${sequence}`))
    const attempts = `select distinct status, attempt, in_order from webhook_deliveries where webhook_id = '${first.id}' and sequence between 3 and 6`
    t.same(await stage.rows(attempts), [{ status: 'succeeded', attempt: 2, in_order: true }])

    receiver.received.length = 0
    const one = await callCli(replay('--from', '7', '--webhook', second.id), { env })
    t.match(one, { code: 0, out: 'Events 7 to 8: 2 deliveries are queued\n' })
    await until(async () => (await stage.count('outbox')) === 0)
    t.same(
      receiver.received.map(({ path }) => path),
      ['/second', '/second'],
    )

    t.match(await callCli(replay('--from', '9'), { env }), { code: 0, out: 'There are no such events yet\n' })
    t.match(await callCli(replay('--from', '5', '--to', '4'), { env }), {
      code: 2,
      said: '--to is lower than --from.',
    })
  },
)

t.test(
  'dead deliveries are retried, waiting ones stay unchanged, and a closed webhook gets nothing',
  async (t) => {
    const receiver = await startReceiver(t)
    const stage = await openStage(t)
    const env = settingsFor(stage.urls, stage.env.SECRET_KEYS)
    const webhook = await addWebhook(stage, receiver.url)
    for (let n = 0; n < 3; n++) await stage.append(stage.tenant)
    await stage.root.query(
      `update events e set sequence = n.sequence from (select id, row_number() over (order by id) as sequence from events) n where e.id = n.id`,
    )
    await stage.root.query("delete from outbox where queue = 'event-fanout'")
    await stage.root.query(
      `insert into webhook_deliveries (tenant_id, id, webhook_id, event_id, event_type, sequence, in_order, status, attempt,
                                     next_attempt_at, retry_until, created_at, ended_at)
     select tenant_id, gen_random_uuid(), $1, id, type, sequence, sequence = 2, case sequence when 1 then 'dead' else 'failed' end, 4,
            case when sequence > 1 then timestamptz '2099-01-01' end, '2000-01-02', '2000-01-01', case sequence when 1 then timestamptz '2000-01-02' end
     from events where sequence <= 2`,
      [webhook.id],
    )
    const args = ['events:replay', '--tenant', stage.tenant, '--from', '1']
    const racing = await Promise.all([1, 2, 3].map(() => callCli([...args, '--json'], { env })))
    t.same(
      racing.map((ran) => ran.json().replayed).sort(),
      [0, 0, 2],
      'of parallel replays only one has an effect',
    )
    const rows = await stage.rows(
      'select sequence::int, status, attempt, in_order, extract(year from next_attempt_at)::int = 2099 as as_before from webhook_deliveries order by sequence',
    )
    t.same(rows, [
      { sequence: 1, status: 'pending', attempt: 4, in_order: true, as_before: false },
      { sequence: 2, status: 'failed', attempt: 4, in_order: true, as_before: true },
      { sequence: 3, status: 'pending', attempt: 0, in_order: true, as_before: false },
    ])
    t.equal(await stage.count("outbox where queue = 'webhook'"), 1)

    for (const closed of ['is_active = false', "is_active = true, disabled_reason = 'gone'"]) {
      await stage.root.query(`update webhooks set ${closed}`)
      t.match(await callCli([...args, '--json'], { env }), { code: 1, out: '', said: /"not_found"/ })
    }
    t.match(await callCli(['events:replay', '--tenant', crypto.randomUUID(), '--from', '1'], { env }), {
      code: 1,
      said: 'This tenant has no active webhook, or none with that id.\n',
    })
  },
)
