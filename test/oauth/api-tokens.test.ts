import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import t from 'tap'
import { createReadiness } from '../../src/pages/health.ts'
import { actions } from '../../src/policy-engine/catalogue/actions.ts'
import { listRoutes } from '../../src/start/app.ts'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect } from '../tenancy/staff.ts'
import {
  type Application,
  authorize,
  openApplication,
  openBrowser,
  openMachine,
  request,
  tokensFor,
} from './relying-party.ts'

const service = await sharedService(t, { workers: false })
const issuer = service.deps.publicUrl()
const api = `${issuer}/api/v1`
const me = '/api/v1/users/me/'
const firm = await service.signUp()
const members = `/api/v1/tenants/${firm.tenantId}/members/`
const scopes = ['openid', 'profile', 'email', 'offline_access', 'member:list', 'profile:read', 'invoice:read']
const app = await openApplication(service, firm, { scopes })
/** What the library for relying parties throws. */
const invalidTarget = { error: 'invalid_target' } as unknown as Error

/** The tokens of a person for the API of the service. Only a request for an ID token has a nonce. */
async function granted(person: Client, scope: string, by: Application = app) {
  if (scope.includes('openid')) return (await tokensFor(service, by, person, { scope, resource: api })).tokens
  const { path, checks } = await request(by, { scope, resource: api })
  const { expectedNonce, ...others } = checks
  const answer = await authorize(openBrowser(service), person, path.replace(`&nonce=${expectedNonce}`, ''))
  return oidc.authorizationCodeGrant(by.config, answer, others)
}
const call = (token: string, path: string, method = 'GET', body?: object) =>
  service.call(method, path, { token, ...(body && { body }) })

t.test('a token for the API is a JWT that says for whom and for what', async (t) => {
  const person = await colleague(service, firm)
  const { access_token: token, ...tokens } = await granted(
    person,
    'openid member:list invoice:read tenant:delete',
  )
  t.match(tokens, { expires_in: 900, scope: 'openid member:list' }, 'within the client and the member')
  t.match(decodeProtectedHeader(token), { typ: 'at+jwt', alg: 'ES256' })
  const verified = await jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)))
  const [{ id: gid }] = (await expect(200, person.get('/api/v1/users/me/authorizations/'))).results
  t.match(verified.payload, {
    iss: issuer,
    aud: api,
    sub: person.id,
    client_id: app.client.id,
    scope: 'openid member:list',
    tenant_id: firm.tenantId,
    gid,
    acr: 'aal1',
  })
  t.equal(verified.protectedHeader.kid, service.deps.keys.now().keys[0]!.kid)
  t.match(await call(token, members), { status: 200 })
  t.match(await call(token, me), { status: 200, body: { id: person.id, scopes: ['openid', 'member:list'] } })
  await t.rejects(oidc.fetchUserInfo(app.config, token, person.id), 'userinfo takes no token of an API')
  for (const base of ['/access/v1/evaluation', '/console/session/'])
    t.not((await call(token, base, 'POST', {})).status, 200)
})

t.test('the profile shows the tenant of the token, and what the scopes say', async (t) => {
  const person = await colleague(service, firm)
  await person.post('/api/v1/tenants/', { name: 'Mine' })
  const plain = (await call((await granted(person, 'openid')).access_token, me)).body
  t.same(Object.keys(plain).sort(), ['current_tenant', 'id', 'roles', 'scopes'])
  t.equal(plain.current_tenant.id, firm.tenantId)
  const full = (await call((await granted(person, 'openid profile email')).access_token, me)).body
  t.match(full, { email: person.email, first_name: String })
  t.notMatch(JSON.stringify(full), /Mine/)
  const named = await granted(person, 'profile:read')
  t.equal((await call(named.access_token, me)).status, 200)
  t.equal((await call((await granted(person, 'member:list')).access_token, me)).status, 403)
})

t.test(
  'with the one scope for it, applications and machines read who they act for, and do nothing else',
  async (t) => {
    const owner = await service.signUp()
    const other = await openApplication(service, owner, { scopes })
    const machine = await openMachine(service, owner, { scopes: ['profile:read'] })
    const all = [
      await granted(owner, 'openid', other),
      await oidc.clientCredentialsGrant(machine.config),
    ].map((tokens) => tokens.access_token)
    const routes = listRoutes(service.deps, createReadiness(service.deps.db, service.deps.clock))
    const open: string[] = []
    for (const { method, path, action, token } of routes.flatMap((one) =>
      all.map((token) => ({ ...one, token })),
    )) {
      if (action === 'public' || !actions[action]) continue
      const answer = await call(
        token,
        path.replaceAll(/:\w+/g, owner.tenantId),
        method,
        method === 'GET' ? undefined : {},
      )
      const code = answer.body?.code
      const reasons = JSON.stringify(answer.body?.reasons ?? '')
      const closed =
        code === 'application_not_allowed' || (code === 'permission_denied' && /scope_missing/.test(reasons))
      if (!closed) open.push(`${method} ${path} ${answer.status}`)
    }
    t.same(open, ['GET /api/v1/users/me 200', 'GET /api/v1/users/me 200'])
  },
)

