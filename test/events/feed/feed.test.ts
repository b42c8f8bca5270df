import t from 'tap'
import { deleteOutdated } from '../../../workers/retention.ts'
import { colleague } from '../../helpers/colleague.ts'
import { numberedEventsOf, openDatabase } from '../../helpers/event-log.ts'
import { type Client, startService } from '../../helpers/service.ts'
import { expect } from '../../tenancy/staff.ts'

const service = await startService(t, { actors: ['outbox-relay'] })
const database = await openDatabase(t, service)
const feed = '/api/v1/events/'

interface Event {
  id: string
  sequence: number
  type: string
  tenantid: string
  data: Record<string, unknown>
}

const found = (owner: Client, name: string) =>
  expect(201, owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name }))
const page = (reader: Client, query = '') => expect(200, reader.get(`${feed}?${query}`))
const sequences = ({ results }: { results: Event[] }) => results.map(({ sequence }) => sequence)
const upTo = (last: number, from = 1) => Array.from({ length: last - from + 1 }, (_, n) => from + n)

t.test('an event is in the feed as a CloudEvent with all its fields', async (t) => {
  const owner = await service.signUp()
  const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
  const path = `/api/v1/tenants/${owner.tenantId}/departments/`
  const { id } = await expect(201, owner.post(path, { name: 'Sales' }, { headers }))
  const { sequence } = (await numberedEventsOf(database, owner.tenantId)).at(-1)!
  const { results } = await page(owner, `after=${sequence - 1}`)
  t.strictSame(
    results.map(({ id: _id, ...event }: Event) => event),
    [
      {
        specversion: '1.0',
        type: 'tenant.department_created',
        event_type: 'tenant.department_created',
        source: `urn:bailiwick:tenant:${owner.tenantId}`,
        subject: id,
        time: new Date(service.now()).toISOString(),
        datacontenttype: 'application/json',
        tenantid: owner.tenantId,
        sequence,
        actorid: owner.id,
        impersonatorid: null,
        traceparent: headers.traceparent,
        data: { department_id: id },
      },
    ],
  )
  t.match(results[0].id, /^[0-9a-f-]{36}$/)
})

t.test('an event without actor and trace has null in these fields', async (t) => {
  const owner = await service.signUp()
  await numberedEventsOf(database, owner.tenantId)
  const { results } = await page(owner)
  const created = results.find(({ type }: Event) => type === 'identity.user_created')
  t.strictSame(Object.keys(created).sort(), [
    ...[
      'actorid',
      'data',
      'datacontenttype',
      'event_type',
      'id',
      'impersonatorid',
      'sequence',
      'source',
      'specversion',
    ],
    ...['subject', 'tenantid', 'time', 'traceparent', 'type'],
  ])
  t.equal(created.traceparent, null)
  t.strictSame(created.data, { user_id: owner.id, email: owner.email })
})

t.test('the feed is read in pages, in the order of the sequence, forwards and backwards', async (t) => {
  const owner = await service.signUp()
  for (let n = 0; n < 12; n++) await found(owner, `Department ${n}`)
  const last = (await numberedEventsOf(database, owner.tenantId)).length
  const whole = await page(owner, 'page_size=100')
  t.same(sequences(whole), upTo(last))
  t.strictSame([whole.next, whole.previous, 'count' in whole], [null, null, false])

  const newest = await page(owner, 'newest=true&page_size=5')
  t.same(sequences(newest), upTo(last, last - 4))
  t.equal(newest.next, null)
  t.same(sequences(await expect(200, owner.get(newest.previous))), upTo(last - 5, last - 9))
  t.same(sequences(await page(owner, 'newest=true&page_size=100')), upTo(last))
  t.same(sequences(await page(owner, `newest=true&after=${last - 1}`)), [last])

  const met: number[] = []
  const links: string[] = []
  for (let next: string | null = `${feed}?page_size=5`; next; ) {
    const { status, body }: { status: number; body: { next: string | null; results: Event[] } } =
      await owner.get(next)
    t.equal(status, 200)
    met.push(...sequences(body))
    next = body.next
    if (next) links.push(next)
  }
  t.same(met, upTo(last))
  t.ok(links.every((link) => link.startsWith(`${service.url}${feed}?`)))
  const third = await page(owner, 'after=10&page_size=5')
  t.same(sequences((await owner.get(third.previous)).body), upTo(10, 6))
  t.same(sequences((await owner.get((await page(owner, 'after=3&page_size=5')).previous)).body), upTo(3))

  const end = await page(owner, `after=${last}`)
  t.strictSame([end.next, end.results], [null, []])
  await found(owner, 'One more')
  await numberedEventsOf(database, owner.tenantId)
  t.same(sequences(await page(owner, `after=${last}`)), [last + 1])
  t.strictSame((await page(owner, `after=${Number.MAX_SAFE_INTEGER}`)).results, [])
})

