import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import t from 'tap'
import { clientIdOf } from '../../src/oauth/clients/client-id.ts'
import { holderIn, newValue } from '../../src/oauth/token-value.ts'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { formOf } from '../pages/sign-in/page-client.ts'
import { expect, look } from '../tenancy/staff.ts'
import { openOperator } from './operator.ts'
import {
  type Browser,
  basicOf,
  callback,
  openApplication,
  openBrowser,
  postForm,
  request,
  signIn,
  tokensFor,
} from './relying-party.ts'

const service = await startService(t, { workers: false })
const operator = openOperator(t, service)
const { cli } = operator
const apply = (clients: object, more: object = {}) => operator.apply({ clients, ...more })
const scopes = ['openid', 'profile', 'email', 'organization', 'offline_access']
const web = { name: 'Logbook', redirect_uris: [callback], first_party: true, scopes }
const none = await apply({})
const applied = await apply({ web, app: { ...web, kind: 'spa' } })
const [, { client_id: clientId }] = applied.json().clients
const secret = (await cli('client:secret', '--json', '--client', clientId)).json().secret

const one = await service.signUp()
const other = await service.signUp()
const person = await colleague(service, one)
await expect(
  201,
  other.post(`/api/v1/tenants/${other.tenantId}/members/`, { user_id: person.id, roles: ['member'] }),
)
await person.switchTo(other.tenantId)
const own = (await expect(200, person.get('/api/v1/users/me/'))).memberships.find(
  ({ tenant }: { tenant: { id: string } }) => ![one.tenantId, other.tenantId].includes(tenant.id),
).tenant
const slugOf = async (tenantId: string) =>
  (await look(service, 'select slug from tenants where id = $1', [tenantId]))[0].slug

const open = async (id: string, withSecret?: string) => ({
  config: await oidc.discovery(
    new URL(service.deps.publicUrl()),
    id,
    undefined,
    withSecret ? oidc.ClientSecretBasic(withSecret) : oidc.None(),
    { execute: [oidc.allowInsecureRequests] },
  ),
})
const logbook = await open(clientId, secret)

/** Where a browser gets that is signed in, with the tokens that this gave. */
async function tokensIn(browser: Browser, more: Record<string, string>) {
  const { path, checks } = await request(logbook, more)
  const seen = await browser.visit(path)
  if (!seen.refresh) throw new Error(seen.text)
  return oidc.authorizationCodeGrant(logbook.config, new URL(seen.refresh!), checks)
}

const signedIn = async () => {
  const browser = openBrowser(service)
  await browser.visit('/sign-in/')
  await signIn(browser, person)
  return browser
}

t.test('a manifest gives clients their ids, and the operator their secrets', async (t) => {
  t.equal(none.code, 0)
  t.match(applied.json(), {
    clients: [
      { application: 'logbook', key: 'app' },
      { application: 'logbook', key: 'web', client_id: /^bwa_0{22}[0-9A-Za-z]{22}$/ },
    ],
    differences: [
      { change: 'added', kind: 'client', name: 'web' },
      { change: 'added', kind: 'client', name: 'app' },
    ],
  })
  t.match((await cli('manifest:list', '--json')).json().manifests, [{ clients: applied.json().clients }])
  t.match((await cli('manifest:list')).out, `Client logbook/web: ${clientId}`)
  t.equal(
    (await cli('client:secret', '--client', applied.json().clients[0].client_id)).code,
    1,
    'it is public',
  )
  t.equal((await cli('client:secret', '--client', `bwa_${'0'.repeat(44)}`)).code, 1)
  const wrong = await apply({ web: { ...web, redirect_uris: ['http://shop.example/'], scope: 'x' } })
  t.equal(wrong.code, 1)
  t.match(wrong.said, '/clients/web/redirect_uris/0')
  t.match(wrong.said, '/clients/web/scope')
  const byKey = { ...web, token_endpoint_auth_method: 'private_key_jwt' }
  const inside = await apply({ web: { ...byKey, jwks_uri: 'https://10.0.0.1/keys' }, app: byKey })
  t.equal(inside.code, 1)
  t.match(inside.said, '/clients/web/jwks_uri')
  t.match(inside.said, '/clients/app/jwks')
})