t.test('a refusal says what is missing, and where a token comes from', async (t) => {
  const { access_token: token } = await granted(await colleague(service, firm), 'openid')
  const metadata = `${issuer}/.well-known/oauth-protected-resource/api/v1`
  const refused = await call(token, members)
  t.match(refused, { status: 403, body: { code: 'permission_denied', reasons: [{ code: 'scope_missing' }] } })
  t.equal(
    refused.headers.get('www-authenticate'),
    `Bearer error="insufficient_scope", scope="member:list", resource_metadata="${metadata}"`,
  )
  const unknown = await service.call('GET', me)
  t.equal(unknown.headers.get('www-authenticate'), `Bearer resource_metadata="${metadata}"`)
  const { body, headers } = await service.call('GET', new URL(metadata).pathname)
  const { dpop_signing_alg_values_supported: algorithms, ...named } = body
  t.same(named, { resource: api, authorization_servers: [issuer], bearer_methods_supported: ['header'] })
  t.ok(algorithms.includes('ES256') && !algorithms.some((one: string) => one.startsWith('HS')))
  t.equal(headers.get('access-control-allow-origin'), '*')
  const session = await call(token, '/api/v1/auth/sessions/')
  t.match(session, { status: 403, body: { code: 'application_not_allowed' } })
  t.equal((await call(token, `/api/v1/tenants/${crypto.randomUUID()}/members/`)).status, 404)
})

t.test('a token works as long as all that stands behind it', async (t) => {
  const owner = await service.signUp()
  const all = `/api/v1/tenants/${owner.tenantId}/`
  const fresh = async (role = 'member') => {
    const by = await openApplication(service, owner, { scopes })
    const person = await colleague(service, owner, role)
    const tokens = await granted(person, 'openid member:list offline_access', by)
    t.equal((await call(tokens.access_token, `${all}members/`)).status, 200)
    return { by, person, tokens, token: tokens.access_token }
  }
  const isOver = async (
    { by, token }: Awaited<ReturnType<typeof fresh>>,
    why: string,
    statuses: number[] = [401],
  ) => {
    t.ok(statuses.includes((await call(token, `${all}members/`)).status), why)
    const stated = await oidc.tokenIntrospection(by.config, token).catch(() => ({ active: false }))
    t.equal(stated.active, false, `${why}, and introspection says so`)
  }
  const revoked = await fresh()
  await oidc.tokenRevocation(revoked.by.config, revoked.token)
  await isOver(revoked, 'revoked')
  await t.rejects(oidc.refreshTokenGrant(revoked.by.config, revoked.tokens.refresh_token!))

  const disconnected = await fresh()
  const own = '/api/v1/users/me/authorizations/'
  const [{ id }] = (await expect(200, disconnected.person.get(own))).results
  await expect(204, disconnected.person.delete(`${own}${id}/`))
  await isOver(disconnected, 'disconnected')

  const left = await fresh()
  await expect(200, left.person.post('/api/v1/auth/logout-all/'))
  await isOver(left, 'signed out everywhere')

  const disabled = await fresh()
  await expect(200, owner.patch(`/api/v1/oauth-clients/${disabled.by.client.id}/`, { is_active: false }))
  await isOver(disabled, 'the client is disabled')

  const removed = await fresh()
  const [{ id: member }] = (await expect(200, owner.get(`${all}members/?user_id=${removed.person.id}`)))
    .results
  await expect(204, owner.delete(`${all}members/${member}/`))
  await isOver(removed, 'the person was removed', [401, 403])
  await expect(201, owner.post(`${all}members/`, { user_id: removed.person.id, roles: ['member'] }))
  await isOver(removed, 'also after the person is a member again')

  const narrowed = await fresh()
  await expect(200, owner.patch(`/api/v1/oauth-clients/${narrowed.by.client.id}/`, { scopes: ['openid'] }))
  t.equal((await call(narrowed.token, `${all}members/`)).status, 403, 'the client lost the scope')

  const suspended = await fresh()
  await expect(200, owner.post(`${all}suspend/`))
  await isOver(suspended, 'the tenant is suspended', [403])
})

