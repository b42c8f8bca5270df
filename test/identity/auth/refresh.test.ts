import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createLogger } from '../../../src/observe/log.ts'
import { serveApi } from '../../../src/start/serve.ts'
import { numberedEventsOf, openDatabase } from '../../helpers/event-log.ts'
import { cheapHashing, claimsOf, startService, tokenIn } from '../../helpers/service.ts'

const service = await startService(t, { actors: ['outbox-relay', 'email'] })
const database = await openDatabase(t, service)
const path = '/api/v1/auth/refresh/'
const refresh = (token: unknown, more = {}) =>
  service.call('POST', path, { body: { refresh: token }, ...more })
const me = (token: string) => service.call('GET', '/api/v1/users/me/', { token })
const revoked = { status: 401, body: { code: 'session_revoked' } }
const notValid = { status: 401, body: { code: 'token_not_valid' } }
const grace = 10_000

t.test('a refresh returns new tokens for the same session and tenant', async (t) => {
  const ada = await service.signUp()
  service.advance(60_000)
  const { status, body, headers } = await refresh(ada.refresh)
  t.equal(status, 200)
  t.same(Object.keys(body).sort(), ['access', 'refresh'])
  t.equal(headers.get('cache-control'), 'no-store')
  const [old, fresh] = [claimsOf(ada.access), claimsOf(body.access)]
  for (const claim of ['sub', 'sid', 'tenant_id', 'roles', 'auth_time', 'acr', 'amr'])
    t.same(fresh[claim], old[claim], claim)
  t.not(fresh.jti, old.jti)
  t.equal(fresh.iat, old.iat + 60)
  t.equal(claimsOf(body.refresh).exp, fresh.iat + 7 * 86_400, 'slides')
  t.equal((await me(body.access)).status, 200)
  t.equal((await me(ada.access)).status, 200, 'the earlier access token still works')
  t.equal(
    (await service.call('POST', path, { body: { refresh_token: body.refresh } })).status,
    200,
    'by the alias of the field',
  )
})

t.test('anything but a refresh token is refused with the reason', async (t) => {
  const ada = await service.signUp()
  for (const body of [
    {},
    { token: ada.refresh },
    { refresh: null },
    { refresh: 7 },
    { refresh: [ada.refresh] },
  ])
    t.match(await service.call('POST', path, { body }), {
      status: 400,
      body: { code: 'validation_error', refresh: [String] },
    })
  const { signer } = service.deps
  const claims = claimsOf(ada.refresh)
  const mail = tokenIn(await service.mailTo(ada.email, 'Confirm'))
  const tokens: Record<string, string> = {
    'an access token': ada.access,
    'a token out of a mail': mail,
    nothing: '',
    garbage: 'x.y.z',
    'a temporary token': await signer.sign('otp_pending', claims),
    'an expired one': await signer.sign('refresh', { ...claims, exp: claims.iat - 60 }),
    'one without a family': await signer.sign('refresh', { ...claims, fid: undefined }),
    'one whose family is no id': await signer.sign('refresh', { ...claims, fid: 7 }),
    'one with half a signature': ada.refresh.slice(0, -20),
  }
  for (const [what, token] of Object.entries(tokens)) t.match(await refresh(token), notValid, what)
  t.match(
    await refresh(await signer.sign('refresh', { ...claims, fid: randomUUID() })),
    revoked,
    'an unknown family',
  )
  t.match(
    await refresh(await signer.sign('refresh', { ...claims, sid: randomUUID() })),
    revoked,
    'an unknown session',
  )
  t.equal((await refresh(ada.refresh)).status, 200, 'none of these ended the session')
})

t.test(
  'a token whose answer was lost returns the same successor for 10 s, while that is unused',
  async (t) => {
    const ada = await service.signUp()
    const first = await refresh(ada.refresh)
    service.advance(grace)
    const again = await refresh(ada.refresh)
    t.equal(again.status, 200)
    t.same(claimsOf(again.body.refresh), claimsOf(first.body.refresh))
    const next = await refresh(again.body.refresh)
    t.equal(next.status, 200)
    t.match(await refresh(ada.refresh), { status: 401 }, 'its successor was used')
  },
)

t.test('a retry whose successor is already used is refused, and ends nothing', async (t) => {
  const ada = await service.signUp()
  const first = await refresh(ada.refresh)
  const second = await refresh(first.body.refresh)
  t.match(await refresh(ada.refresh), notValid)
  t.equal((await me(ada.access)).status, 200)
  t.equal((await refresh(second.body.refresh)).status, 200)
})

t.test('a replay after the grace time ends the session and nothing else, with one event', async (t) => {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
  const { body: elsewhere } = await ada.post('/api/v1/auth/switch-tenant/', { tenant_id: second.id })
  const rotated = await refresh(ada.refresh)
  service.advance(grace + 1)
  t.match(await refresh(ada.refresh), revoked)
  for (const token of [ada.refresh, rotated.body.refresh, elsewhere.refresh])
    t.match(await refresh(token), revoked)
  for (const token of [ada.access, rotated.body.access, elsewhere.access]) t.match(await me(token), revoked)
  t.equal((await me(other.access)).status, 200)
  t.equal((await refresh(other.refresh)).status, 200)
  const events = await numberedEventsOf(database, ada.tenantId)
  t.equal(events.filter(({ type }) => type === 'identity.session_compromised').length, 1)
  t.same(
    events.map(({ sequence }) => sequence),
    events.map((_, i) => i + 1),
  )
})