t.test(
  'a request names its organization by parameter or scope, and the same browser has several',
  async (t) => {
    const browser = await signedIn()
    const [first, second, third] = [
      await tokensIn(browser, { organization: one.tenantId }),
      await tokensIn(browser, { organization: await slugOf(other.tenantId) }),
      await tokensIn(browser, { scope: `openid offline_access organization organization:${own.slug}` }),
    ]
    const claims = [first, second, third].map((tokens) => tokens.claims()!)
    t.same(
      claims.map(({ tenant_id }) => tenant_id),
      [one.tenantId, other.tenantId, own.id],
    )
    t.match(claims[2]!.organization, { id: own.id, slug: own.slug, name: own.name })
    t.equal(new Set(claims.map(({ sid }) => sid)).size, 3)
    for (const tokens of [first, second, third]) {
      const info = await oidc.fetchUserInfo(logbook.config, tokens.access_token, person.id)
      t.equal(info.tenant_id, tokens.claims()!.tenant_id, 'none ends another one')
    }
    const next = await oidc.refreshTokenGrant(logbook.config, third.refresh_token!)
    t.equal(next.claims()!.tenant_id, own.id)
    const hint = { prompt: 'none', id_token_hint: first.id_token! }
    t.equal((await tokensIn(browser, hint)).claims()!.tenant_id, one.tenantId)
  },
)

t.test('a forged code that names another organization, or person, leads no token there', async (t) => {
  const browser = await signedIn()
  const tokens = await tokensIn(browser, { organization: one.tenantId, scope: 'openid offline_access' })
  const { client, userId, grantId } = holderIn(tokens.refresh_token!)!
  t.equal(client.tenantId, one.tenantId)
  for (const forged of [
    { client: { ...client, tenantId: other.tenantId }, userId, grantId },
    { client: { ...client, tenantId: other.tenantId }, userId: other.id, grantId },
    { client, userId: one.id, grantId },
    { client, userId, grantId: randomUUID() },
  ]) {
    const code = newValue(forged)
    const exchange = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      code_verifier: 'x'.repeat(43),
    }
    const basic = basicOf({ client: { id: clientId }, secret })
    const both = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token!, code }
    t.match(await postForm(service, '/oauth/token', exchange, basic), {
      status: 400,
      body: { error: 'invalid_grant' },
    })
    const renewed = await postForm(service, '/oauth/token', both, basic)
    if (renewed.status !== 200) t.match(renewed, { status: 400, body: { error: 'invalid_grant' } })
    else t.match(decodeJwt(renewed.body.id_token), { sub: person.id, tenant_id: one.tenantId })
    const known = await postForm(service, '/oauth/introspect', { token: tokens.access_token, code }, basic)
    if (known.body.active) t.match(known.body, { sub: person.id, tenant_id: one.tenantId })
  }
  const info = await oidc.fetchUserInfo(logbook.config, tokens.access_token, person.id)
  t.equal(info.tenant_id, one.tenantId, 'and ends nothing')
})

t.test('without an organization the person chooses one', async (t) => {
  const browser = await signedIn()
  const silent = await browser.visit((await request(logbook, { prompt: 'none' })).path)
  t.match(silent.refresh, /error=account_selection_required/)
  const { path, checks } = await request(logbook)
  const chooser = await browser.visit(path)
  t.equal(chooser.title, 'Choose an organisation')
  const left = await browser.send({ tenant_id: one.tenantId })
  const seen = await browser.visit(left.refresh!)
  const tokens = await oidc.authorizationCodeGrant(logbook.config, new URL(seen.refresh!), checks)
  t.equal(tokens.claims()!.tenant_id, one.tenantId)
})

t.test(
  'a consent is for the organization that its page named, whatever another tab chose since',
  async (t) => {
    const browser = await signedIn()
    await operator.keepConsents()
    const name = async (owner: typeof one) =>
      (await expect(200, owner.patch(`/api/v1/tenants/${owner.tenantId}/`, { name: owner.email }))).name
    const names = [await name(one), await name(other)]
    const asked = await request(logbook, { prompt: 'consent' })
    await browser.visit(asked.path)
    const chosen = await browser.send({ tenant_id: one.tenantId })
    const shown = await browser.visit(chosen.refresh!)
    t.ok(shown.text.includes(names[0]))
    const { action, hidden } = formOf(shown.text, ['decision'])
    await browser.visit('/sign-in/organisation/')
    await browser.send({ tenant_id: other.tenantId })
    const allowed = await browser.post(action, { ...hidden, decision: 'allow' })
    const seen = await browser.visit(allowed.refresh!)
    t.notMatch(seen.refresh ?? '', /code=/)
    t.ok(seen.text.includes(names[1]), 'the page names the other one now')
    const left = await browser.send({ decision: 'allow' })
    const answer = new URL((await browser.visit(left.refresh!)).refresh!)
    const tokens = await oidc.authorizationCodeGrant(logbook.config, answer, asked.checks)
    t.equal(tokens.claims()!.tenant_id, other.tenantId)
  },
)

t.test('a person with one organization need not choose', async (t) => {
  const browser = openBrowser(service)
  await browser.visit('/sign-in/')
  await signIn(browser, one)
  t.equal((await tokensIn(browser, {})).claims()!.tenant_id, one.tenantId)
})

