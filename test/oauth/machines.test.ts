import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oidc from 'openid-client'
import t from 'tap'
import { sharedService } from '../helpers/shared-service.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'
import {
  basicOf,
  callback,
  keyOf,
  openApplication,
  openBrowser,
  openMachine,
  postForm,
} from './relying-party.ts'

const service = await sharedService(t, { workers: false })
const issuer = service.deps.publicUrl()
const signed = { token_endpoint_auth_method: 'private_key_jwt' }
const api = `${issuer}/api/v1`
const grant = { grant_type: 'client_credentials' }
const refusedWith = (error: string) => ({ error }) as unknown as Error
const callWith = (token: string, path: string, method = 'GET', body?: object) =>
  service.call(method, path, { token, ...(body && { body }) })

t.test('a machine acts as its service account, within its scopes and those of the account', async (t) => {
  const boss = await service.signUp()
  const { account, client, config } = await openMachine(service, boss)
  t.match(client, {
    kind: 'machine',
    grant_types: ['client_credentials'],
    token_endpoint_auth_method: 'client_secret_basic',
    service_account_id: account.id,
    require_pkce: false,
  })
  t.ok(config.serverMetadata().grant_types_supported?.includes('client_credentials'))
  const { access_token: token, ...answer } = await oidc.clientCredentialsGrant(config)
  t.same(answer, { expires_in: 900, scope: 'member:list', token_type: 'bearer' }, 'auditors create no roles')
  t.match(decodeProtectedHeader(token), { typ: 'at+jwt', alg: 'ES256' })
  const claims = { iss: issuer, aud: api, sub: account.id, client_id: client.id, tenant_id: boss.tenantId }
  t.match(decodeJwt(token), { ...claims, scope: 'member:list' })
  const all = `/api/v1/tenants/${boss.tenantId}/`
  t.equal((await callWith(token, `${all}members/`)).status, 200)
  t.match(await callWith(token, `${all}roles/`), { status: 403, body: { code: 'permission_denied' } })
  t.match(await callWith(token, '/api/v1/auth/sessions/'), { body: { code: 'application_not_allowed' } })
  t.equal((await callWith(token, `/api/v1/tenants/${crypto.randomUUID()}/members/`)).status, 404)
  await t.rejects(oidc.fetchUserInfo(config, token, oidc.skipSubjectCheck), 'userinfo is about people')
  t.match(await oidc.tokenIntrospection(config, token), { active: true, ...claims, scope: 'member:list' })
  await t.rejects(oidc.tokenRevocation(config, token), refusedWith('unsupported_token_type'))
  const narrow = (more: Record<string, string>) => oidc.clientCredentialsGrant(config, more)
  t.equal((await narrow({ scope: 'member:list', resource: api })).scope, 'member:list')
  for (const scope of ['role:create', 'openid', 'tenant:delete', 'member:list\u0000'])
    await t.rejects(narrow({ scope }), refusedWith('invalid_scope'), scope)
  for (const resource of ['https://other.example', `${api}/`, 'x'])
    await t.rejects(narrow({ resource }), refusedWith('invalid_target'), resource)
  t.match(await boss.get(`/api/v1/service-accounts/${account.id}/`), { body: { last_used_at: /T/ } })

  const self = await openMachine(service, boss, { scopes: ['profile:read'] })
  const own = (await oidc.clientCredentialsGrant(self.config)).access_token
  t.match(await callWith(own, '/api/v1/users/me/'), {
    status: 200,
    body: { id: self.account.id, type: 'service_account', key: null, permissions: [] },
  })
})