t.test('50 parallel refreshes all get one successor and never fork', async (t) => {
  for (let round = 0; round < 3; round++) {
    const ada = await service.signUp()
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(ada.refresh)))
    t.same([...new Set(answers.map(({ status }) => status))], [200])
    t.equal(new Set(answers.map(({ body }) => claimsOf(body.refresh).jti)).size, 1)
    const { rows } = await database.query(
      'select generation::int from refresh_families where session_id = $1 and ended_at is null',
      [claimsOf(ada.access).sid],
    )
    t.same(rows, [{ generation: 1 }])
  }
})

t.test('50 parallel replays end the session once', async (t) => {
  const ada = await service.signUp()
  await refresh(ada.refresh)
  service.advance(grace + 1)
  const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(ada.refresh)))
  for (const answer of answers) t.match(answer, revoked)
  const events = await numberedEventsOf(database, ada.tenantId)
  t.equal(events.filter(({ type }) => type === 'identity.session_compromised').length, 1)
})

t.test('a token is valid for 7 days after its last use, a session for at most 30 days', async (t) => {
  const ada = await service.signUp()
  const idle = await service.logIn(ada)
  service.advance(7 * 86_400_000 + 6_000)
  t.match(await refresh(idle.refresh), notValid)
  const person = await service.logIn(ada)
  let token = person.refresh
  for (let day = 0; day < 30; day += 6) {
    const { status, body } = await refresh(token)
    t.equal(status, 200, `day ${day}`)
    t.ok(claimsOf(body.refresh).exp <= claimsOf(person.access).iat + 30 * 86_400)
    t.ok(claimsOf(body.access).exp <= claimsOf(person.access).iat + 30 * 86_400)
    token = body.refresh
    service.advance(6 * 86_400_000)
  }
  service.advance(6_000)
  t.equal((await refresh(token)).status, 401)
})

t.test('a refresh reads roles, membership, person and tenant again', async (t) => {
  const [owner, ada] = [await service.signUp(), await service.signUp()]
  await owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, { user_id: ada.id, roles: ['admin'] })
  await ada.switchTo(owner.tenantId)
  const set = (table: string, column: string, value: string) =>
    database.query(
      `update ${table} set ${column} = ${value} where ${table === 'users' ? 'id' : table === 'tenants' ? 'id' : 'user_id'} = $1${table === 'memberships' ? ` and tenant_id = '${owner.tenantId}'` : ''}`,
      [table === 'tenants' ? owner.tenantId : ada.id],
    )
  await database.query(
    `update membership_roles set role_id = (select id from roles where tenant_id = $1 and name = 'auditor')
     where tenant_id = $1 and membership_id = (select id from memberships where tenant_id = $1 and user_id = $2)`,
    [owner.tenantId, ada.id],
  )
  const demoted = await refresh(ada.refresh)
  t.same(claimsOf(demoted.body.access).roles, ['auditor'])
  let token = demoted.body.refresh
  for (const [table, column, value, back, code] of [
    ['memberships', 'status', "'suspended'", "'active'", 'no_active_membership'],
    ['tenants', 'deleted_at', 'created_at', 'null', 'no_active_membership'],
  ] as const) {
    await set(table, column, value)
    t.match(await refresh(token), { status: 403, body: { code } }, `${table}.${column}`)
    await set(table, column, back)
    const answer = await refresh(token)
    t.equal(answer.status, 200, 'the token still works')
    token = answer.body.refresh
  }
  for (const status of ['suspended', 'archived']) {
    await database.query(`update tenants set status = $2, ${status}_at = created_at where id = $1`, [
      owner.tenantId,
      status,
    ])
    t.match(await refresh(token), { status: 403, body: { code: `tenant_${status}` } })
    t.equal((await refresh(owner.refresh)).status, 200, `an owner enters what is ${status}`)
    service.advance(1)
  }
  await set('users', 'is_active', 'false')
  t.match(await refresh(token), revoked)
  t.match(await me(demoted.body.access), revoked)
})

t.test(
  'a restart changes nothing: ended sessions stay ended, live ones stay live, also within the grace time',
  async (t) => {
    const [ended, ada] = [await service.signUp(), await service.signUp()]
    await ended.post('/api/v1/auth/logout/')
    const first = await refresh(ada.refresh)
    const restarted = await serveApi(service.deps.config, createLogger('silent', false), {
      clock: service.now,
      hashing: cheapHashing,
    })
    t.teardown(() => restarted.stop())
    const there = async (token: string) => {
      const response = await fetch(`${restarted.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ refresh: token }),
      })
      return { status: response.status, body: JSON.parse(await response.text()) }
    }
    t.match(await there(ended.refresh), revoked)
    const retried = await there(ada.refresh)
    t.same(
      claimsOf(retried.body.refresh).jti,
      claimsOf(first.body.refresh).jti,
      'one successor, from every process',
    )
    service.advance(grace + 1)
    t.equal((await there(first.body.refresh)).status, 200)
    service.advance(grace + 1)
    t.match(await there(ada.refresh), revoked)
    t.match(await refresh(first.body.refresh), revoked, 'also in the first process')
  },
)

t.test('without rotation the refresh token stays the same, and only the live one works', async (t) => {
  const fixed = await startService(t, { workers: false, env: { REFRESH_TOKEN_ROTATION: 'false' } })
  const ada = await fixed.signUp()
  for (let i = 0; i < 3; i++) {
    const { status, body } = await fixed.call('POST', path, { body: { refresh: ada.refresh } })
    t.equal(status, 200)
    t.equal(claimsOf(body.refresh).jti, claimsOf(ada.refresh).jti)
    fixed.advance(60_000)
  }
  await fixed.call('POST', '/api/v1/auth/logout/', { token: (await fixed.logIn(ada)).access })
  t.equal((await fixed.call('POST', path, { body: { refresh: ada.refresh } })).status, 200)
})