t.test('a client that polls while others write sees every event once, in order', async (t) => {
  const owner = await service.signUp()
  const seen: Event[] = []
  let writing = true
  const poll = async () => {
    const { results } = await page(owner, `after=${seen.at(-1)?.sequence ?? 0}&page_size=7`)
    seen.push(...results)
    return results.length
  }
  const write = async (writer: number) => {
    for (let n = 0; n < 15; n++) await found(owner, `Department ${writer}.${n}`)
  }
  const writers = Promise.all([1, 2, 3, 4].map(write)).finally(() => {
    writing = false
  })
  while (writing) await poll()
  await writers
  const { length } = await numberedEventsOf(database, owner.tenantId)
  for (let more = 1; more > 0; ) more = await poll()
  t.same(
    seen.map(({ sequence }) => sequence),
    upTo(length),
  )
  t.equal(new Set(seen.map(({ id }) => id)).size, length)
  t.equal(seen.filter(({ type }) => type === 'tenant.department_created').length, 60)
})

t.test('the feed shows only the events of the token’s tenant', async (t) => {
  const [one, other] = [await service.signUp(), await service.signUp()]
  await found(one, 'Secret')
  await numberedEventsOf(database, one.tenantId)
  for (const name of ['tenant_id', 'tenantid'])
    t.match(await other.get(`${feed}?${name}=${one.tenantId}`), { status: 400 }, name)
  const { results } = await page(other, 'page_size=100')
  t.ok(results.every(({ tenantid }: Event) => tenantid === other.tenantId))
  t.notMatch(JSON.stringify(results), one.tenantId)
})

t.test('owners, admins and auditors read the feed, and members if a policy allows it', async (t) => {
  const owner = await service.signUp()
  for (const [role, status] of [
    ['admin', 200],
    ['auditor', 200],
    ['member', 403],
  ] as const)
    t.equal((await (await colleague(service, owner, role)).get(feed)).status, status, role)
  t.equal((await service.call('GET', feed)).status, 401)
  const policy = { name: 'Read', effect: 'allow', actions: ['event:list'], subjects: { roles: ['member'] } }
  await expect(201, owner.post('/api/v1/policies/', policy))
  t.equal((await (await colleague(service, owner)).get(feed)).status, 200)
})

t.test('an invalid position is refused with the name of the field', async (t) => {
  const owner = await service.signUp()
  for (const after of [
    '-1',
    '1.5',
    'x',
    '',
    '%20',
    '1e3',
    '0x1',
    '9007199254740992',
    '1'.repeat(1_000),
    '%00',
  ])
    t.match(await owner.get(`${feed}?after=${after}`), {
      status: 400,
      body: { code: 'validation_error', errors: [{ field: 'after' }] },
    })
  t.match(await owner.get(`${feed}?after=1&after=2`), { status: 400, body: { errors: [{ field: 'after' }] } })
  t.match(await owner.get(`${feed}?page_size=0`), { status: 400, body: { errors: [{ field: 'page_size' }] } })
  t.equal((await page(owner, 'after=007')).results.length, 0)
  t.equal((await service.call('POST', feed, { token: owner.access, body: {} })).status, 405)
})

t.test(
  'events are kept for 90 days: a position before deleted events is 410, with the position to continue from',
  async (t) => {
    const days = (n: number) => service.advance(n * 86_400_000)
    const owner = await service.signUp()
    const gone = (await numberedEventsOf(database, owner.tenantId)).length
    days(89)
    const later = await service.logIn(owner)
    await found(later, 'Sales')
    const last = (await numberedEventsOf(database, owner.tenantId)).length
    await deleteOutdated(service.worker!)
    t.same(sequences(await page(later)), upTo(last), 'all events until then')

    days(2)
    await deleteOutdated(service.worker!)
    const reader = await service.logIn(owner)
    const refusal = { status: 410, body: { code: 'gone', title: 'Gone', oldest: gone } }
    for (const after of [0, gone - 1]) t.match(await reader.get(`${feed}?after=${after}`), refusal)
    const rest = await page(reader, `after=${gone}&page_size=1`)
    t.same(sequences(rest), [gone + 1])
    t.equal(rest.previous, null)
    t.match(sequences(await page(reader)), [gone + 1], 'without a position it starts with the oldest event')
    t.match(await page(reader, `after=${gone + 1}`), {
      previous: `${service.url}${feed}?after=${gone}&page_size=1`,
    })

    days(91)
    await numberedEventsOf(database, owner.tenantId)
    await deleteOutdated(service.worker!)
    const [{ deleted_up_to: all }] = (
      await database.query('select deleted_up_to::int from event_sequences where tenant_id = $1', [
        owner.tenantId,
      ])
    ).rows
    t.ok(all > last)
    const much = await service.logIn(owner)
    t.match(
      await much.get(`${feed}?after=${last}`),
      { status: 410, body: { oldest: all } },
      'also when no event is left',
    )
  },
)

t.test('an event without a sequence is not in the feed', async (t) => {
  const still = await startService(t, { workers: false })
  const owner = await still.signUp()
  const before = (await owner.get(feed)).body
  t.strictSame(before, { next: null, previous: null, results: [] })
})
