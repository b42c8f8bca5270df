import { randomUUID } from 'node:crypto'
import t from 'tap'
import { actions } from '../../src/policy-engine/catalogue/actions.ts'
import type { Route } from '../../src/request/route.ts'
import { listRoutes } from '../../src/start/app.ts'
import { colleague } from '../helpers/colleague.ts'
import { query, rowsOf } from '../helpers/query.ts'
import { type Client, claimsOf, startService, tokenIn } from '../helpers/service.ts'
import { codeAt, codeIn, startBeside } from '../identity/otp/authenticator.ts'

// A session by a connection is of one tenant: who controls the identity provider can sign in as anyone there.

const service = await startService(t)
const database = service.databases.superuser
const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })
const nameOf = ({ method, path }: Route) => `${method} ${path}`

const connect = async (owner: Client): Promise<string> => {
  const oidc = {
    issuer: 'https://login.example',
    client_id: 'bailiwick',
    client_secret: 'very-secret-indeed',
  }
  const at = '/api/v1/connections/'
  const { body } = await owner.post(at, { name: 'Nordwind', kind: 'oidc', oidc })
  await query(
    database,
    `update connections set tested_by = '${owner.id}', tested_at = now() where id = '${body.id}'`,
  )
  const activated = await owner.patch(`${at}${body.id}/`, { status: 'active' })
  if (activated.status !== 200) throw new Error(JSON.stringify(activated.body))
  return body.id
}

/** As if the session of a person had begun by a connection of a tenant. */
const confine = ({ access }: Client, id: string, tenantId: string, more = '') =>
  query(
    database,
    `with s as (update sessions set connection_id = '${id}', confined_to = '${tenantId}' where id = '${claimsOf(access).sid}')
     update refresh_families set ends_at = ends_at ${more} where session_id = '${claimsOf(access).sid}'`,
  )

/** Signed in with the password elsewhere, a member of a tenant, and signed in there by its connection. */
async function member(role = 'member') {
  const owner = await service.signUp()
  const connection = await connect(owner)
  const person = await colleague(service, owner, role)
  const elsewhere = await service.logIn(person)
  await confine(person, connection, owner.tenantId)
  return { owner, connection, person, elsewhere }
}

const confined = { status: 403, body: { code: 'session_confined', url: /\/sign-in\/address\/$/ } }

t.test('each action that is about oneself is decided for a session by a connection', async (t) => {
  const { person } = await member('admin')
  const own = routes.filter(
    ({ action, access }) =>
      action !== 'public' && access === 'token' && (actions[action].self || actions[action].open),
  )
  const open: string[] = []
  for (const route of own) {
    // The last ones end the session, or the membership.
    if (['/api/v1/auth/logout', '/api/v1/tenants/:id/members/:mid'].includes(route.path)) continue
    const path = route.path.replace(/:id/, route.scope === 'token' ? randomUUID() : person.tenantId)
    const { status, body } = await service.call(route.method, `${path.replace(/:\w+/g, randomUUID())}/`, {
      token: person.access,
      ...(route.method !== 'GET' && { body: {} }),
    })
    if (status !== 403 || body.code !== 'session_confined') open.push(nameOf(route))
  }
  t.same(open.sort(), [
    'DELETE /api/v1/auth/sessions/:id',
    'DELETE /api/v1/service-accounts/:id/keys/:kid',
    'DELETE /api/v1/users/me/authorizations/:id',
    'GET /api/v1/approval-requests',
    'GET /api/v1/approval-requests/:id',
    'GET /api/v1/approval-requests/pending',
    'GET /api/v1/auth/otp/devices',
    'GET /api/v1/auth/passkeys',
    'GET /api/v1/auth/sessions',
    'GET /api/v1/permissions',
    'GET /api/v1/tenants',
    'GET /api/v1/users/me',
    'GET /api/v1/users/me/authorizations',
    'GET /api/v1/users/me/invitations',
    'GET /api/v1/users/me/keys',
    'POST /access/v1/evaluation',
    'POST /access/v1/evaluations',
    'POST /access/v1/plan',
    'POST /access/v1/search/action',
    'POST /access/v1/search/resource',
    'POST /access/v1/search/subject',
    'POST /api/v1/approval-requests',
    'POST /api/v1/approval-requests/:id/approve',
    'POST /api/v1/approval-requests/:id/cancel',
    'POST /api/v1/approval-requests/:id/consume',
    'POST /api/v1/approval-requests/:id/reject',
    'POST /api/v1/auth/otp/email/send',
    'POST /api/v1/auth/otp/verify',
    'POST /api/v1/auth/passkeys/verify',
    'POST /api/v1/auth/passkeys/verify/options',
    'POST /api/v1/auth/switch-tenant',
    'POST /api/v1/service-accounts/:id/keys',
    'POST /api/v1/service-accounts/:id/keys/:kid/rotate',
  ])
})

