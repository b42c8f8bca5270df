import t from 'tap'
import type { Statement } from '../../../src/database/executor/flush.ts'
import { flushes, openPool } from '../../../src/database/executor/pool.ts'
import { asSystem, inTenant } from '../../../src/database/executor/transaction.ts'
import { appendEvent } from '../../../src/messages/outbox/append-event.ts'
import { enqueue } from '../../../src/messages/outbox/enqueue.ts'
import { timeOrderedId } from '../../../src/messages/outbox/time-ordered-id.ts'
import { openStage } from '../../workers/stage.ts'

const person = timeOrderedId(0)
const event = (tenantId: string) => ({
  type: 'identity.user_created' as const,
  tenantId,
  subject: person,
  data: { user_id: person, email: 'ada@example.test' },
  actorId: null,
  requestId: 'request-1',
  at: 1_800_000_000_000,
})

t.test('an event and its message are written together or not at all, as both roles', async (t) => {
  const { api, tenant, urls, rows, count } = await openStage(t)
  const system = await openPool(urls.system, { size: 1, prepared: true, applicationName: 'test' })
  t.teardown(() => system.end())
  const id = await inTenant({ api }, { tenantId: tenant, userId: person }, (tx) =>
    appendEvent(tx, event(tenant)),
  )
  await asSystem({ system }, 'test', (tx) => appendEvent(tx, event(tenant)))
  t.equal(await count('events'), 2)
  const [row] = await rows(`select * from outbox where id = '${id}'`)
  t.strictSame(row.payload, { v: 1, event_id: id, request_id: 'request-1' })
  t.strictSame(row.created_at, new Date(1_800_000_000_000))
  await t.rejects(
    inTenant({ api }, { tenantId: tenant, userId: person }, async (tx) => {
      await appendEvent(tx, event(tenant))
      throw new Error('changed my mind')
    }),
    /changed my mind/,
  )
  t.equal(await count('events'), 2)
  t.equal(await count('outbox'), 2)
})

t.test('relays are woken behind the commit: inside, Postgres would let one commit at a time', async (t) => {
  const { api, tenant } = await openStage(t)
  const ends: string[][] = []
  const note = (message: unknown) => {
    const texts = (message as Statement[]).map(({ text }) => text)
    if (texts.some((text) => text.includes('insert into outbox'))) ends.push(texts.slice(-2))
  }
  flushes.subscribe(note)
  await inTenant({ api }, { tenantId: tenant, userId: person }, async (tx) => {
    await appendEvent(tx, event(tenant))
    await appendEvent(tx, event(tenant))
  })
  flushes.unsubscribe(note)
  t.same(ends, [['commit', 'notify outbox']], 'once')
})

t.test('data that does not match the event type is refused', async (t) => {
  const { api, tenant, count } = await openStage(t)
  const within = (data: object) =>
    inTenant({ api }, { tenantId: tenant, userId: person }, (tx) =>
      appendEvent(tx, { ...event(tenant), data: data as never }),
    )
  await t.rejects(within({ user_id: person }), /email/)
  await t.rejects(within({ user_id: person, email: 'a@b.test', password: 'x' }), /password/)
  await t.rejects(
    inTenant({ api }, { tenantId: tenant, userId: person }, (tx) =>
      enqueue(tx, 'email', tenant, { v: 1, mail_id: 'not an id' }, 0),
    ),
  )
  t.equal(await count('events'), 0)
})

t.test('ids of one millisecond ascend and contain their time', async (t) => {
  const ids = Array.from({ length: 10_000 }, () => timeOrderedId(1_800_000_000_000))
  t.strictSame(ids, [...ids].sort())
  t.equal(new Set(ids).size, ids.length)
  t.match(ids[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(Number.parseInt(ids[0]!.replaceAll('-', '').slice(0, 12), 16), 1_800_000_000_000)
})
