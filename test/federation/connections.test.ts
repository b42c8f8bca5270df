import t from 'tap'
import { findUpstream } from '../../src/federation/find-upstream.ts'
import { colleague } from '../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { query, rowsOf } from '../helpers/query.ts'
import { type Client, type Json, startService } from '../helpers/service.ts'
import { type Lies, startProvider } from './provider.ts'

const service = await startService(t, { env: { FEDERATION_ALLOWED_HOSTS: 'localhost' } })
const provider = await startProvider(t)
const database = await openDatabase(t, service)
const at = '/api/v1/connections/'
const oidc = { issuer: 'https://login.example', client_id: 'bailiwick', client_secret: 'very-secret-indeed' }

const connect = async (owner: Client, more: object = {}): Promise<Json> => {
  const { status, body } = await owner.post(at, { name: 'Nordwind', kind: 'oidc', oidc, ...more })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const pathOf = ({ id }: Json) => `${at}${id}/`
/** A connection to a provider that runs. */
const real = {
  oidc: { issuer: provider.issuer, client_id: provider.clientId, client_secret: provider.clientSecret },
}
const begin = async (by: Client, connection: Json): Promise<string> => {
  const { status, body } = await by.post(`${pathOf(connection)}test/`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.url
}
/** Opens an address of the service in a browser that has never been here. */
const open = async (address: string) => {
  const { pathname, search } = new URL(address)
  const answer = await fetch(`${service.url}${pathname}${search}`, { redirect: 'manual' })
  return { status: answer.status, text: await answer.text() }
}
/** As the sign-in does that tries it. */
const tried = ({ id }: Json, by: Client) =>
  query(
    service.databases.superuser,
    `update connections set tested_by = '${by.id}', tested_at = now() where id = '${id}'`,
  )
const activated = async (owner: Client, more: object = {}): Promise<Json> => {
  const made = await connect(owner, more)
  await tried(made, owner)
  const { status, body } = await owner.patch(pathOf(made), { status: 'active' })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const fault = (field: string) => ({ status: 400, body: { errors: [{ field }] } })
const deny = { status: 403, body: { code: 'permission_denied' } }

t.test('a connection is made as a draft, tried, activated, disabled and deleted', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner)
  t.match(made, {
    kind: 'oidc',
    status: 'draft',
    oidc: { issuer: oidc.issuer, client_id: 'bailiwick', scopes: ['openid', 'email', 'profile'] },
    subject_attribute: 'sub',
    mapping: [],
    jit: 'off',
    trusts_mfa: false,
    directory_subject: null,
    tested_at: null,
    activated_at: null,
  })
  await tried(made, owner)
  t.match(await owner.patch(pathOf(made), { status: 'active' }), {
    status: 200,
    body: { status: 'active', activated_at: String, tested_at: String },
  })
  t.match(await owner.patch(pathOf(made), { status: 'disabled' }), { body: { status: 'disabled' } })
  t.match((await owner.get(at)).body, { count: 1, results: [{ id: made.id, status: 'disabled' }] })
  t.equal((await owner.delete(pathOf(made))).status, 204)
  t.equal((await owner.get(pathOf(made))).status, 404)
  const types = (await eventsOf(database, owner.tenantId)).map(({ type }) => type)
  t.same(
    types.filter((type) => type.startsWith('tenant.connection_')).map((type) => type.slice(18)),
    ['created', 'activated', 'updated', 'deleted'],
  )
})

t.test('identities go with their connection, and with their person', async (t) => {
  const owner = await service.signUp()
  const [leaver, stayer] = [await service.signUp(), await service.signUp()]
  const [made, other] = [await connect(owner), await connect(owner)]
  const link = ({ id: userId }: Client, provider: string, connection = 'null, null') =>
    query(
      service.databases.superuser,
      `insert into federated_identities (id, user_id, provider, tenant_id, connection_id, issuer, attribute, subject, created_at)
       values (gen_random_uuid(), '${userId}', '${provider}', ${connection}, '${oidc.issuer}', 'sub', '${userId}', now())`,
    )
  for (const person of [leaver, stayer]) {
    for (const { id } of [made, other]) await link(person, id, `'${owner.tenantId}', '${id}'`)
    await link(person, 'google')
  }
  const left = () =>
    rowsOf(
      service.databases.superuser,
      `select provider, user_id from federated_identities where user_id in ('${leaver.id}', '${stayer.id}') order by 1, 2`,
    )
  t.equal((await left()).length, 6)
  t.equal((await owner.delete(pathOf(made))).status, 204)
  t.equal((await left()).length, 4)
  const erased = await leaver.delete('/api/v1/users/me/', { body: { current_password: leaver.password } })
  t.equal(erased.status, 204)
  t.match(
    new Set((await left()).map(({ provider, user_id }) => `${provider} ${user_id}`)),
    new Set([`${other.id} ${stayer.id}`, `google ${stayer.id}`]),
  )
})

t.test('the secret is in no answer, event or audit row, and sealed in the database', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner)
  await owner.patch(pathOf(made), { oidc: { client_secret: 'another-secret' } })
  const answers = [made, (await owner.get(pathOf(made))).body, (await owner.get('/api/v1/audit-log/')).body]
  const rows = await rowsOf(
    service.databases.superuser,
    `select encode(client_secret_sealed, 'escape') as sealed, config from connections where id = '${made.id}'`,
  )
  const events = await eventsOf(database, owner.tenantId)
  t.notMatch(JSON.stringify([answers, rows, events]), /very-secret|another-secret/)
  t.match(JSON.stringify(answers[2]), /"credentials"/, 'but the log says that it was replaced')
})