t.test('scopes shrink with the member at a refresh, and grow by consent alone', async (t) => {
  const admin = await colleague(service, firm, 'admin')
  const by = await openApplication(service, firm, { scopes: [...scopes, 'role:create'] })
  const browser = openBrowser(service)
  const first = await request(by, { scope: 'openid role:create member:list', resource: api })
  const answer = await authorize(browser, admin, first.path)
  const tokens = await oidc.authorizationCodeGrant(by.config, answer, first.checks)
  t.equal(tokens.scope, 'openid role:create member:list')
  const [{ id }] = (await expect(200, firm.get(`${members}?user_id=${admin.id}`))).results
  await expect(200, firm.patch(`${members}${id}/`, { roles: ['member'] }))
  t.equal(
    (await call(tokens.access_token, `/api/v1/tenants/${firm.tenantId}/roles/`, 'POST', { name: 'X' }))
      .status,
    403,
  )
  const renewed = await oidc.refreshTokenGrant(by.config, tokens.refresh_token!)
  t.equal(renewed.scope, 'openid member:list')
  const none = async (more: Record<string, string>) =>
    (await browser.visit((await request(by, { prompt: 'none', ...more })).path)).refresh
  t.match(await none({ scope: 'openid member:list', resource: api }), /[?&]code=/, 'the consent is kept')
  t.match(await none({ scope: 'openid invoice:read profile:read', resource: api }), /error=consent_required/)
  t.match(await none({ scope: 'openid member:list' }), /[?&]code=/)
  const page = await browser.visit((await request(by, { scope: 'openid profile:read', resource: api })).path)
  t.match(page.text, /see your profile/)
})

t.test('a resource is bound when it is authorized, and belongs to the tenant', async (t) => {
  const invoices = 'https://invoices.example.com'
  const scope = { permission: 'invoice:read', description: 'See your invoices' }
  const guard = await openApplication(service, firm, { name: 'Guard' })
  const named = { identifier: invoices, name: 'Invoices', scopes: [scope], client_ids: [guard.client.id] }
  await expect(201, firm.post('/api/v1/oauth-resources/', named))
  await expect(
    201,
    firm.post('/api/v1/oauth-resources/', { identifier: 'https://other.example', name: 'Other' }),
  )
  const stranger = await service.signUp()
  const foreign = await openApplication(service, stranger, { scopes })
  const refused = async (by: Application, resource: string) =>
    (await openBrowser(service).visit((await request(by, { resource })).path)).refresh
  t.match(await refused(foreign, invoices), /error=invalid_target/, 'of another tenant')
  t.match(await refused(app, 'https://unknown.example'), /error=invalid_target/)

  const browser = openBrowser(service)
  const { path, checks } = await request(app, {
    scope: 'openid invoice:read member:list',
    resource: invoices,
  })
  const person = await colleague(service, firm, 'admin')
  const answer = await authorize(browser, person, path)
  const exchange = (resource: string) => oidc.authorizationCodeGrant(app.config, answer, checks, { resource })
  const tokens = await exchange(invoices)
  t.match(decodeJwt(tokens.access_token), { aud: invoices, scope: 'invoice:read' })
  t.equal((await call(tokens.access_token, me)).status, 401, 'it is not for the API')
  await t.rejects(oidc.refreshTokenGrant(app.config, tokens.refresh_token!, { resource: api }), invalidTarget)
  const stated = await oidc.tokenIntrospection(guard.config, tokens.access_token)
  t.match(stated, {
    active: true,
    aud: invoices,
    scope: 'invoice:read',
    sub: person.id,
    tenant_id: firm.tenantId,
  })
  const outsider = await openApplication(service, firm, { name: 'Outsider' })
  for (const by of [outsider, foreign])
    t.same(await oidc.tokenIntrospection(by.config, tokens.access_token), { active: false })
  const [head, body, signature] = tokens.access_token.split('.')
  const forged = [head, body, signature!.split('').reverse().join('')].join('.')
  t.same(await oidc.tokenIntrospection(guard.config, forged), { active: false })
  await expect(200, firm.patch(`/api/v1/oauth-clients/${app.client.id}/`, { is_active: false }))
  t.same(await oidc.tokenIntrospection(guard.config, tokens.access_token), { active: false })
  await expect(200, firm.patch(`/api/v1/oauth-clients/${app.client.id}/`, { is_active: true }))
})

t.test('a code for one resource is exchanged for no other', async (t) => {
  const person = await colleague(service, firm)
  const { path, checks } = await request(app, { scope: 'openid member:list', resource: api })
  const answer = await authorize(openBrowser(service), person, path)
  await t.rejects(
    oidc.authorizationCodeGrant(app.config, answer, checks, { resource: 'https://invoices.example.com' }),
    invalidTarget,
  )
})
