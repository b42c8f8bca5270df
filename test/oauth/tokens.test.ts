import * as oidc from 'openid-client'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { query } from '../helpers/query.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { eventsOf, expect } from '../tenancy/staff.ts'
import { invalidGrant, openApplication, tokensFor } from './relying-party.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const shop = await openApplication(service, owner)
const offline = { scope: 'openid email offline_access' }

t.test('a client ends its own tokens, and those of others stay', async (t) => {
  const person = await colleague(service, owner)
  const other = await openApplication(service, owner, { name: 'Other' })
  const { tokens } = await tokensFor(service, shop, person, offline)
  for (const token of [tokens.access_token, tokens.refresh_token!, 'x'])
    await oidc.tokenRevocation(other.config, token)
  t.ok(await oidc.fetchUserInfo(shop.config, tokens.access_token, person.id))

  await oidc.tokenRevocation(shop.config, tokens.access_token)
  await t.rejects(oidc.fetchUserInfo(shop.config, tokens.access_token, person.id))
  const renewed = await oidc.refreshTokenGrant(shop.config, tokens.refresh_token!)
  const kinds = async () =>
    (await expect(200, person.get('/api/v1/auth/sessions/'))).results.map((one: { kind: string }) => one.kind)
  t.ok((await kinds()).includes('grant'), 'an access token ends alone')

  await oidc.tokenRevocation(shop.config, renewed.refresh_token!)
  await t.rejects(oidc.fetchUserInfo(shop.config, renewed.access_token, person.id))
  await t.rejects(oidc.refreshTokenGrant(shop.config, renewed.refresh_token!), invalidGrant)
  t.notOk((await kinds()).includes('grant'), 'the session of the grant ends with it')
  const ended = await eventsOf(service, owner.tenantId, 'application.')
  t.equal(ended.filter((type) => type === 'application.grant_revoked').length, 1)
  t.notOk(ended.includes('application.token_replayed'))
})

t.test('introspection says what would happen now, to the client of the token alone', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm)
  const other = await openApplication(service, firm, { name: 'Other' })
  const person = await colleague(service, firm)
  const { tokens } = await tokensFor(service, app, person, offline)
  const stated = await oidc.tokenIntrospection(app.config, tokens.access_token)
  t.match(stated, {
    active: true,
    client_id: app.client.id,
    sub: person.id,
    scope: 'openid email offline_access',
    token_type: 'Bearer',
    iss: service.deps.publicUrl(),
  })
  const isActive = async (token: string, by = app) => (await oidc.tokenIntrospection(by.config, token)).active
  t.equal(await isActive(tokens.refresh_token!), true)
  t.same(await oidc.tokenIntrospection(other.config, tokens.access_token), { active: false })
  t.equal(await isActive(tokens.refresh_token!, other), false)
  for (const strange of ['x', tokens.id_token!, person.access])
    t.not(await isActive(strange).catch(() => false), true)

  const members = `/api/v1/tenants/${firm.tenantId}/members/`
  const [{ id }] = (await expect(200, firm.get(`${members}?search=${person.email}`))).results
  await expect(204, firm.delete(`${members}${id}/`))
  t.equal(await isActive(tokens.access_token), false, 'the person was removed')
  t.equal(await isActive(tokens.refresh_token!), false)
})

t.test('the tokens of a session by a connection end with it, and with what its activator held', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm)
  const oidcFields = { issuer: 'https://login.example', client_id: 'bailiwick', client_secret: 'very-secret' }
  const made = { name: 'Nordwind', kind: 'oidc', oidc: oidcFields }
  const { id } = await expect(201, firm.post('/api/v1/connections/', made))
  const connection = `/api/v1/connections/${id}/`
  const asActive = (systemRole: string) =>
    query(
      service.databases.superuser,
      `update connections set status = 'active', activated_by = '${firm.id}', activated_at = now(),
         activator = '{"systemRoles":["${systemRole}"],"permissions":[]}', version = version + 1 where id = '${id}'`,
    )
  await asActive('admin')
  const confinedTokens = async (role: string) => {
    const person = await colleague(service, firm, role)
    const { tokens } = await tokensFor(service, app, person, offline)
    await query(
      service.databases.superuser,
      `update sessions set connection_id = '${id}', confined_to = '${firm.tenantId}' where user_id = '${person.id}'`,
    )
    return tokens
  }
  const tokens = await confinedTokens('admin')
  const renewed = await oidc.refreshTokenGrant(app.config, tokens.refresh_token!)
  await asActive('member')
  await t.rejects(
    oidc.refreshTokenGrant(app.config, renewed.refresh_token!),
    invalidGrant,
    'more than the activator held',
  )
  const ofMember = await confinedTokens('member')
  const last = await oidc.refreshTokenGrant(app.config, ofMember.refresh_token!)
  await expect(200, firm.patch(connection, { status: 'disabled' }))
  await expect(200, firm.patch(connection, { jit: 'verified_domains' }))
  await t.rejects(oidc.refreshTokenGrant(app.config, last.refresh_token!), invalidGrant, 'disabled')
})