t.test(
  'an organization of others is denied, and one that is not the own of a client is invalid',
  async (t) => {
    const browser = openBrowser(service)
    await browser.visit('/sign-in/')
    await signIn(browser, one)
    for (const organization of [other.tenantId, 'nowhere'])
      t.match(
        (await browser.visit((await request(logbook, { organization })).path)).refresh,
        /error=access_denied/,
      )
    const shop = await openApplication(service, one, { first_party: true })
    const answer = async (more: Record<string, string>) =>
      (await browser.visit((await request(shop, more)).path)).refresh
    t.match(await answer({ organization: other.tenantId }), /error=invalid_request/)
    t.match(
      await answer({ scope: `openid organization:${await slugOf(other.tenantId)}` }),
      /error=invalid_request/,
    )
    t.match(await answer({ organization: one.tenantId }), /[?&]code=/)
    t.match(await answer({ organization: await slugOf(one.tenantId) }), /[?&]code=/)
  },
)

t.test('owners and people see the grants of a manifest’s client, and end one', async (t) => {
  const browser = await signedIn()
  const tokens = await tokensIn(browser, { organization: one.tenantId })
  const grants = `/api/v1/oauth-grants/?client_id=${clientId}&user_id=${person.id}`
  const { results } = await expect(200, one.get(grants))
  t.match(results.at(-1), {
    client: { id: clientId, name: 'Logbook', kind: 'web' },
    tenant: { id: one.tenantId },
  })
  for (const { id } of results) await expect(204, one.delete(`/api/v1/oauth-grants/${id}/`))
  await t.rejects(oidc.fetchUserInfo(logbook.config, tokens.access_token, person.id))
  t.equal((await one.get(`/api/v1/oauth-clients/${clientId}/`)).status, 404, 'it is not the tenant’s')
})

t.test('the id of a manifest’s client has no other form', async (t) => {
  const alias = `bwa_${clientIdOf({ tenantId: one.tenantId, id: randomUUID() }).slice(4, 26)}${clientId.slice(26)}`
  const { path } = await request(logbook)
  const seen = await (await signedIn()).visit(path.replace(clientId, alias))
  t.match(seen, { status: 400, text: /invalid_client/ })
})

t.test('new keys of a manifest’s client void the consents', async (t) => {
  const { publicKey } = generateKeyPairSync('ed25519')
  const { kty, crv, x } = publicKey.export({ format: 'jwk' })
  const keyed = { ...web, token_endpoint_auth_method: 'private_key_jwt' }
  const sinceWhen = async () =>
    (await look(service, 'select max(consents_from) as at from manifest_clients'))[0].at
  await apply({ web, app: { ...web, kind: 'spa' }, keyed: { ...keyed, jwks: { keys: [{ kty, crv, x }] } } })
  const before = await sinceWhen()
  const renewed = await apply({
    web,
    app: { ...web, kind: 'spa' },
    keyed: { ...keyed, jwks: { keys: [{ kty, crv, x, kid: 'next' }] } },
  })
  t.equal(renewed.code, 0)
  t.ok((await sinceWhen()) > before)
})

t.test('a person who is removed, or a client that leaves the manifest, is refused', async (t) => {
  const browser = await signedIn()
  const [here, there] = [
    await tokensIn(browser, { organization: one.tenantId }),
    await tokensIn(browser, { organization: other.tenantId }),
  ]
  const { results } = await expect(200, one.get(`/api/v1/tenants/${one.tenantId}/members/?page_size=100`))
  const { id } = results.find(({ user }: { user: { id: string } }) => user.id === person.id)
  await expect(204, one.delete(`/api/v1/tenants/${one.tenantId}/members/${id}/`))
  await t.rejects(oidc.fetchUserInfo(logbook.config, here.access_token, person.id))
  await oidc.fetchUserInfo(logbook.config, there.access_token, person.id)
  const second = (await cli('client:secret', '--json', '--client', clientId)).json().secret
  await oidc.refreshTokenGrant(logbook.config, there.refresh_token!)
  t.not(second, secret, 'both work')
  const third = await cli('client:secret', '--client', clientId)
  t.equal(third.code, 1, 'two are the most')
  t.match(third.said, '--end-oldest')
  const fourth = await cli('client:secret', '--json', '--client', clientId, '--end-oldest')
  const byOldest = (await open(clientId, secret)).config
  await t.rejects(oidc.refreshTokenGrant(byOldest, there.refresh_token!), 'the older one has ended')
  logbook.config = (await open(clientId, second)).config
  const next = await oidc.fetchUserInfo(logbook.config, there.access_token, person.id)
  t.equal(next.sub, person.id)
  t.ok(
    (await oidc.tokenIntrospection((await open(clientId, fourth.json().secret)).config, there.access_token))
      .active,
  )
  await apply({ app: { ...web, kind: 'spa' } })
  await t.rejects(oidc.fetchUserInfo(logbook.config, there.access_token, person.id))
  await apply({ web, app: { ...web, kind: 'spa' } })
  await oidc.fetchUserInfo(logbook.config, there.access_token, person.id)
})