t.test('it changes nothing of the person, and shows nothing of their other tenants', async (t) => {
  const { owner, person } = await member()
  const invited = await service.signUp()
  await invited.post(`/api/v1/tenants/${invited.tenantId}/invitations/`, {
    email: person.email,
    roles: ['member'],
  })
  t.match(await person.patch('/api/v1/users/me/', { email: 'thief@example.com' }), confined)
  t.match(await person.delete('/api/v1/users/me/'), confined)
  const change = { current_password: person.password, new_password: 'another quiet harbour' }
  t.match(await person.post('/api/v1/auth/password/change/', change), confined)
  t.match(await person.post('/api/v1/auth/otp/totp/setup/', {}), confined)
  t.match(await person.post('/api/v1/users/me/keys/', { name: 'mine' }), confined)
  t.match(await person.post('/api/v1/tenants/', { name: 'Mine' }), confined)
  t.match(await person.post('/api/v1/auth/logout-all/', {}), confined)
  t.match((await person.get('/api/v1/tenants/')).body, { count: 1, results: [{ id: owner.tenantId }] })
  const { body: profile } = await person.get('/api/v1/users/me/')
  t.match(profile.memberships, [{ tenant: { id: owner.tenantId } }])
  t.equal(profile.memberships.length, 1)
  t.match((await person.get('/api/v1/users/me/invitations/')).body, { count: 0 })
  t.match((await person.get('/api/v1/auth/sessions/')).body, { count: 1, results: [{ current: true }] })
})

t.test('it is as fresh as its provider says: one can answer without asking the person', async (t) => {
  const { person, connection } = await member('admin')
  const at = '/api/v1/service-accounts/'
  const { sid } = claimsOf(person.access)
  const showed = (amr: string) =>
    query(database, `update refresh_families set amr = '${amr}' where session_id = '${sid}'`)
  await showed('{fed}')
  const { body: account } = await person.post(at, { name: 'Reports', roles: ['member'] })
  const key = (more: object) => person.post(`${at}${account.id}/keys/`, { name: 'nightly', ...more })
  t.equal((await key({})).status, 201, 'the sign-in was just now')
  await query(database, `update sessions set auth_time = 'epoch' where id = '${sid}'`)
  const url = `${service.deps.publicUrl()}/sign-in/with/${connection}/?max_age=0`
  t.match(await key({}), { status: 401, body: { code: 'insufficient_user_authentication', url } })
  t.equal((await key({ current_password: person.password })).status, 201)
  await query(database, `update refresh_families set second_factor_at = now() where session_id = '${sid}'`)
  for (const [amr, status] of Object.entries({
    '{fed,mfa}': 401,
    '{fed,mfa,otp}': 401,
    '{fed,otp,mfa}': 201,
  })) {
    await showed(amr)
    t.equal((await key({})).status, status, `the provider's factor is none of their own: ${amr}`)
  }
  const { elsewhere } = await member('admin')
  await query(
    database,
    `update sessions set auth_time = 'epoch' where id = '${claimsOf(elsewhere.access).sid}'`,
  )
  const unconfined = await elsewhere.patch('/api/v1/users/me/', { email: 'new@example.com' })
  t.match(unconfined, { status: 401, body: { url: undefined } }, 'the connection of no session')
})

t.test('it enters no other tenant, by no way', async (t) => {
  const { owner, person, elsewhere } = await member()
  const own = elsewhere.tenantId === owner.tenantId ? null : elsewhere.tenantId
  const { body } = await elsewhere.get('/api/v1/tenants/')
  const other = own ?? body.results.find(({ id }: { id: string }) => id !== owner.tenantId).id
  const sw = '/api/v1/auth/switch-tenant/'
  t.match(await person.post(sw, { tenant_id: other }), confined)
  t.match(await person.post(sw, { tenant_id: randomUUID() }), confined, 'as for one that does not exist')
  t.equal((await person.post(sw, { tenant_id: owner.tenantId })).status, 200)
  t.equal((await person.get(`/api/v1/tenants/${other}/`)).status, 404)
  t.equal((await person.get(`/api/v1/tenants/${owner.tenantId}/`)).status, 200)
  const sid = claimsOf(elsewhere.access).sid
  t.equal((await person.delete(`/api/v1/auth/sessions/${sid}/`)).status, 404)
  t.equal((await elsewhere.get('/api/v1/users/me/')).status, 200)
  const renewed = await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } })
  t.equal(renewed.status, 200)
  t.match(
    await service.call('POST', sw, { token: renewed.body.access, body: { tenant_id: other } }),
    confined,
  )
})

