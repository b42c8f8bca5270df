import { generateKeyPairSync } from 'node:crypto'
import * as oidc from 'openid-client'
import t from 'tap'
import { metadataOf } from '../../src/oauth/client-metadata.ts'
import type { UsableClient } from '../../src/oauth/clients/store.ts'
import { whyNotOffered } from '../../src/oauth/offered.ts'
import { readConfig } from '../../src/settings/config.ts'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { formOf } from '../pages/sign-in/page-client.ts'
import { eventsOf, expect, look } from '../tenancy/staff.ts'
import { invalidGrant, openApplication, openBrowser, request, tokensFor } from './relying-party.ts'

const service = await sharedService(t, { workers: false })
const all = '/api/v1/oauth-clients/'
const callback = 'https://app.example.com/callback'
const owner = await service.signUp()
const admin = await colleague(service, owner, 'admin')
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const [publicKey, secretKey] = [pair.publicKey, pair.privateKey].map((key) => key.export({ format: 'jwk' }))
const device = { kind: 'device', redirect_uris: [] }
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const signed = { token_endpoint_auth_method: 'private_key_jwt' }
const make = (more: object = {}) =>
  expect(201, owner.post(all, { name: 'Shop', redirect_uris: [callback], ...more }))

t.test('a client is registered with what its kind needs, read, listed, changed and deleted', async (t) => {
  const other = await service.signUp()
  const web = await expect(201, other.post(all, { name: 'Shop', redirect_uris: [callback] }))
  t.match(web, {
    id: /^bwa_[0-9A-Za-z]{44}$/,
    name: 'Shop',
    kind: 'web',
    redirect_uris: [callback],
    post_logout_redirect_uris: [],
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'client_secret_basic',
    id_token_signed_response_alg: 'RS256',
    require_pkce: false,
    first_party: false,
    groups: null,
    is_active: true,
    created_by: other.id,
    last_used_at: null,
  })
  const native = {
    name: 'App',
    kind: 'native',
    redirect_uris: ['com.example.app:/callback', 'http://[::1]/'],
  }
  t.match(await expect(201, other.post(all, native)), {
    token_endpoint_auth_method: 'none',
    require_pkce: true,
  })
  const at = `${all}${web.id}/`
  const read = await other.get(at)
  t.same(read.body, web)
  t.same((await expect(200, other.get(all))).count, 2)
  const changed = await expect(200, other.patch(at, { scopes: ['openid', 'groups'], groups: 'both' }))
  t.match(changed, { scopes: ['openid', 'groups'], groups: 'both', name: 'Shop' })
  const headers = { 'If-Match': String(read.headers.get('etag')) }
  t.match(await other.delete(at, { headers }), { status: 412 }, 'it has changed since it was read')
  await expect(204, other.delete(at))
  t.equal((await other.get(at)).status, 404)
  t.same(await eventsOf(service, other.tenantId, 'application.'), [
    'application.client_created',
    'application.client_created',
    'application.client_updated',
    'application.client_deleted',
  ])
  const [, updated] = (await expect(200, other.get('/api/v1/audit-log/'))).results
  t.match(updated, {
    action: 'oauth_client:update',
    target: { type: 'oauth_client' },
    changes: { groups: { before: null, after: 'both' } },
  })
})