t.test('tokens of every tenant can be for the API of a manifest, which its clients ask about', async (t) => {
  const identifier = 'https://logbook.example.com'
  const description = 'Read the logs of your ships'
  const api = {
    identifier,
    name: 'Logs',
    scopes: [{ permission: 'log:read', description }],
    clients: ['guard'],
  }
  const parts = { resource_types: { log: { description: 'A log', actions: { read: 'Read it' } } } }
  const spa = { ...web, kind: 'spa' }
  const reading = { ...web, first_party: false, scopes: [...scopes, 'log:read'] }
  const clients = { web: reading, app: spa, guard: web }
  const own = { identifier, name: 'Own', scopes: [{ permission: 'log:read' }] }
  const earlier = await expect(201, other.post('/api/v1/oauth-resources/', own))
  const stored = await apply(clients, { ...parts, resources: { api } })
  t.match(stored.json().differences.slice(-2), [
    { change: 'added', kind: 'client', name: 'guard' },
    { change: 'added', kind: 'resource', name: 'api' },
  ])
  await operator.keepConsents()
  t.same((await cli('manifest:list', '--json')).json().manifests[0].resources, [identifier])
  const { client_id: guardId } = stored.json().clients.find(({ key }: { key: string }) => key === 'guard')
  const guard = {
    client: { id: guardId },
    secret: (await cli('client:secret', '--json', '--client', guardId)).json().secret,
  }
  const introspect = async (token: string, by: { client: { id: string }; secret: string }) =>
    (await postForm(service, '/oauth/introspect', { token }, basicOf(by))).body

  const browser = openBrowser(service)
  await browser.visit('/sign-in/')
  await signIn(browser, other)
  const asked = await request(logbook, {
    organization: other.tenantId,
    scope: 'openid log:read',
    resource: identifier,
  })
  const consent = await browser.visit(asked.path)
  t.ok(consent.text.includes(description))
  t.ok(consent.text.includes('Logs'))
  const left = await browser.send({ decision: 'allow' })
  const answer = new URL((await browser.visit(left.refresh!)).refresh!)
  const { access_token: token } = await oidc.authorizationCodeGrant(logbook.config, answer, asked.checks)
  t.match(decodeJwt(token), { aud: identifier, tenant_id: other.tenantId, scope: 'log:read' })
  t.match(await introspect(token, guard), { active: true, sub: other.id, tenant_id: other.tenantId })

  const shop = await openApplication(service, other, { first_party: true, scopes: ['openid', 'log:read'] })
  await expect(200, other.patch(`/api/v1/oauth-resources/${earlier.id}/`, { client_ids: [shop.client.id] }))
  t.same(
    await introspect(token, shop),
    { active: false },
    'a tenant’s resource with the same name asks about none',
  )
  const { tokens } = await tokensFor(service, shop, other, { scope: 'openid log:read', resource: identifier })
  t.match(await introspect(tokens.access_token, guard), { active: true, tenant_id: other.tenantId })
  const foreign = { identifier: 'https://own.example', name: 'Own', client_ids: [guardId] }
  t.equal((await other.post('/api/v1/oauth-resources/', foreign)).status, 400)
  t.match(await one.post('/api/v1/oauth-resources/', own), { status: 409, body: { code: 'name_taken' } })

  const faults = await apply(clients, {
    ...parts,
    resources: {
      api: { ...api, clients: ['guards'] },
      again: { ...api, scopes: [{ permission: 'log:raed' }], client_ids: [guardId] },
      service: { ...api, identifier: 'http://localhost/api' },
    },
  })
  t.equal(faults.code, 1)
  for (const at of [
    'api/clients/0',
    'again/identifier',
    'again/scopes/0/permission',
    'again/client_ids',
    'service/identifier',
  ])
    t.match(faults.said, `/resources/${at}`)
  const fleet = await operator.apply({
    application: 'fleet',
    resources: { api: { ...api, scopes: [], clients: [] } },
  })
  t.match(fleet.said, 'The application logbook has this identifier')

  await apply({ web, app: spa })
  t.match(await introspect(token, guard), { error: 'invalid_client' })
  t.match((await openBrowser(service).visit(asked.path)).refresh, /error=invalid_target/)
})