t.test(
  'who may do more than the activator of the connection does not go on in a session by it',
  async (t) => {
    const { owner, connection, person } = await member('admin')
    const refresh = () => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } })
    await query(
      database,
      `update connections set activator = '{"systemRoles":["admin"],"permissions":[]}' where id = '${connection}'`,
    )
    const first = await refresh()
    t.equal(first.status, 200, 'as much is not more')
    const at = `/api/v1/tenants/${owner.tenantId}/members/`
    const found = (await owner.get(`${at}?page_size=100`)).body.results.find(
      ({ user_id }: { user_id: string }) => user_id === person.id,
    )
    t.equal((await owner.patch(`${at}${found.id}/`, { roles: ['owner'] })).status, 200)
    t.match(
      await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: first.body.refresh } }),
      confined,
      'promoted since',
    )
  },
)

t.test('a connection that is disabled or deleted ends its sessions for good, and no others', async (t) => {
  const revoked = { status: 401, body: { code: 'session_revoked' } }
  for (const end of ['disabled', 'deleted']) {
    const { owner, connection, person, elsewhere } = await member()
    const refresh = ({ refresh }: Client) =>
      service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } })
    const path = `/api/v1/connections/${connection}/`
    const { status } = await (end === 'deleted' ? owner.delete(path) : owner.patch(path, { status: end }))
    t.equal(status, end === 'deleted' ? 204 : 200)
    t.match(await person.get('/api/v1/users/me/'), revoked, `${end}: at once`)
    t.match(await refresh(person), revoked, end)
    const told = await rowsOf(
      database,
      `select data, actor_id from events where tenant_id = '${owner.tenantId}' and type = 'identity.session_revoked'`,
    )
    const session_id = claimsOf(person.access).sid
    t.strictSame(told, [{ data: { user_id: person.id, session_id }, actor_id: owner.id }])
    t.equal((await refresh(elsewhere)).status, 200)
    if (end === 'deleted') continue
    t.match(await owner.patch(path, { jit: 'verified_domains' }), { status: 200, body: { status: 'draft' } })
    t.match(await refresh(person), revoked, 'a draft revives none')
  }
})

t.test('a second factor that the provider saw is none of an owner', async (t) => {
  const { owner, connection, person } = await member()
  const byProvider = `, amr = '{fed,mfa}', second_factor_at = now()`
  await confine(person, connection, owner.tenantId, byProvider)
  await confine(owner, connection, owner.tenantId, byProvider)
  const current = async (client: Client) =>
    (await client.get('/api/v1/auth/sessions/')).body.results.find((one: { current: boolean }) => one.current)
  t.equal((await current(person)).acr, 'aal2')
  t.equal((await current(owner)).acr, 'aal1')
  await rowsOf(
    database,
    `update tenants set settings = settings || '{"require_mfa": true}' where id = '${owner.tenantId}'`,
  )
  const refresh = (client: Client) =>
    service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: client.refresh } })
  t.equal((await refresh(person)).status, 200)
  t.match(await refresh(owner), { status: 401, body: { code: 'otp_required', methods: ['email'] } })
})

const ssoUrl = (path: RegExp) => ({ status: 401, body: { code: 'sso_required', url: path } })