t.test(
  'nothing else than its own grant is open to a machine, and to no other client its grant',
  async (t) => {
    const boss = await service.signUp()
    const machine = await openMachine(service, boss)
    const web = await openApplication(service, boss)
    const as = basicOf(machine)
    const fields = {
      response_type: 'code',
      scope: 'openid',
      redirect_uri: callback,
      client_id: machine.client.id,
    }
    t.match(await postForm(service, '/oauth/par', fields, as), { status: 400 })
    const query = new URLSearchParams(fields)
    t.equal((await openBrowser(service).visit(`/oauth/authorize?${query}`)).status, 400)
    for (const grant_type of ['authorization_code', 'refresh_token', 'password'])
      t.equal(
        (await postForm(service, '/oauth/token', { grant_type, code: 'x', refresh_token: 'x' }, as)).status,
        400,
      )
    t.equal((await postForm(service, '/oauth/device_authorization', { scope: 'openid' }, as)).status, 400)
    t.match(await postForm(service, '/oauth/token', grant, basicOf(web)), {
      status: 400,
      body: { error: 'invalid_request' },
    })
    t.match(await postForm(service, '/oauth/token', grant, basicOf({ ...machine, secret: 'bws_no' })), {
      status: 401,
      body: { error: 'invalid_client' },
    })
    t.match(await postForm(service, '/oauth/token', { ...grant, client_id: machine.client.id }), {
      status: 401,
    })
    const posted = await openMachine(service, boss, { token_endpoint_auth_method: 'client_secret_post' })
    const secret = { client_id: posted.client.id, client_secret: posted.secret }
    t.equal((await postForm(service, '/oauth/token', { ...grant, ...secret })).status, 200)
    const key = await keyOf('ES256')
    const proof = oidc.PrivateKeyJwt({ key: key.privateKey, kid: key.jwk.kid })
    const byKey = await openMachine(service, boss, { ...signed, jwks: { keys: [key.jwk] }, proof })
    t.ok(await oidc.clientCredentialsGrant(byKey.config))
    t.match(await boss.get(`/api/v1/oauth-clients/${byKey.client.id}/`), { body: { last_used_at: /T/ } })
  },
)

t.test(
  'a machine gets tokens for the APIs of its tenant, whose applications may ask about them',
  async (t) => {
    const boss = await service.signUp()
    const machine = await openMachine(service, boss, {
      roles: ['admin'],
      scopes: ['invoice:read', 'member:list'],
    })
    const asking = await openApplication(service, boss)
    const resource = 'https://invoices.example.com'
    await expect(
      201,
      boss.post('/api/v1/oauth-resources/', {
        identifier: resource,
        name: 'Invoices',
        client_ids: [asking.client.id],
        scopes: [{ permission: 'invoice:read', description: 'See your invoices' }],
      }),
    )
    const { access_token: token, scope } = await oidc.clientCredentialsGrant(machine.config, { resource })
    t.equal(scope, 'invoice:read')
    t.match(decodeJwt(token), { aud: resource, sub: machine.account.id })
    t.equal((await callWith(token, '/api/v1/users/me/')).status, 401, 'it is not for the API of the service')
    t.match(await oidc.tokenIntrospection(asking.config, token), { active: true, aud: resource })
    const [head, claims, signature] = token.split('.')
    const forged = { ...decodeJwt(token), sub: boss.id }
    for (const wrong of [
      `${head}.${Buffer.from(JSON.stringify(forged)).toString('base64url')}.${signature}`,
      `${head}.${claims}.`,
      `${token}~`,
      `${head}~${claims}~${signature}`,
      'a~b~c',
      '..',
    ])
      t.equal((await oidc.tokenIntrospection(asking.config, wrong)).active, false, wrong)
  },
)

t.test('a token of a machine works as long as all that stands behind it', async (t) => {
  const boss = await service.signUp()
  const all = `/api/v1/tenants/${boss.tenantId}/`
  const clients = '/api/v1/oauth-clients/'
  const reads = '/api/v1/service-accounts/'
  const reading = ['service_account:list', 'service_account:read']
  const ends: [string, (made: Awaited<ReturnType<typeof openMachine>>) => Promise<unknown>, number?][] = [
    [
      'the account is disabled',
      ({ account }) =>
        expect(200, boss.patch(`/api/v1/service-accounts/${account.id}/`, { status: 'disabled' })),
    ],
    [
      'the account is deleted',
      ({ account }) => expect(204, boss.delete(`/api/v1/service-accounts/${account.id}/`)),
    ],
    [
      'the client is disabled',
      ({ client }) => expect(200, boss.patch(`${clients}${client.id}/`, { is_active: false })),
    ],
    ['the client is deleted', ({ client }) => expect(204, boss.delete(`${clients}${client.id}/`))],
    [
      'the client acts as another account',
      async ({ client }) => {
        const { account } = await openMachine(service, boss)
        await expect(200, boss.patch(`${clients}${client.id}/`, { service_account_id: account.id }))
      },
    ],
    [
      'the client lost the scope',
      ({ client }) => expect(200, boss.patch(`${clients}${client.id}/`, { scopes: ['role:create'] })),
      403,
    ],
    [
      'the account lost the role',
      ({ account }) =>
        expect(200, boss.patch(`/api/v1/service-accounts/${account.id}/`, { roles: ['member'] })),
      403,
    ],
    ['the tenant is suspended', () => expect(200, boss.post(`${all}suspend/`)), 403],
  ]
  const other = await openMachine(service, boss)
  const seen = async (token: string, config: oidc.Configuration) =>
    (await oidc.tokenIntrospection(config, token).catch(() => ({ active: false }))).active
  for (const [why, end, status = 401] of ends) {
    const made = await openMachine(service, boss, { scopes: reading })
    const { access_token: token } = await oidc.clientCredentialsGrant(made.config)
    t.equal((await callWith(token, reads)).status, 200)
    t.equal(await seen(token, other.config), false, 'other clients do not know the token')
    await end(made)
    t.equal((await callWith(token, reads)).status, status, why)
    if (status === 401 || /tenant/.test(why)) {
      t.equal(await seen(token, made.config), false, `${why}, and introspection says so`)
      if (!/another/.test(why)) await t.rejects(oidc.clientCredentialsGrant(made.config), why)
    }
  }
})