t.test('who asks shows who they are, and the answers are not stored', async (t) => {
  const { tokens } = await tokensFor(service, shop, owner, offline)
  const ask = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${service.url}${path}`, { method: 'POST', body: new URLSearchParams(fields), headers })
  const token = tokens.access_token
  const right = { client_id: shop.client.id, client_secret: shop.secret, token }
  for (const path of ['/oauth/introspect', '/oauth/revoke']) {
    const wrong = await ask(path, { ...right, client_secret: 'bws_no' })
    t.equal(wrong.status, 401)
    t.match(await wrong.json(), { error: 'invalid_client' })
    t.equal((await ask(path, { token })).status, 400)
    for (const answer of [wrong, await ask(path, { ...right, token: 'x' }), await ask(path, { token })])
      t.equal(answer.headers.get('cache-control'), 'no-store', path)
  }
  const origin = { Origin: 'https://app.example.com' }
  t.equal((await ask('/oauth/introspect', right, origin)).status, 400, 'resource servers are no browsers')
  const revoked = await ask('/oauth/revoke', right, origin)
  t.equal(revoked.status, 200)
  t.equal(revoked.headers.get('access-control-allow-origin'), origin.Origin)
  t.equal(revoked.headers.get('access-control-allow-credentials'), null)
})

const all = '/api/v1/oauth-resources/'
const invoices = {
  identifier: 'https://invoices.example.com',
  name: 'Invoices',
  scopes: [{ permission: 'invoice:read', description: 'See your invoices' }],
}

t.test('an API is registered, read, listed, changed and deleted', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm)
  const made = await expect(201, firm.post(all, { ...invoices, client_ids: [app.client.id] }))
  t.match(made, { ...invoices, client_ids: [app.client.id], created_by: firm.id })
  const at = `${all}${made.id}/`
  const read = await firm.get(at)
  t.same(read.body, made)
  t.same((await expect(200, firm.get(all))).results, [made])
  t.match(await firm.post(all, invoices), { status: 409, body: { code: 'name_taken' } })
  t.match(await expect(200, firm.patch(at, { name: 'Bills' })), { ...invoices, name: 'Bills' })
  const headers = { 'If-Match': String(read.headers.get('etag')) }
  t.match(await firm.delete(at, { headers }), { status: 412 })
  for (const role of ['member', 'auditor']) {
    const person = await colleague(service, firm, role)
    t.equal((await person.get(all)).status, role === 'auditor' ? 200 : 403)
    t.equal((await person.post(all, { ...invoices, identifier: 'urn:x' })).status, 403)
    t.equal((await person.delete(at)).status, 403)
  }
  t.equal((await owner.get(at)).status, 404, 'of another tenant')
  await expect(201, owner.post(all, invoices))
  await expect(204, firm.delete(at))
  t.equal((await firm.get(at)).status, 404)
  t.same(await eventsOf(service, firm.tenantId, 'application.resource'), [
    'application.resource_created',
    'application.resource_updated',
    'application.resource_deleted',
  ])
})

t.test('an API is not the service itself, and its clients are of the tenant', async (t) => {
  const firm = await service.signUp()
  const issuer = service.deps.publicUrl()
  const wrong: [object, string][] = [
    [{ identifier: issuer }, 'identifier'],
    [{ identifier: `${issuer}/api/v1` }, 'identifier'],
    [{ identifier: `${issuer.toUpperCase()}/oauth` }, 'identifier'],
    [{ identifier: service.deps.config.JWT_AUDIENCE }, 'identifier'],
    [{ identifier: '/invoices' }, 'identifier'],
    [{ identifier: 'https://a.example/#x' }, 'identifier'],
    [{ scopes: [{ permission: 'invoice:*' }] }, 'scopes.0.permission'],
    [{ scopes: [{ permission: 'installation:read' }] }, 'scopes.0.permission'],
    [{ scopes: [{ permission: 'a:b' }, { permission: 'a:b' }] }, 'scopes'],
    [{ client_ids: ['bwa_x'] }, 'client_ids.0'],
    [{ client_ids: [shop.client.id] }, 'client_ids.0'],
  ]
  for (const [more, field] of wrong)
    t.match(
      await firm.post(all, { ...invoices, ...more }),
      { status: 400, body: { errors: [{ field }] } },
      JSON.stringify(more),
    )
})