t.test('a claim whose value can go to another person does not say who a person is', async (t) => {
  const owner = await service.signUp()
  for (const subject_attribute of [
    'email',
    'Email',
    'emails',
    'upn',
    'preferred_username',
    'unique_name',
    'name',
    'login',
    'phone_number',
    'userPrincipalName',
    'sAMAccountName',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn',
    'urn:oid:mail',
  ])
    t.match(
      await owner.post(at, { name: 'A', kind: 'oidc', oidc, subject_attribute }),
      fault('subject_attribute'),
      subject_attribute,
    )
  for (const subject_attribute of [
    'oid',
    'sub',
    'employee_number',
    'http://schemas.example/claims/objectidentifier',
  ])
    t.match(await connect(owner, { subject_attribute }), { subject_attribute })
})

t.test('an issuer is a public https URL', async (t) => {
  const owner = await service.signUp()
  for (const issuer of [
    'http://login.example',
    'https://127.0.0.1',
    'https://login.internal',
    'https://login.example/?a',
    'login',
  ])
    t.match(
      await owner.post(at, { name: 'A', kind: 'oidc', oidc: { ...oidc, issuer } }),
      fault('oidc.issuer'),
      issuer,
    )
})

t.test('a mapping gives at most what its editor can give, and never ownership', async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  const department = (await owner.post(`${tenant}departments/`, { name: 'Sales' })).body.id
  const rule = (more: object) => ({ mapping: [{ claim: 'groups', value: 'staff', ...more }] })
  const send = (by: Client, more: object) => by.post(at, { name: 'A', kind: 'oidc', oidc, ...rule(more) })

  t.match(await send(owner, { roles: ['owner'] }), fault('mapping.0.roles'), 'also by an owner')
  t.match(await send(admin, { roles: ['owner'] }), fault('mapping.0.roles'))
  t.match(await send(owner, { roles: ['no-such-role'] }), fault('mapping.0.roles'))
  t.match(await send(owner, { department_id: owner.id }), fault('mapping.0.department_id'))
  const { body: made } = await send(admin, { roles: ['member', 'Auditor'], department_id: department })
  t.match(made.mapping, [{ claim: 'groups', value: 'staff', department_id: department }])
  t.equal(made.mapping[0].roles.length, 2)
  t.equal(
    (await admin.patch(pathOf(made), { mapping: made.mapping })).status,
    200,
    'what was read can be sent back',
  )

  const higher = (await owner.post(`${tenant}roles/`, { name: 'Higher', permissions: ['tenant:delete'] }))
    .body
  t.match(await send(admin, { roles: [higher.id] }), deny)
  const connector = {
    name: 'Connector',
    permissions: ['connection:create', 'connection:update', 'member:create', 'member:update'],
  }
  await owner.post(`${tenant}roles/`, connector)
  const clerk = await colleague(service, owner, 'Connector')
  t.match(await send(clerk, { roles: ['Connector'] }), deny, 'they could be the member')
  await query(
    service.databases.superuser,
    `update roles set permissions = permissions || '{policy:update}' where name = 'Connector' and tenant_id = '${owner.tenantId}'`,
  )
  t.equal((await send(clerk, { roles: ['Connector'] })).status, 201)
  t.match(await send(clerk, { roles: ['auditor'] }), deny)
})