t.test('sso is required by who came in by a connection, and binds every other way in', async (t) => {
  const { owner, connection, person, elsewhere } = await member()
  const at = `/api/v1/tenants/${owner.tenantId}/`
  const required = { settings: { sso: 'required' } }
  t.match((await owner.get(at)).body.settings, { sso: 'off' })
  t.match(await owner.patch(at, { settings: { sso: 'sometimes' } }), { status: 400 })
  t.match(await owner.patch(at, required), { status: 409, body: { code: 'invalid_state' } })
  const boss = await service.logIn(owner)
  await confine(boss, connection, owner.tenantId)
  t.match(await boss.patch(at, required), { status: 200, body: { settings: { sso: 'required' } } })

  const login = (more: object) =>
    service.call('POST', '/api/v1/auth/login/', {
      body: { email: person.email, password: person.password, ...more },
    })
  const there = ssoUrl(new RegExp(`/sign-in/with/${connection}/$`))
  t.match(await login({ tenant_id: owner.tenantId }), there, 'a login that names the tenant')
  const { status, body } = await login({})
  t.equal(status, 200)
  t.not(claimsOf(body.access).tenant_id, owner.tenantId, 'one that names none leads elsewhere')
  const sw = { tenant_id: owner.tenantId }
  t.match(
    await service.call('POST', '/api/v1/auth/switch-tenant/', { token: body.access, body: sw }),
    there,
    'a switch',
  )
  t.match(
    await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: elsewhere.refresh } }),
    elsewhere.tenantId === owner.tenantId ? there : { status: 200 },
    'a refresh',
  )
  t.equal(
    (await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } })).status,
    200,
    'a session by the connection goes on',
  )
  const invited = 'newcomer.sso@example.com'
  await boss.post(`${at}invitations/`, { email: invited, roles: ['member'] })
  const token = tokenIn(await service.mailTo(invited, 'invites you'))
  const accepted = await service.call('POST', '/api/v1/invitations/accept/', {
    body: { token, password: 'a quiet harbour' },
  })
  t.match(accepted, there, 'an invitation makes the membership, and no pair')
  const { results } = (await boss.get(`${at}members/?page_size=100`)).body
  t.ok(results.some(({ email }: { email: string }) => email === invited))

  await query(database, `update connections set status = 'disabled' where id = '${connection}'`)
  t.match(
    await login({ tenant_id: owner.tenantId }),
    ssoUrl(new RegExp(`/sign-in/\\?organization=${owner.tenantId}$`)),
    'without a connection: the sign-in of the tenant',
  )
})

t.test('an owner gets in by password and second factor, which is audited and mailed', async (t) => {
  const owner = await service.signUp()
  await service.call('POST', '/api/v1/auth/email/verify/confirm/', {
    body: { token: tokenIn(await service.mailTo(owner.email, 'Confirm')) },
  })
  await query(
    database,
    `update tenants set settings = settings || '{"sso": "required"}' where id = '${owner.tenantId}'`,
  )
  service.advance(25 * 3_600_000)
  const { body: asked } = await service.call('POST', '/api/v1/auth/login/', {
    body: { email: owner.email, password: owner.password, tenant_id: owner.tenantId },
  })
  t.match(asked, { otp_required: true, methods: ['email'] }, 'a password alone is not enough')
  const token = asked.temporary_token
  await service.call('POST', '/api/v1/auth/otp/email/send/', { token, body: {} })
  const code = codeIn(await service.mailTo(owner.email, 'sign-in code'))
  const { status, body } = await service.call('POST', '/api/v1/auth/otp/verify/', { token, body: { code } })
  t.equal(status, 200)
  t.equal(claimsOf(body.access).acr, 'aal2')
  t.equal(
    (await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: body.refresh } })).status,
    200,
  )
  t.match(await service.mailTo(owner.email, 'without your identity provider'), { text: /second factor/ })
  const log = await rowsOf(
    database,
    `select count(*)::int as n from audit_log where tenant_id = '${owner.tenantId}' and action = 'session:break_glass'`,
  )
  t.match(log, [{ n: 1 }])
})

t.test('where no code is mailed, a factor of today does not stand in for a connection', async (t) => {
  const url = await startBeside(t, service, { OTP_EMAIL_ENABLED: 'false' })
  const ask = (path: string, body: object, token?: string) =>
    service.call('POST', `${url}/api/v1/auth/${path}/`, { token, body })
  const owner = await service.signUp()
  await owner.post('/api/v1/tenants/', { name: 'Another' })
  const { tenantId: tenant_id, email, password } = owner
  await query(
    database,
    `update tenants set settings = settings || '{"sso": "required"}' where id = '${tenant_id}'`,
  )
  const refused = { status: 401, body: { code: 'sso_required' } }
  t.match(await ask('login', { email, password, tenant_id }), refused, 'no factor is set up on the way in')

  const { access } = (await ask('login', { email, password })).body
  const { body: app } = await ask('otp/totp/setup', {}, access)
  const code = codeAt(app.secret, service.now())
  t.equal((await ask('otp/totp/confirm', { code }, access)).status, 200, 'it can be set up elsewhere')
  t.match(await ask('switch-tenant', { tenant_id }, access), refused, 'with the password alone')
  t.match(await ask('login', { email, password, tenant_id }), refused)

  service.advance(25 * 3_600_000)
  const { body: asked } = await ask('login', { email, password, tenant_id })
  t.match(asked, { otp_required: true, methods: ['totp'] })
  const shown = { code: codeAt(app.secret, service.now()) }
  const { status, body } = await ask('otp/verify', shown, asked.temporary_token)
  t.equal(status, 200)
  t.equal(claimsOf(body.access).acr, 'aal2')
})