t.test('fields that do not go together are refused', async (t) => {
  const wrong: [object, RegExp][] = [
    [{ redirect_uris: [] }, /^redirect_uris$/],
    [{ redirect_uris: ['http://app.example.com/'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: ['https://app.example.com/#x'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: ['https://*.example.com/'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: ['https://a@app.example.com/'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: ['http://localhost@evil.example/'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: ['http://localhost.evil.example/'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: ['com.example.app:/callback'] }, /^redirect_uris\.0$/],
    [{ kind: 'native', redirect_uris: ['app:/callback'] }, /^redirect_uris\.0$/],
    [{ kind: 'native', redirect_uris: ['javascript:alert(1)'] }, /^redirect_uris\.0$/],
    [{ redirect_uris: Array(51).fill(callback) }, /^redirect_uris$/],
    [{ kind: 'spa', token_endpoint_auth_method: 'client_secret_basic' }, /^token_endpoint_auth_method$/],
    [{ token_endpoint_auth_method: 'none' }, /^token_endpoint_auth_method$/],
    [{ kind: 'spa', require_pkce: false }, /^require_pkce$/],
    [{ kind: 'device' }, /^redirect_uris$/],
    [{ ...device, grant_types: ['authorization_code'] }, /^grant_types$/],
    [{ ...device, token_endpoint_auth_method: 'client_secret_basic' }, /^token_endpoint_auth_method$/],
    [{ ...device, require_pkce: false }, /^require_pkce$/],
    [{ grant_types: ['authorization_code', deviceGrant] }, /^grant_types$/],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, /^jwks$/],
    [{ jwks: { keys: [publicKey] } }, /^jwks$/],
    [{ ...signed, jwks: { keys: [] } }, /^jwks\.keys$/],
    [{ ...signed, jwks: { keys: [secretKey] } }, /^jwks\.keys\.0$/],
    [{ ...signed, jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }, /^jwks\.keys\.0$/],
    [{ ...signed, jwks: { keys: [{ ...publicKey, alg: 'RS256' }] } }, /^jwks\.keys\.0$/],
    [{ ...signed, jwks: { keys: [{ ...publicKey, alg: 'HS256' }] } }, /^jwks\.keys\.0\.alg$/],
    [{ ...signed, jwks: { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB' }] } }, /^jwks\.keys\.0$/],
    [{ ...signed, jwks_uri: 'https://127.0.0.1/keys' }, /^jwks_uri$/],
    [{ ...signed, jwks_uri: 'http://keys.example.com/' }, /^jwks_uri$/],
    [{ ...signed, jwks_uri: 'https://metadata.internal/' }, /^jwks_uri$/],
    [{ ...signed, jwks: { keys: [publicKey] }, jwks_uri: 'https://keys.example.com/' }, /^jwks_uri$/],
    [{ jwks_uri: 'https://keys.example.com/' }, /^jwks_uri$/],
    [{ grant_types: ['refresh_token'] }, /^grant_types$/],
    [{ scopes: ['openid', 'oauth_client:fly'] }, /^scopes\.1$/],
    [{ scopes: ['openid', 'document:*'] }, /^scopes\.1$/],
    [{ scopes: ['openid', 'installation:read'] }, /^scopes\.1$/],
    [{ scopes: [] }, /^scopes$/],
  ]
  for (const [more, field] of wrong)
    t.match(
      await owner.post(all, { name: 'Shop', redirect_uris: [callback], ...more }),
      { status: 400, body: { errors: [{ field }] } },
      JSON.stringify(more),
    )
})

t.test('a secret is shown once, and a client has two at most', async (t) => {
  const client = await make()
  const at = `${all}${client.id}/secrets/`
  const first = await expect(201, owner.post(at))
  t.match(first, { secret: /^bws_[0-9A-Za-z]{49}$/, last_used_at: null })
  const second = await expect(201, owner.post(at))
  t.match(await owner.post(at), { status: 409, body: { code: 'limit_reached' } })
  const listed = (await expect(200, owner.get(at))).results
  t.same(
    listed.map(({ id }: { id: string }) => id),
    [first.id, second.id],
  )
  t.notMatch(JSON.stringify(listed), /bws_/)
  await expect(204, owner.delete(`${at}${first.id}/`))
  t.equal((await owner.delete(`${at}${first.id}/`)).status, 404)
  t.notMatch(JSON.stringify((await owner.get('/api/v1/audit-log/')).body), /bws_/)
  const spa = await make({ kind: 'spa' })
  t.match(await owner.post(`${all}${spa.id}/secrets/`), { status: 409, body: { code: 'invalid_state' } })
})

t.test(
  'owners alone make a client first-party, and an admin who changes where it answers ends that',
  async (t) => {
    t.match(await admin.post(all, { name: 'Shop', redirect_uris: [callback], first_party: true }), {
      status: 403,
    })
    const client = await make({ first_party: true })
    const at = `${all}${client.id}/`
    t.match(await expect(200, admin.patch(at, { name: 'Store' })), { first_party: true })
    t.match(await expect(200, admin.patch(at, { require_par: true })), { first_party: true })
    const moved = { redirect_uris: ['https://evil.example/'] }
    t.match(await expect(200, admin.patch(at, moved)), { ...moved, first_party: false })
    t.equal((await admin.patch(at, { first_party: true })).status, 403)
    t.match(await expect(200, owner.patch(at, { first_party: true })), { first_party: true })
    await expect(201, admin.post(`${at}secrets/`))
    t.match(
      await expect(200, owner.get(at)),
      { first_party: false },
      'a secret of their own is another way in',
    )
    await expect(200, owner.patch(at, { first_party: true }))
    const keys = { ...signed, jwks: { keys: [publicKey] } }
    t.match(await expect(200, admin.patch(at, keys)), { first_party: false }, 'and so is a key')
    t.match((await admin.post(`${at}secrets/`)).body, { current_state: 'private_key_jwt' })
  },
)

t.test('a client has at most the permissions of its last editor', async (t) => {
  const beyond = { scopes: ['openid', 'tenant:delete'] }
  t.equal((await admin.post(all, { name: 'Shop', redirect_uris: [callback], ...beyond })).status, 403)
  const client = await make(beyond)
  const at = `${all}${client.id}/`
  t.equal((await admin.patch(at, { redirect_uris: ['https://evil.example/'] })).status, 403)
  t.equal((await admin.post(`${at}secrets/`)).status, 403)
  t.match(
    await expect(200, admin.patch(at, { is_active: false })),
    { is_active: false },
    'it can be switched off',
  )
})

t.test('members do not see clients, and no one sees those of another tenant', async (t) => {
  const client = await make()
  const at = `${all}${client.id}/`
  const member = await colleague(service, owner)
  for (const path of [all, at, `${at}secrets/`]) t.equal((await member.get(path)).status, 403)
  const stranger = await service.signUp()
  for (const path of [at, `${at}secrets/`]) t.equal((await stranger.get(path)).status, 404)
  t.equal((await stranger.patch(at, { name: 'Mine' })).status, 404)
  t.equal((await stranger.delete(at)).status, 404)
  t.equal((await stranger.post(`${at}secrets/`)).status, 404)
  for (const id of ['bwa_', 'bwa_x', `bwa_${'z'.repeat(44)}`, '0'.repeat(48)])
    t.equal((await owner.get(`${all}${id}/`)).status, 404)
})

t.test(
  'the provider is off without pages, without an address in production, and with another issuer',
  async (t) => {
    const on = { NODE_ENV: 'test', PUBLIC_URL: 'https://id.example.com' }
    const why = (env: Record<string, string>) => whyNotOffered(readConfig(env))
    t.equal(why(on), null)
    t.equal(why({ NODE_ENV: 'test' }), null, 'in development it is localhost')
    t.equal(why({ ...on, JWT_ISSUER: on.PUBLIC_URL }), null)
    t.match(why({ ...on, HOSTED_PAGES: 'false', CONSOLE_ENABLED: 'false' }), /HOSTED_PAGES/)
    t.match(why({ ...on, JWT_ISSUER: 'https://other.example.com' }), /JWT_ISSUER/)
    t.match(whyNotOffered({ ...readConfig({ NODE_ENV: 'test' }), production: true }), /PUBLIC_URL/)
  },
)

t.test('without RS256 a client gets ID tokens of the algorithm of the tokens', async (t) => {
  const row = {
    secret_hashes: [],
    id_token_signed_response_alg: 'RS256',
    token_endpoint_auth_method: 'none',
    tenant_id: owner.tenantId,
    id: owner.id,
  }
  const algorithm = (offered: string[]) =>
    metadataOf(row as unknown as UsableClient, offered).id_token_signed_response_alg
  t.equal(algorithm(['RS256', 'ES256']), 'RS256')
  t.equal(algorithm(['ES256']), 'ES256')
})

const own = '/api/v1/users/me/authorizations/'
const grants = '/api/v1/oauth-grants/'
const offline = { scope: 'openid email offline_access' }

t.test('people see the applications that they are connected to, and disconnect one', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm, { name: 'Planner' })
  const person = await colleague(service, firm)
  const stranger = await colleague(service, firm)
  const first = await tokensFor(service, app, person, offline)
  const second = await tokensFor(service, app, person)
  const { results, count } = await expect(200, person.get(own))
  t.equal(count, 2)
  const [away, here] = results
  t.match(away, {
    client: { id: app.client.id, name: 'Planner', kind: 'web', first_party: false },
    tenant: { id: firm.tenantId },
    scopes: ['openid', 'email', 'offline_access'],
  })
  t.same(here.scopes, ['openid', 'profile', 'email'])
  const rows = await look(service, 'select grant_id, session_id from oauth_models where user_id = $1', [
    person.id,
  ])
  for (const { grant_id, session_id } of rows)
    t.notOk([grant_id, session_id].includes(away.id), 'an id of its own')
  const next = await expect(200, person.get(`${own}?page_size=1`))
  t.equal(
    (await expect(200, person.get(new URL(next.next).pathname + new URL(next.next).search))).results[0].id,
    here.id,
  )

  service.advance(60_000)
  const refreshed = await oidc.refreshTokenGrant(app.config, first.tokens.refresh_token!)
  t.ok((await expect(200, person.get(own))).results[0].last_used_at > away.last_used_at)

  t.same((await expect(200, stranger.get(own))).results, [])
  t.equal((await stranger.delete(`${own}${away.id}/`)).status, 404)
  const ends = await Promise.all(Array.from({ length: 20 }, () => person.delete(`${own}${away.id}/`)))
  t.same(
    ends.map(({ status }) => status).sort(),
    [204, ...Array(19).fill(404)],
    'one of many at a time ends it',
  )
  await t.rejects(oidc.refreshTokenGrant(app.config, refreshed.refresh_token!), invalidGrant)
  await t.rejects(oidc.fetchUserInfo(app.config, refreshed.access_token, person.id))
  t.same(
    (await expect(200, person.get(own))).results.map(({ id }: { id: string }) => id),
    [here.id],
  )
  t.ok(await oidc.fetchUserInfo(app.config, second.tokens.access_token, person.id), 'the other browser stays')
  const { path } = await request(app, { prompt: 'none' })
  t.match((await second.browser.visit(path)).refresh, /error=consent_required/, 'the consent is forgotten')

  await expect(204, person.delete(`${own}${here.id}/`))
  await t.rejects(oidc.fetchUserInfo(app.config, second.tokens.access_token, person.id))
  t.equal(
    (await second.browser.visit('/sign-in/')).title,
    'You are signed in',
    'the session of the browser stays',
  )
  const names = await eventsOf(service, firm.tenantId, 'application.grant_revoked')
  t.equal(names.length, 2)
  const [audited] = (await expect(200, firm.get('/api/v1/audit-log/'))).results
  t.match(audited, {
    action: 'oauth_grant:revoke_own',
    actor: { id: person.id },
    target: { type: 'oauth_grant', id: here.id },
  })
})

t.test('owners, admins and auditors see the grants of the tenant; owners and admins end them', async (t) => {
  const firm = await service.signUp()
  const [one, two] = [await openApplication(service, firm), await openApplication(service, firm)]
  const [manager, auditor, person] = [
    await colleague(service, firm, 'admin'),
    await colleague(service, firm, 'auditor'),
    await colleague(service, firm),
  ]
  const { tokens } = await tokensFor(service, one, person, offline)
  await tokensFor(service, two, person)
  await tokensFor(service, two, manager)
  const idsOf = async (query = '') => {
    const page = await expect(200, auditor.get(grants + query))
    return page.results
  }
  t.match((await idsOf())[0], { user: { id: person.id, email: person.email }, client: { name: 'Shop' } })
  t.equal((await idsOf()).length, 3)
  t.equal((await idsOf(`?client_id=${two.client.id}`)).length, 2)
  t.equal((await idsOf(`?user_id=${person.id}&client_id=${two.client.id}`)).length, 1)
  t.match(await expect(200, auditor.get(`${grants}?client_id=${two.client.id}&page_size=1`)), {
    count: 2,
    results: { length: 1 },
  })
  for (const wrong of ['client_id=x', 'user_id=x'])
    t.equal((await auditor.get(`${grants}?${wrong}`)).status, 400)

  await tokensFor(service, one, firm)
  const [above] = await idsOf(`?user_id=${firm.id}`)
  t.match((await manager.delete(`${grants}${above.id}/`)).body, { code: 'permission_denied' }, 'of an owner')
  await expect(204, firm.delete(`${grants}${above.id}/`))
  const [grant] = await idsOf(`?client_id=${one.client.id}`)
  const at = `${grants}${grant.id}/`
  t.equal((await person.get(grants)).status, 403)
  t.equal((await person.delete(at)).status, 403)
  t.equal((await auditor.delete(at)).status, 403)
  t.equal((await owner.delete(at)).status, 404, 'of another tenant')
  t.same((await expect(200, owner.get(`${grants}?user_id=${person.id}`))).results, [])
  await expect(204, manager.delete(at))
  await t.rejects(oidc.refreshTokenGrant(one.config, tokens.refresh_token!), invalidGrant)
  t.equal((await manager.delete(at)).status, 404)

  await expect(204, firm.delete(`${all}${two.client.id}/`))
  t.match(
    (await idsOf())[0].client,
    { id: two.client.id, name: '', kind: null },
    'the application is deleted',
  )
  await expect(204, firm.delete(`${grants}${(await idsOf())[0].id}/`))
})

t.test('the pages of sign-in show a person the same, with buttons', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm, { name: 'Planner' })
  const person = await colleague(service, firm)
  const { tokens, browser } = await tokensFor(service, app, person, offline)
  t.match((await browser.visit('/sign-in/')).text, /Connected applications/)
  const other = await openApplication(service, firm, { name: 'Notes' })
  await tokensFor(service, app, person, offline)
  await tokensFor(service, other, person)
  const { text } = await browser.visit('/sign-in/applications/')
  t.equal(text.match(/Disconnect Planner/g)!.length, 1, 'one entry for an application')
  t.match(text, /<span>Planner<\/span> <small>[^<]+ · since [^<]+, 2 sign-ins<\/small>/)
  const [, id = ''] = /name="id" value="([^"]+)">Disconnect Planner/.exec(text)!
  t.notMatch((await browser.send({ id })).text, /Planner/)
  t.match(browser.seen().text, /Disconnect Notes/)
  t.match((await expect(200, person.get(own))).results, [{ client: { name: 'Notes' } }])
  t.equal((await browser.send({ id })).title, 'Connected applications', 'ended already')
  for (const wrong of ['x', ''])
    t.equal(
      (await browser.post('/sign-in/applications/', { ...formOf(text, ['id']).hidden, id: wrong })).status,
      400,
    )
  await t.rejects(oidc.refreshTokenGrant(app.config, tokens.refresh_token!), invalidGrant)
  const strange = openBrowser(service)
  t.equal((await strange.visit('/sign-in/applications/')).title, 'Sign in')
})