t.test('policies about members hold for the editor of a mapping', async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  const body = {
    name: 'A',
    kind: 'oidc',
    oidc,
    mapping: [{ claim: 'groups', value: 'a', roles: ['member'] }],
  }
  const plain = (await admin.post(at, { ...body, mapping: [] })).body
  for (const rule of [
    { effect: 'deny', actions: ['member:create'] },
    {
      effect: 'require_approval',
      actions: ['member:create'],
      approval: { approver: { roles: ['owner'] } },
    },
    {
      effect: 'require_approval',
      actions: ['member:update'],
      approval: { approver: { roles: ['owner'] } },
    },
  ]) {
    const policy = (await owner.post('/api/v1/policies/', {
      name: 'Rule',
      conditions: { attribute: 'subject.id', operator: 'eq', value: admin.id },
      ...rule,
    })) as Json
    t.equal(policy.status, 201, JSON.stringify(policy.body))
    t.match(await admin.post(at, body), deny, rule.effect)
    t.equal((await admin.post(at, { ...body, mapping: [] })).status, 201)
    const jit = 'verified_domains'
    const joins = rule.actions.includes('member:update') ? {} : deny
    t.match(await admin.post(at, { ...body, mapping: [], jit }), joins, 'jit adds members')
    t.match(await admin.patch(pathOf(plain), { jit }), joins)
    await owner.delete(`/api/v1/policies/${policy.body.id}/`)
  }
})

t.test("an admin's provider does not become the voice of the owner", async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  const active = await activated(owner, { mapping: [{ claim: 'groups', value: 'a', roles: ['member'] }] })
  const mine = { oidc: { issuer: 'https://admin.example', client_secret: 'mine' } }

  t.match(
    await admin.patch(pathOf(active), { oidc: { issuer: 'https://admin.example' } }),
    fault('oidc.client_secret'),
    'another issuer does not get the secret of the first',
  )
  t.match(await admin.patch(pathOf(active), { ...mine, status: 'active' }), { status: 403 })
  t.match((await admin.get(pathOf(active))).body, active, 'nothing changed')
  t.match(await admin.patch(pathOf(active), mine), {
    status: 200,
    body: { status: 'draft', tested_at: null },
  })
  await tried(active, admin)
  t.match(await admin.patch(pathOf(active), { status: 'active' }), deny, 'admins activate nothing')
  t.match(
    await owner.patch(pathOf(active), { status: 'active' }),
    { status: 409, body: { code: 'invalid_state', current_state: 'draft' } },
    'nor owners what another person tried',
  )
})

t.test('what decides who signs in returns a connection to a draft; the rest does not', async (t) => {
  const owner = await service.signUp()
  for (const change of [
    { oidc: { issuer: 'https://other.example', client_secret: 'x' } },
    { oidc: { client_id: 'other' } },
    { subject_attribute: 'oid' },
    { mapping: [] },
    { jit: 'verified_domains' },
    { trusts_mfa: true },
  ]) {
    const active = await activated(owner, { mapping: [{ claim: 'groups', value: 'a' }] })
    const { body } = await owner.patch(pathOf(active), change)
    t.match(body, { status: 'draft', tested_at: null }, JSON.stringify(change))
    await owner.delete(pathOf(active))
  }
  const active = await activated(owner)
  for (const change of [
    { name: 'Other' },
    { oidc: { client_secret: 'new' } },
    { oidc: { scopes: ['openid'] } },
    { directory_subject: 'external_id' },
    { subject_attribute: 'sub', jit: 'off', mapping: [] },
  ])
    t.match(await owner.patch(pathOf(active), change), { status: 200, body: { status: 'active' } })
})

t.test('a key activates nothing, and what the activator held is kept', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner)
  await tried(made, owner)
  const key = (await owner.post('/api/v1/users/me/keys/', { name: 'Mine', current_password: owner.password }))
    .body.key
  t.match(await service.call('PATCH', pathOf(made), { token: key, body: { status: 'active' } }), deny)
  await owner.patch(pathOf(made), { status: 'active' })
  const [row] = await rowsOf(
    service.databases.superuser,
    `select activator from connections where id = '${made.id}'`,
  )
  t.match(row, { activator: { systemRoles: ['owner'], permissions: [] } })
})

