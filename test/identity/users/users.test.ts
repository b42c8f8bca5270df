import { randomUUID } from 'node:crypto'
import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import type { Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const database = await openDatabase(t, service)
const me = '/api/v1/users/me/'
const updates = async (client: Client) =>
  (await eventsOf(database, client.tenantId)).filter(({ type }) => type === 'identity.user_updated')

t.test(
  'PUT and PATCH change the fields they name, with one event for a change and none without one',
  async (t) => {
    const ada = await service.signUp({ first_name: 'Ada', last_name: 'Byron' })
    let last = 'Byron'
    for (const path of [me, `/api/v1/users/${ada.id}/`, `/api/v1/users/${ada.id.toUpperCase()}/`]) {
      const before = (await updates(ada)).length
      const first = `Augusta ${before}`
      const put = await ada.put(path, { first_name: first })
      t.match(put, { status: 200, body: { first_name: first, last_name: last } }, 'a partial PUT')
      last = `King ${before}`
      const patched = await ada.patch(path, { last_name: last })
      t.match(patched, { status: 200, body: { first_name: first, last_name: last } })
      for (const body of [{}, { last_name: last }, undefined])
        t.equal((await ada.put(path, body)).status, 200)
      const events = await updates(ada)
      t.equal(events.length, before + 2, path)
      t.same(events.at(-1)!.data, { user_id: ada.id })
    }
  },
)

t.test('a body cannot write read-only fields', async (t) => {
  const ada = await service.signUp()
  const id = randomUUID()
  const shown = async () => {
    const { body } = await ada.get(me)
    return body
  }
  const before = await shown()
  const greedy = {
    id,
    user_id: id,
    tenant_id: id,
    is_active: false,
    is_superuser: true,
    is_staff: true,
    roles: ['owner'],
    role: 'owner',
    permissions: ['*'],
    status: 'archived',
    email_verified: true,
    mfa_enabled: true,
    date_joined: '2000-01-01T00:00:00Z',
    created_at: '2000-01-01T00:00:00Z',
    membership_id: id,
    department_id: id,
    current_tenant: { id },
    memberships: [],
    owner: id,
    password: 'another harbour',
    password_hash: 'x',
  }
  const text = JSON.stringify(greedy).replace(
    '{',
    '{"__proto__":{"is_active":false,"first_name":"x"},"constructor":{"prototype":{"first_name":"x"}},',
  )
  for (const path of [me, `/api/v1/users/${ada.id}/`]) {
    t.equal((await ada.put(path, text)).status, 400)
    t.equal((await ada.patch(path, text)).status, 400)
    const { is_active, date_joined } = greedy
    t.equal((await ada.put(path, { id, is_active, date_joined })).status, 200, 'what answers show is ignored')
    t.equal((await ada.patch(path, { id, is_active, date_joined })).status, 200)
  }
  t.same(await shown(), before)
  t.same(await updates(ada), [])
  t.ok(await service.logIn(ada), 'the password is the old one')
})

t.test('a bad body names its faults, and nothing changes', async (t) => {
  const ada = await service.signUp({ first_name: 'Ada' })
  for (const value of ['x'.repeat(151), 7, null, {}, ['x']])
    for (const field of ['first_name', 'last_name'])
      t.match(await ada.patch(me, { first_name: 'Changed', [field]: value }), {
        status: 400,
        body: { code: 'validation_error', [field]: [String] },
      })
  t.match((await ada.get(me)).body, { first_name: 'Ada' })
  for (const name of ['x'.repeat(150), '', '  ', '\u202e', '<b>', "O'Brien", '😀'])
    t.match(await ada.patch(me, { first_name: name }), { status: 200, body: { first_name: name } })
})

t.test('a person cannot change others, and from outside the tenant cannot see them', async (t) => {
  const [ada, eve, bob] = [
    await service.signUp(),
    await service.signUp(),
    await service.signUp({ first_name: 'Bob' }),
  ]
  await ada.post(`/api/v1/tenants/${ada.tenantId}/members/`, { user_id: bob.id })
  const masked = ({ status, body }: { status: number; body: object }) => ({
    status,
    body: { ...body, instance: '', decision_id: '' },
  })
  for (const [who, id] of [
    [ada, bob.id],
    [eve, bob.id],
    [eve, ada.id],
  ] as const)
    for (const method of ['put', 'patch'] as const) {
      const refused = await who[method](`/api/v1/users/${id}/`, { first_name: 'Mallory' })
      t.match(refused, { status: 403, body: { code: 'permission_denied' } })
      t.same(
        masked(refused),
        masked(await who[method](`/api/v1/users/${randomUUID()}/`, { first_name: 'Mallory' })),
      )
    }
  const unseen = await eve.get(`/api/v1/users/${ada.id}/`)
  t.match(unseen, { status: 404, body: { code: 'not_found' } })
  t.same(masked(unseen), masked(await eve.get(`/api/v1/users/${randomUUID()}/`)))
  t.match((await bob.get(me)).body, { first_name: 'Bob' })
  t.match(await ada.get(`/api/v1/users/${bob.id}/`), { status: 200, body: { id: bob.id, roles: ['member'] } })
  t.equal((await eve.get('/api/v1/users/')).body.count, 1)
})

t.test('a list is paged both ways without gaps or repeats, by its own links', async (t) => {
  const ada = await service.signUp()
  const others = await Promise.all(Array.from({ length: 44 }, () => service.register()))
  for (const { id } of others) await ada.post(`/api/v1/tenants/${ada.tenantId}/members/`, { user_id: id })
  for (const path of ['/api/v1/users/', `/api/v1/tenants/${ada.tenantId}/members/`]) {
    const idOf = (row: { id: string; user_id?: string }) => row.user_id ?? row.id
    const first = await ada.get(path)
    t.match(first.body, { count: 45, previous: null, next: String })
    t.equal(first.body.results.length, 20)
    const forward: string[] = []
    let page = first.body
    let last = page
    for (; page; page = page.next && (await ada.get(page.next)).body) {
      forward.push(...page.results.map(idOf))
      last = page
      t.equal(page.count, 45)
      for (const link of [page.next, page.previous])
        if (link) t.ok(link.startsWith(`${service.url}${path}?`), link)
    }
    t.equal(forward.length, 45)
    t.equal(new Set(forward).size, 45)
    t.equal(forward[0], ada.id, 'oldest first')
    const backward: string[] = []
    for (let at = last; at; at = at.previous && (await ada.get(at.previous)).body)
      backward.unshift(...at.results.map(idOf))
    t.same(backward, forward)
    const all = (await ada.get(`${path}?page_size=1000`)).body
    t.equal(all.results.length, 45, 'more than 100 is 100')
    t.match(all, { next: null, previous: null })
    t.same(all.results.map(idOf), forward)
    for (const size of [1, 7, 44, 45])
      t.equal((await ada.get(`${path}?page_size=${size}`)).body.results.length, size)
  }
})

t.test('a bad page size and a foreign cursor are refused by name', async (t) => {
  const [ada, eve] = [await service.signUp(), await service.signUp()]
  for (const who of [ada, eve])
    await who.post(`/api/v1/tenants/${who.tenantId}/members/`, { user_id: (await service.register()).id })
  const paths = ['/api/v1/users/', `/api/v1/tenants/${ada.tenantId}/members/`]
  for (const path of paths)
    for (const size of ['0', '-1', 'x', '', ' ', '1.5', '1e1', '+1', '0x10', '99999999', 'NaN', '१'])
      t.match(
        await ada.get(`${path}?page_size=${encodeURIComponent(size)}`),
        { status: 400, body: { code: 'validation_error', page_size: [String] } },
        `${path} ${size}`,
      )
  const cursorOf = async (who: Client, path: string) =>
    new URL((await who.get(`${path}?page_size=1`)).body.next).searchParams.get('cursor')!
  const own = await cursorOf(ada, paths[0]!)
  t.equal((await ada.get(`${paths[0]}?cursor=${own}`)).status, 200)
  const forged = Buffer.from(JSON.stringify([false, 0, randomUUID()])).toString('base64url')
  const middle = own.length >> 1
  const wrong = [
    'x',
    '',
    '.',
    forged,
    `${forged}.${own}`,
    `${own}.`,
    `${own}==`,
    `${own}x`,
    `x${own}`,
    own.slice(0, -1),
    own.slice(4),
    own.toUpperCase(),
    own.slice(0, middle) + (own[middle] === 'A' ? 'B' : 'A') + own.slice(middle + 1),
    'x'.repeat(1_001),
    await cursorOf(ada, paths[1]!),
    await cursorOf(eve, paths[0]!),
  ]
  for (const cursor of wrong)
    t.match(
      await ada.get(`${paths[0]}?cursor=${encodeURIComponent(cursor)}`),
      { status: 400, body: { code: 'validation_error', cursor: [String] } },
      cursor,
    )
})
