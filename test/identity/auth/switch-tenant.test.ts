import { randomUUID } from 'node:crypto'
import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { deleteMemberships } from '../../helpers/query.ts'
import { type Client, claimsOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const database = await openDatabase(t, service)
const noMember = { status: 403, body: { code: 'no_active_membership' } }

t.test(
  'a switch returns tokens for the other tenant under the same session; the old tokens still work for their own tenant',
  async (t) => {
    const ada = await service.signUp()
    const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
    const { status, body, headers } = await ada.post('/api/v1/auth/switch-tenant/', {
      tenant_id: second.id.toUpperCase(),
    })
    t.equal(status, 200)
    t.same(Object.keys(body).sort(), ['access', 'refresh'])
    t.equal(headers.get('cache-control'), 'no-store')
    const [old, fresh] = [claimsOf(ada.access), claimsOf(body.access)]
    t.match(fresh, { tenant_id: second.id, sid: old.sid, auth_time: old.auth_time, roles: ['owner'] })
    t.not(claimsOf(body.refresh).fid, claimsOf(ada.refresh).fid, 'a separate family')
    const at = async (token: string) =>
      (await service.call('GET', '/api/v1/users/me/', { token })).body.current_tenant.id
    t.equal(await at(body.access), second.id)
    t.equal(await at(ada.access), ada.tenantId)
    const again = async (token: string) =>
      claimsOf(
        (await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } })).body.access,
      ).tenant_id
    t.equal(await again(body.refresh), second.id, 'a refresh keeps the tenant')
    t.equal(await again(ada.refresh), ada.tenantId)
  },
)

const families = async (sessionId: string) => {
  const { rows } = await database.query(
    'select id, generation, ended_at from refresh_families where session_id = $1 order by created_at, id',
    [sessionId],
  )
  return rows
}

t.test('a switch to the current tenant returns the next tokens of the same family', async (t) => {
  const ada = await service.signUp()
  const { sid, fid } = claimsOf(ada.access)
  const first = ada.refresh
  for (let n = 0; n < 4; n++) {
    service.advance(11_000)
    await ada.switchTo(ada.tenantId)
  }
  service.advance(11_000)
  const shown = { tenant_id: ada.tenantId, refresh: ada.refresh }
  await ada.switchTo(ada.tenantId)
  t.match(await families(sid), [{ id: fid, generation: 5 }], 'one family, renewed each time')
  t.equal((await families(sid)).length, 1)
  const again = await ada.post('/api/v1/auth/switch-tenant/', shown)
  t.equal(claimsOf(again.body.refresh).jti, claimsOf(ada.refresh).jti, 'in parallel: the same successor')
  t.equal((await renew(ada.refresh)).status, 200)
  t.match(await renew(first), { status: 401, body: { code: 'session_revoked' } }, 'a replay ends the session')
})

const hour = 3_600_000
const switchWith = (client: Client, tenantId: string, refresh?: string) =>
  client.post('/api/v1/auth/switch-tenant/', { tenant_id: tenantId, ...(refresh && { refresh }) })
const renew = (refresh: string) => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } })
const foundSecond = async (client: Client): Promise<string> =>
  (await client.post('/api/v1/tenants/', { name: 'Second' })).body.id

t.test('a switch without the refresh token ends after 12 hours, in every tenant', async (t) => {
  const ada = await service.signUp()
  const second = await foundSecond(ada)
  const begun = service.now()
  let { body: pair } = await switchWith(ada, second)
  const { body: own } = await switchWith(ada, ada.tenantId)
  t.not(claimsOf(own.refresh).fid, claimsOf(ada.refresh).fid, 'a chain of its own, also for the own tenant')
  t.not(claimsOf(own.refresh).jti, claimsOf(ada.refresh).jti)
  t.equal(claimsOf(pair.refresh).exp * 1000, begun + 12 * hour)
  service.advance(11 * hour)
  pair = (await renew(pair.refresh)).body
  t.equal(claimsOf(pair.refresh).exp * 1000, begun + 12 * hour, 'a refresh does not move its end')
  service.advance(hour - 60_000)
  pair = (await renew(pair.refresh)).body
  t.equal(claimsOf(pair.access).exp * 1000, begun + 12 * hour, 'nor do its access tokens last longer')
  const child = await service.call('POST', '/api/v1/auth/switch-tenant/', {
    token: pair.access,
    body: { tenant_id: second, refresh: pair.refresh },
  })
  t.equal(claimsOf(child.body.refresh).exp * 1000, begun + 12 * hour, 'nor a switch that shows its token')
  service.advance(66_000)
  for (const { refresh } of [pair, child.body, own])
    t.match(await renew(refresh), { status: 401, body: { code: 'token_not_valid' } })
  t.equal((await renew(ada.refresh)).status, 200, "the owner's tokens go on")
})