t.test('other tenants and members see no connection, and there are at most 20', async (t) => {
  const [owner, stranger] = [await service.signUp(), await service.signUp()]
  const member = await colleague(service, owner)
  const made = await connect(owner)
  for (const send of [
    stranger.get(pathOf(made)),
    stranger.patch(pathOf(made), { name: 'x' }),
    stranger.delete(pathOf(made)),
  ])
    t.equal((await send).status, 404)
  t.equal((await member.get(at)).status, 403)
  for (let n = 1; n < 20; n++) await connect(owner)
  t.match(await owner.post(at, { name: 'A', kind: 'oidc', oidc }), {
    status: 409,
    body: { code: 'limit_reached' },
  })
})

t.test('an owner tries a connection at its provider, and activates it', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, real)
  const url = new URL(await begin(owner, made))
  t.match(Object.fromEntries(url.searchParams), {
    redirect_uri: new RegExp(`/sign-in/callback/${made.id}/$`),
    scope: 'openid email profile',
    code_challenge_method: 'S256',
    max_age: '0',
  })
  t.notMatch(url.href, /shared-secret/)
  t.match(await owner.patch(pathOf(made), { status: 'active' }), { status: 409 }, 'not yet')
  const { status, text } = await open(provider.signIn(url.href))
  t.equal(status, 200)
  t.match(text, 'ada@nordwind.example')
  t.match((await owner.get(pathOf(made))).body, { status: 'draft', tested_at: String })
  t.match(await owner.patch(pathOf(made), { status: 'active' }), { status: 200, body: { status: 'active' } })
  const { results } = (await owner.get('/api/v1/audit-log/?action=connection:test')).body
  t.match(results, [{ actor: { id: owner.id }, target: { id: made.id } }])
})