t.test('policies decide about machines, which meet neither gates nor step-ups', async (t) => {
  const boss = await service.signUp()
  const { client, config } = await openMachine(service, boss)
  const { access_token: token } = await oidc.clientCredentialsGrant(config)
  const about = {
    actions: ['oauth:authorize'],
    conditions: { attribute: 'resource.id', operator: 'eq', value: client.id },
  }
  for (const more of [
    { effect: 'deny' },
    { effect: 'require_approval', approval: { quorum: 1, approver: { roles: ['owner'] } } },
    { effect: 'allow', obligations: [{ type: 'step_up', properties: { max_age: 600 } }] },
  ]) {
    const policy = await expect(201, boss.post('/api/v1/policies/', { name: more.effect, ...about, ...more }))
    await t.rejects(oidc.clientCredentialsGrant(config), refusedWith('invalid_grant'), more.effect)
    t.equal((await oidc.tokenIntrospection(config, token)).active, false)
    await expect(204, boss.delete(`/api/v1/policies/${policy.id}/`))
    t.ok(await oidc.clientCredentialsGrant(config))
  }
  t.ok((await oidc.tokenIntrospection(config, token)).active)
})

t.test('what a machine asks for, those ask who can sign in as it', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const machine = await openMachine(service, owner, {
    roles: ['admin'],
    scopes: ['role:create', 'member:update'],
  })
  const clients = `/api/v1/oauth-clients/${machine.client.id}/`
  const { access_token: token } = await oidc.clientCredentialsGrant(machine.config)
  const rule = { name: 'Ask first', effect: 'require_approval', actions: ['role:create'] }
  await expect(201, owner.post('/api/v1/policies/', rule))
  const wanted = { name: 'Clerk' }
  const asked = await callWith(token, `${path}/roles/`, 'POST', wanted)
  t.match(asked, { status: 403, body: { code: 'approval_required' } })
  const request = `/api/v1/approval-requests/${asked.body.approval_request.id}/`
  const own = { status: 403, body: { code: 'self_approval_forbidden' } }
  t.match(await owner.post(`${request}approve/`), own, 'who made the machine')
  const { id: second } = await expect(201, admin.post(`${clients}secrets/`))
  await expect(204, admin.delete(`${clients}secrets/${second}/`))
  t.match(await admin.post(`${request}approve/`), own, 'who had a secret, also when it is gone')
  t.equal((await admin.get('/api/v1/approval-requests/pending/')).body.results.length, 0)
  const other = await hire('admin')
  t.equal((await other.get('/api/v1/approval-requests/pending/')).body.results.length, 1)
  await expect(200, other.post(`${request}approve/`))
})

t.test('a machine does not raise the member who made it', async (t) => {
  const { path, hire, role } = await foundFirm(service)
  const clerks = await role(
    'member:update',
    'service_account:create',
    'oauth_client:create',
    'oauth_client:update',
  )
  const clerk = await hire(clerks)
  const other = await hire('member')
  const { config } = await openMachine(service, clerk, {
    roles: [clerks],
    scopes: ['member:update', 'service_account:create'],
  })
  const { access_token: token } = await oidc.clientCredentialsGrant(config)
  const raise = ({ memberId }: typeof other) =>
    callWith(token, `${path}/members/${memberId}/`, 'PATCH', { roles: ['member', clerks] })
  t.match(await raise(other), { status: 403, body: { code: 'permission_denied' } }, 'beyond its scopes')
  const describe = ({ memberId }: typeof other) =>
    callWith(token, `${path}/members/${memberId}/`, 'PATCH', { attributes: {}, manager_id: clerk.id })
  t.match(await describe(clerk), { status: 403, body: { detail: /policy:update/ } })
})