t.test('a switch with the refresh token lasts as long as the tokens that it came from', async (t) => {
  const ada = await service.signUp()
  const second = await foundSecond(ada)
  let { body: pair } = await switchWith(ada, second, ada.refresh)
  for (let day = 0; day < 28; day += 4) {
    service.advance(4 * 24 * hour)
    pair = (await renew(pair.refresh)).body
  }
  t.equal(claimsOf(pair.access).tenant_id, second)
})

t.test('only the newest refresh token of the own chain makes a switch last', async (t) => {
  const ada = await service.signUp()
  const second = await foundSecond(ada)
  const other = await service.logIn(ada)
  const { body: sibling } = await switchWith(ada, second, ada.refresh)
  const used = ada.refresh
  Object.assign(ada, (await renew(used)).body)
  t.equal((await switchWith(ada, second, used)).status, 200, 'within the grace time')
  service.advance(11_000)
  const wrong = {
    'of another session': other.refresh,
    'of another chain of the session': sibling.refresh,
    'that was used': used,
    'that is an access token': ada.access,
    'that is none': 'no token',
  }
  for (const [what, refresh] of Object.entries(wrong))
    for (const tenantId of [second, ada.tenantId])
      t.match(
        await switchWith(ada, tenantId, refresh),
        { status: 401, body: { code: 'token_not_valid' } },
        `a token ${what}`,
      )
  t.equal((await renew(ada.refresh)).status, 200, 'nothing ended')
})

t.test(
  'a switch without the refresh token gives no token of the own chain, not even in the grace time',
  async (t) => {
    const ada = await service.signUp()
    Object.assign(ada, (await renew(ada.refresh)).body)
    const { body } = await switchWith(ada, ada.tenantId)
    t.not(claimsOf(body.refresh).jti, claimsOf(ada.refresh).jti)
    t.equal(claimsOf((await renew(ada.refresh)).body.refresh).gen, 2, 'and it does not advance that chain')
  },
)

t.test('an access token begins no chain once its own is over', async (t) => {
  const ada = await service.signUp()
  const second = await foundSecond(ada)
  const { body: copy } = await switchWith(ada, second)
  for (let n = 0; n < 20; n++) await switchWith(ada, second)
  const again = await service.call('POST', '/api/v1/auth/switch-tenant/', {
    token: copy.access,
    body: { tenant_id: second },
  })
  t.match(again, { status: 401, body: { code: 'session_revoked' } })
})

t.test('a session has at most 20 families; one that ends early makes room for the others', async (t) => {
  const ada = await service.signUp()
  const { sid } = claimsOf(ada.access)
  const second = await foundSecond(ada)
  const lasting = [ada.refresh]
  for (let n = 0; n < 4; n++) lasting.push((await switchWith(ada, second, ada.refresh)).body.refresh)
  const short: string[] = []
  for (let n = 0; n < 30; n++) {
    service.advance(1_000)
    short.push((await switchWith(ada, second)).body.refresh)
  }
  t.equal((await families(sid)).length, 20)
  const status = async (refresh: string) => (await renew(refresh)).status
  t.same(await Promise.all([0, 14, 15, 29].map((n) => status(short[n]!))), [401, 401, 200, 200])
  t.same(new Set(await Promise.all(lasting.map(status))), new Set([200]), 'those that can last longest stay')
  await ada.post('/api/v1/auth/logout/')
  const rows = await families(sid)
  t.same([rows.length, rows.filter(({ ended_at }) => ended_at !== null).length], [20, 0])
  t.same(await status(short[29]!), 401)
})