t.test('no forged answer of a provider counts as a try', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, real)
  const forgeries: [string, Lies][] = [
    ['another issuer', { claims: { iss: 'https://other.example' } }],
    ['an answer of another issuer', { answersAs: 'https://other.example' }],
    ['another audience', { claims: { aud: 'other' } }],
    ['two audiences, and none of them authorized', { claims: { aud: ['bailiwick', 'other'] } }],
    ['another authorized party', { claims: { azp: 'other' } }],
    ['another nonce', { claims: { nonce: 'other' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['an empty subject', { claims: { sub: '' } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a subject that is a number', { claims: { sub: 1 } }],
    ['an expired token', { claims: { exp: Math.floor(Date.now() / 1_000) - 600 } }],
    ['a token of the future', { claims: { nbf: Math.floor(Date.now() / 1_000) + 600 } }],
    ['a key that it does not publish', { foreignKey: true }],
    ['no signature', { unsigned: true }],
    ['another access token', { atHash: 'AAAAAAAAAAAAAAAAAAAAAA' }],
    ['userinfo of another person', { userinfo: { sub: 'bob-2' } }],
    ['an address as the subject', { claims: { sub: 'ada@nordwind.example' } }],
    ['a status that HTTP does not know', { status: 999 }],
  ]
  for (const [what, lies] of forgeries) {
    provider.lies = lies
    const { status, text } = await open(provider.signIn(await begin(owner, made)))
    t.match(text, /role="alert"/, what)
    t.ok(status < 500, `${what} answers ${status}`)
    t.match((await owner.get(pathOf(made))).body, { tested_at: null }, what)
  }
  provider.lies = {}
})

t.test('an answer counts for the connection, the version and the time of its beginning alone', async (t) => {
  const [owner, admin] = [await service.signUp(), await service.signUp()]
  const [made, other] = [await connect(owner, real), await connect(owner, real)]
  const back = provider.signIn(await begin(owner, made))
  t.match(await open(back.replace(made.id, other.id)), { status: 400 }, 'at another connection')
  t.match(await open(back.replace('state=', 'state=A')), { status: 400 }, 'another state')
  t.match(await open(`${back}&state=x`), { text: /role="alert"/ }, 'two states')
  const late = provider.signIn(await begin(owner, made))
  await owner.patch(pathOf(made), { subject_attribute: 'oid' })
  await owner.patch(pathOf(made), { subject_attribute: 'sub' })
  t.match(await open(late), { status: 409, text: /This was changed meanwhile/ })
  const old = provider.signIn(await begin(owner, made))
  service.advance(600_001)
  t.match(await open(old), { status: 400 }, 'too late')
  for (const { id } of [made, other]) t.match((await owner.get(`${at}${id}/`)).body, { tested_at: null })
  t.equal((await admin.post(`${pathOf(made)}test/`)).status, 404, 'of another tenant')
})

t.test(
  'a hostile provider that names people of other tenants gets no session and changes no account',
  async (t) => {
    const owner = await service.signUp()
    const made = await connect(owner, real)
    const others = [await service.signUp(), await service.signUp(), await service.signUp()]
    const state = `select (select count(*) from sessions) as sessions, (select count(*) from memberships) as memberships,
    (select json_agg(u order by id) from users u) as people`
    const before = await rowsOf(service.databases.superuser, state)
    for (const { id, email } of others) {
      provider.lies = { claims: { sub: id, email, email_verified: true, acr: 'aal2', amr: ['mfa'] } }
      provider.lies.userinfo = { sub: id, email }
      t.match(await open(provider.signIn(await begin(owner, made))), { status: 200, text: new RegExp(email) })
    }
    provider.lies = {}
    t.same(await rowsOf(service.databases.superuser, state), before)
  },
)

t.test('an active connection is an upstream, and proves no address', async (t) => {
  const owner = await service.signUp()
  const draft = await connect(owner, real)
  t.equal(await findUpstream(service.deps, draft.id), null, 'a draft is none')
  const { id } = await activated(owner, { ...real, subject_attribute: 'oid' })
  const upstream = (await findUpstream(service.deps, id))!
  t.match(upstream, { id, kind: 'oidc', name: 'Nordwind', tenantId: owner.tenantId })
  const [state, redirectUri] = ['its-state', `${service.url}/sign-in/callback/${id}/`]
  const { url, kept } = await upstream.begin({ state, redirectUri })
  provider.lies = { claims: { oid: 'ada-9' } }
  const { searchParams: parameters } = new URL(provider.signIn(url))
  t.match(await upstream.finish({ state, redirectUri, kept, parameters, at: service.now() }), {
    attribute: 'oid',
    subject: 'ada-9',
    email: 'ada@nordwind.example',
    isAuthority: false,
  })
  provider.lies = {}
  await owner.patch(pathOf({ id }), { status: 'disabled' })
  t.equal(await findUpstream(service.deps, id), null, 'a disabled one is none')
})

t.test('a provider that cannot be used is named with the reason', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, { oidc: { ...real.oidc, issuer: 'http://localhost:1' } })
  const refused = await owner.post(`${pathOf(made)}test/`)
  t.match(refused, { status: 409, body: { code: 'provider_refused', detail: /localhost:1/ } })
})

t.test(
  'the secret goes in the body where the provider takes it there, and a refused one is named',
  async (t) => {
    const owner = await service.signUp()
    const made = await connect(owner, real)
    const metadata = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] }
    const challenge = { 'www-authenticate': 'Basic realm="here"' }
    provider.lies = { metadata }
    t.match(await open(provider.signIn(await begin(owner, made))), { status: 200, text: 'ada-1' })
    t.equal(provider.asked.at(-1)!.get('client_secret'), provider.clientSecret)
    provider.lies = {
      at: { '/token': { status: 401, headers: challenge, body: { error: 'invalid_client' } } },
    }
    t.match(await open(provider.signIn(await begin(owner, made))), {
      text: /does not accept the client_id and client_secret/,
    })
    provider.lies = {}
  },
)

t.test('a provider that names the address in its userinfo alone is shown with it', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, real)
  provider.lies = {
    claims: { email: undefined, email_verified: undefined },
    userinfo: { email_verified: undefined },
  }
  t.match(await open(provider.signIn(await begin(owner, made))), {
    status: 200,
    text: 'ada@nordwind.example',
  })
  provider.lies = {}
})

t.test('a provider leads the browser to a page of https alone', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, real)
  for (const authorization_endpoint of [
    'javascript:alert(document.domain)',
    'data:text/html,hello',
    'http://login.example/authorize',
    'authorize',
    undefined,
  ]) {
    provider.lies = { metadata: { authorization_endpoint } }
    t.match(
      await owner.post(`${pathOf(made)}test/`),
      { status: 409, body: { code: 'provider_refused', detail: /authorization_endpoint/ } },
      String(authorization_endpoint),
    )
  }
  provider.lies = {}
})
