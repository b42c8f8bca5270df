import pg from 'pg'
import t from 'tap'
import { deleteMemberships } from '../../helpers/query.ts'
import { claimsOf, loginOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const path = '/api/v1/auth/sessions/'

t.test('a person sees their own sessions, oldest first, and which one is current', async (t) => {
  const ada = await service.signUp()
  service.advance(1_000)
  const agent = { 'user-agent': 'Phone/1.0' }
  const { body: pair } = await service.call('POST', '/api/v1/auth/login/', {
    body: loginOf(ada),
    headers: agent,
  })
  const { status, body } = await ada.get(path)
  t.equal(status, 200)
  t.match(body, { count: 2, next: null, previous: null })
  t.match(body.results[0], {
    id: claimsOf(ada.access).sid,
    current: true,
    kind: 'token',
    tenant_id: ada.tenantId,
    ip: '127.0.0.1',
    acr: 'aal1',
    amr: ['pwd'],
  })
  t.match(body.results[1], { id: claimsOf(pair.access).sid, current: false, user_agent: 'Phone/1.0' })
  t.same(Object.keys(body.results[0]).sort(), [
    'acr',
    'amr',
    'created_at',
    'current',
    'expires_at',
    'id',
    'ip',
    'kind',
    'last_used_at',
    'tenant_id',
    'user_agent',
  ])
  const first = await ada.get(`${path}?page_size=1`)
  t.equal(first.body.results.length, 1)
  t.match((await ada.get(first.body.next)).body.results, [{ id: claimsOf(pair.access).sid }])
})

t.test('a person ends one of their own sessions, once, and no other person’s', async (t) => {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  const bob = await service.signUp()
  const { sid } = claimsOf(other.access)
  const unknown = await bob.delete(`${path}00000000-0000-7000-8000-000000000000/`)
  const foreign = await bob.delete(`${path}${sid}/`)
  t.equal(foreign.status, 404)
  t.same({ ...foreign.body, instance: '' }, { ...unknown.body, instance: '' })
  t.equal((await other.get('/api/v1/users/me/')).status, 200)
  t.equal((await ada.delete(`${path}${sid}/`)).status, 204)
  t.match(await other.get('/api/v1/users/me/'), { status: 401, body: { code: 'session_revoked' } })
  t.match(await post('refresh', { refresh: other.refresh }), {
    status: 401,
    body: { code: 'session_revoked' },
  })
  t.equal((await ada.delete(`${path}${sid}/`)).status, 404)
  t.equal((await ada.delete(`${path}nonsense/`)).status, 404)
  t.match((await ada.get(path)).body, { count: 1 })
  const { rows } = await superuser.query(
    "select data from events where type = 'identity.session_revoked' and subject = $1",
    [ada.id],
  )
  t.same(rows, [{ data: { user_id: ada.id, session_id: sid } }])
})

t.test('logout-all ends every session, including this one', async (t) => {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  const bob = await service.signUp()
  t.match(await ada.post('/api/v1/auth/logout-all/'), { status: 200, body: { message: 'Logged out' } })
  for (const client of [ada, other]) {
    t.equal((await client.get('/api/v1/users/me/')).status, 401)
    t.equal((await post('refresh', { refresh: client.refresh })).status, 401)
  }
  t.equal((await bob.get('/api/v1/users/me/')).status, 200)
})

const change = async (statement: string, id: string) => {
  const { rowCount } = await superuser.query(statement, [id])
  t.ok(rowCount)
}

t.test('a deactivated person is refused at once, everywhere', async (t) => {
  const ada = await service.signUp()
  await change('update users set is_active = false where id = $1', ada.id)
  for (const asked of ['/api/v1/users/me/', '/api/v1/users/', '/api/v1/tenants/', path])
    t.match(await ada.get(asked), { status: 401, body: { code: 'session_revoked' } }, asked)
  t.match(await ada.patch('/api/v1/users/me/', { first_name: 'x' }), { status: 401 })
  t.match(await ada.post('/api/v1/auth/switch-tenant/', { tenant_id: ada.tenantId }), { status: 401 })
  t.match(await post('refresh', { refresh: ada.refresh }), { status: 401, body: { code: 'session_revoked' } })
  t.match(await post('login', loginOf(ada)), { status: 401, body: { code: 'invalid_credentials' } })
  await change('update users set is_active = true where id = $1', ada.id)
})

const withoutTenant = async (client: { get: (path: string) => Promise<{ status: number }> }) => {
  for (const asked of ['/api/v1/tenants/', path]) t.equal((await client.get(asked)).status, 200, asked)
}

for (const [what, end] of [
  ['removed', (userId) => deleteMemberships(superuser, userId)],
  ['suspended', (userId) => change("update memberships set status = 'suspended' where user_id = $1", userId)],
] as [string, (userId: string) => Promise<unknown>][])
  t.test(`a membership that is ${what} takes effect at the next request`, async (t) => {
    const ada = await service.signUp()
    t.equal((await ada.get('/api/v1/users/me/')).status, 200)
    await end(ada.id)
    for (const asked of ['/api/v1/users/me/', '/api/v1/users/'])
      t.match(await ada.get(asked), { status: 403, body: { code: 'no_active_membership' } }, asked)
    t.match(await ada.patch('/api/v1/users/me/', { first_name: 'x' }), { status: 403 })
    t.match(await post('refresh', { refresh: ada.refresh }), {
      status: 403,
      body: { code: 'no_active_membership' },
    })
    t.match(await post('login', { ...loginOf(ada), tenant_id: ada.tenantId }), {
      status: 403,
      body: { code: 'no_active_membership' },
    })
    await withoutTenant(ada)
  })

for (const status of ['suspended', 'archived'] as const)
  t.test(`a tenant that is ${status} refuses the next request`, async (t) => {
    const ada = await service.signUp()
    await change(`update tenants set status = '${status}' where id = $1`, ada.tenantId)
    for (const asked of ['/api/v1/users/me/', '/api/v1/users/'])
      t.match(await ada.get(asked), { status: 403, body: { code: `tenant_${status}` } }, asked)
    t.equal((await post('refresh', { refresh: ada.refresh })).status, 200, 'its owner can refresh')
    await withoutTenant(ada)
  })

t.test('a deleted tenant refuses the next request', async (t) => {
  const ada = await service.signUp()
  await change('update tenants set deleted_at = now() where id = $1', ada.tenantId)
  t.match(await ada.get('/api/v1/users/me/'), { status: 403, body: { code: 'no_active_membership' } })
  t.match(await post('refresh', { refresh: ada.refresh }), { status: 403 })
  await withoutTenant(ada)
})