t.test('a stranger, an unknown tenant and a suspended membership get the same answer', async (t) => {
  const [ada, owner] = [await service.signUp(), await service.signUp()]
  const masked = async (tenantId: string) => {
    const { status, body } = await ada.post('/api/v1/auth/switch-tenant/', { tenant_id: tenantId })
    return { status, body: { ...body, instance: '' } }
  }
  const stranger = await masked(owner.tenantId)
  t.match(stranger, noMember)
  t.same(await masked(randomUUID()), stranger)
  await owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, { user_id: ada.id })
  t.equal((await masked(owner.tenantId)).status, 200)
  await database.query("update memberships set status = 'suspended' where tenant_id = $1 and user_id = $2", [
    owner.tenantId,
    ada.id,
  ])
  t.same(await masked(owner.tenantId), stranger)
  await database.query("update memberships set status = 'active' where tenant_id = $1 and user_id = $2", [
    owner.tenantId,
    ada.id,
  ])
  for (const state of ['suspended', 'archived']) {
    await database.query(`update tenants set status = $2, ${state}_at = created_at where id = $1`, [
      owner.tenantId,
      state,
    ])
    t.match(await masked(owner.tenantId), { status: 403, body: { code: `tenant_${state}` } })
    t.equal(
      (await owner.post('/api/v1/auth/switch-tenant/', { tenant_id: owner.tenantId })).status,
      200,
      'owners can enter it',
    )
  }
})

t.test('a change in a tenant takes effect at the next request, not at the next token', async (t) => {
  const [ada, owner] = [await service.signUp(), await service.signUp()]
  const home = ada.tenantId
  await owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, { user_id: ada.id })
  await ada.switchTo(owner.tenantId)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const answers = async () =>
    Object.fromEntries(
      await Promise.all(
        [
          '/api/v1/users/',
          '/api/v1/users/me/',
          members,
          `/api/v1/tenants/${owner.tenantId}/`,
          '/api/v1/tenants/',
        ].map(async (path) => {
          const { status, body } = await ada.get(path)
          return [
            path.replace(owner.tenantId, 'T').replace('/api/v1', ''),
            status === 200 ? 200 : `${status} ${body.code}`,
          ]
        }),
      ),
    )
  t.same(new Set(Object.values(await answers())), new Set([200]))

  for (const state of ['suspended', 'archived']) {
    await database.query(`update tenants set status = $2, ${state}_at = created_at where id = $1`, [
      owner.tenantId,
      state,
    ])
    const closed = `403 tenant_${state}`
    t.same(
      await answers(),
      {
        '/users/': closed,
        '/users/me/': closed,
        '/tenants/T/members/': closed,
        '/tenants/T/': 200,
        '/tenants/': 200,
      },
      state,
    )
  }
  await database.query(
    "update tenants set status = 'active', suspended_at = null, archived_at = null where id = $1",
    [owner.tenantId],
  )

  const outside = {
    '/users/': '403 no_active_membership',
    '/users/me/': '403 no_active_membership',
    '/tenants/T/members/': '403 no_active_membership',
    '/tenants/T/': '404 not_found',
    '/tenants/': 200,
  }
  await database.query("update memberships set status = 'suspended' where tenant_id = $1 and user_id = $2", [
    owner.tenantId,
    ada.id,
  ])
  t.same(await answers(), outside, 'membership suspended')
  await database.query("update memberships set status = 'active' where tenant_id = $1 and user_id = $2", [
    owner.tenantId,
    ada.id,
  ])
  await database.query('update tenants set deleted_at = created_at where id = $1', [owner.tenantId])
  t.same(await answers(), outside, 'tenant deleted')
  await database.query('update tenants set deleted_at = null where id = $1', [owner.tenantId])
  await deleteMemberships(database, ada.id, owner.tenantId)
  t.same(await answers(), outside, 'membership deleted')

  await ada.switchTo(home)
  t.equal((await ada.get('/api/v1/users/me/')).status, 200, 'the home tenant still works')
})

t.test('a logout ends this session in every tenant, at once and permanently, with one event', async (t) => {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
  const { body: elsewhere } = await ada.post('/api/v1/auth/switch-tenant/', { tenant_id: second.id })
  const answers = await Promise.all(Array.from({ length: 10 }, () => ada.post('/api/v1/auth/logout/')))
  t.ok(answers.some(({ status, body }) => status === 200 && body.message === 'Logged out'))
  const revoked = { status: 401, body: { code: 'session_revoked' } }
  for (const token of [ada.access, elsewhere.access])
    t.match(await service.call('GET', '/api/v1/users/me/', { token }), revoked)
  for (const refresh of [ada.refresh, elsewhere.refresh])
    t.match(await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } }), revoked)
  t.equal((await other.get('/api/v1/users/me/')).status, 200, 'other sessions stay live')
  const events = await eventsOf(database, ada.tenantId)
  t.equal(events.filter(({ type }) => type === 'identity.session_revoked').length, 1)
})
