import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import * as oidc from 'openid-client'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'
import {
  authorize,
  basicOf,
  callback,
  keyOf,
  openApplication,
  openBrowser,
  openMachine,
  postForm,
  request,
} from './relying-party.ts'

const service = await startService(t, { workers: false, env: { FEDERATION_ALLOW_PRIVATE: 'true' } })
const owner = await service.signUp()
const member = await colleague(service, owner)
const issuer = service.deps.publicUrl()

const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  postForm(service, path, fields, headers)

const callWith = (token: string, path: string, method: string, body?: object) =>
  service.call(method, path, { token, ...(body && { body }) })

t.test('an application pushes its request, and the browser brings its name alone', async (t) => {
  const app = await openApplication(service, owner, { require_par: true })
  const browser = openBrowser(service)
  const plain = await request(app)
  t.match((await browser.visit(plain.path)).refresh, /error=invalid_request/, 'it has to push')
  const { path, checks } = await request(app, {}, oidc.buildAuthorizationUrlWithPAR)
  t.same([...new URL(path, issuer).searchParams.keys()].sort(), ['client_id', 'request_uri'])
  const answer = await authorize(browser, member, path)
  t.match((await oidc.authorizationCodeGrant(app.config, answer, checks)).claims(), { sub: member.id })
  t.match((await browser.visit(path)).text, /invalid_request_uri/, 'it is used once')

  const late = await request(app, {}, oidc.buildAuthorizationUrlWithPAR)
  service.advance(61_000)
  t.match((await browser.visit(late.path)).text, /invalid_request_uri/, 'it lasts 60 s')
  const other = await openApplication(service, owner)
  const swapped = (await request(app, {}, oidc.buildAuthorizationUrlWithPAR)).path.replace(
    app.client.id,
    other.client.id,
  )
  const seen = await browser.visit(swapped)
  t.equal(seen.status, 400)
  t.match(seen.text, /invalid_request_uri/, 'to another client it does not exist')
})

t.test('a pushed request binds the API that it names', async (t) => {
  const app = await openApplication(service, owner, { scopes: ['openid', 'member:list'] })
  const resource = `${issuer}/api/v1`
  const asked = { scope: 'openid member:list', resource }
  const { path, checks } = await request(app, asked, oidc.buildAuthorizationUrlWithPAR)
  const answer = await authorize(openBrowser(service), member, `${path}&resource=https://other.example`)
  const tokens = await oidc.authorizationCodeGrant(app.config, answer, checks)
  t.equal(tokens.scope, 'openid member:list')
  t.equal((await callWith(tokens.access_token, '/api/v1/users/me/', 'GET')).status, 200)
  const other = { ...asked, resource: 'https://other.example' }
  const refused = { error: 'invalid_target' } as unknown as Error
  await t.rejects(request(app, other, oidc.buildAuthorizationUrlWithPAR), refused)
})

t.test('of many browsers with one pushed request, one gets a code', async (t) => {
  const app = await openApplication(service, owner, { first_party: true })
  const { path, checks } = await request(app, {}, oidc.buildAuthorizationUrlWithPAR)
  const browsers = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const browser = openBrowser(service)
      await authorize(browser, member, (await request(app)).path)
      return browser
    }),
  )
  const seen = await Promise.all(browsers.map((browser) => browser.visit(path)))
  const codes = seen.filter(({ refresh }) => /[?&]code=/.test(refresh ?? ''))
  t.equal(codes.length, 1)
  t.ok(await oidc.authorizationCodeGrant(app.config, new URL(codes[0]!.refresh!), checks))

  // The pages of two requests can be open for longer than a pushed request lasts.
  const asks = await openApplication(service, owner)
  const pushed = (await request(asks, {}, oidc.buildAuthorizationUrlWithPAR)).path
  const [one, two] = [browsers[0]!, browsers[1]!]
  t.equal((await one.visit(pushed)).title, 'Continue to Shop')
  t.equal((await two.visit(pushed)).title, 'Continue to Shop')
  service.advance(120_000)
  const finish = async (browser: typeof one) =>
    (await browser.visit((await browser.send({ decision: 'allow' })).refresh!)).refresh
  t.match(await finish(one), /[?&]code=/)
  t.notMatch((await finish(two)) ?? '', /[?&]code=/)
  const grants = await expect(200, owner.get(`/api/v1/oauth-grants/?client_id=${asks.client.id}`))
  t.equal(grants.count, 1, 'the other one leaves no grant')
})

t.test('only the client pushes requests in its name, with its own redirect URIs', async (t) => {
  const app = await openApplication(service, owner)
  const fields = { response_type: 'code', scope: 'openid', redirect_uri: callback, client_id: app.client.id }
  t.match(await post('/oauth/par', fields, basicOf(app)), {
    status: 201,
    body: { expires_in: 60, request_uri: /^urn:ietf:params:oauth:request_uri:/ },
  })
  const refused = await post('/oauth/par', fields)
  t.match(refused, { status: 401, body: { error: 'invalid_client' } })
  t.equal(refused.headers.get('cache-control'), 'no-store')
  t.equal((await post('/oauth/par', fields, basicOf({ ...app, secret: 'bws_no' }))).status, 401)
  const elsewhere = { ...fields, redirect_uri: 'https://evil.example/' }
  t.match(await post('/oauth/par', elsewhere, basicOf(app)), {
    status: 400,
    body: { error: 'invalid_request' },
  })
  const spa = await openApplication(service, owner, { kind: 'spa' })
  const noPkce = { ...fields, client_id: spa.client.id }
  t.match(await post('/oauth/par', noPkce), { status: 400, body: { error: 'invalid_request' } })
  const preflight = await fetch(`${service.url}/oauth/par`, {
    method: 'OPTIONS',
    headers: { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'POST' },
  })
  t.equal(preflight.headers.get('access-control-allow-origin'), 'https://app.example.com')
})

const signed = { token_endpoint_auth_method: 'private_key_jwt' }
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** An assertion of a client; `more` are other claims. */
const assertionOf = async (
  { alg, privateKey }: Awaited<ReturnType<typeof keyOf>>,
  clientId: string,
  more: object = {},
) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: issuer,
    jti: crypto.randomUUID(),
    iat: now,
    exp: now + 60,
    ...more,
  }
  return new SignJWT(claims).setProtectedHeader({ alg, kid: `${alg}-1` }).sign(privateKey)
}

t.test('an application proves itself with a key of each kind, for all endpoints', async (t) => {
  for (const alg of ['ES256', 'RS256', 'PS256', 'EdDSA']) {
    const key = await keyOf(alg)
    const app = await openApplication(
      service,
      owner,
      { ...signed, jwks: { keys: [key.jwk] } },
      oidc.PrivateKeyJwt({ key: key.privateKey, kid: key.jwk.kid }),
    )
    const { path, checks } = await request(app, {}, oidc.buildAuthorizationUrlWithPAR)
    const answer = await authorize(openBrowser(service), member, path)
    const tokens = await oidc.authorizationCodeGrant(app.config, answer, checks)
    t.ok(await oidc.refreshTokenGrant(app.config, tokens.refresh_token!), alg)
    const at = `/api/v1/oauth-clients/${app.client.id}/`
    t.match(await expect(200, owner.get(at)), { last_used_at: /T/, jwks: { keys: [{ kid: key.jwk.kid }] } })
  }
})

t.test('an assertion counts once, for this service, and not for long', async (t) => {
  const key = await keyOf('ES256')
  const keys = { ...signed, jwks: { keys: [key.jwk] } }
  const { client } = await openApplication(service, owner, keys)
  const other = await openApplication(service, owner, keys)
  const push = async (assertion: string, more: object = {}) => {
    const fields = { response_type: 'code', scope: 'openid', redirect_uri: callback, client_id: client.id }
    const proof = { client_assertion_type: assertionType, client_assertion: assertion }
    const { status, body } = await post('/oauth/par', { ...fields, ...proof, ...more })
    return status === 201 ? 'accepted' : (body.error as string)
  }
  const make = (more: object = {}) => assertionOf(key, client.id, more)
  t.equal(await push(await make()), 'accepted')
  t.equal(await push(await make({ aud: `${issuer}/oauth/token` })), 'accepted')
  const one = await make()
  const uses = await Promise.all(Array.from({ length: 20 }, () => push(one)))
  t.same(uses.sort(), ['accepted', ...Array(19).fill('invalid_client')])
  service.advance(11_000)
  t.equal(await push(one), 'invalid_client')
  const now = Math.floor(Date.now() / 1000)
  const wrong: object[] = [
    { aud: 'https://other.example' },
    { aud: `${issuer}/` },
    { aud: undefined },
    { jti: undefined },
    { exp: undefined },
    { exp: now - 60 },
    { exp: now + 7_200 },
    { exp: 1e300 },
    { iss: other.client.id },
    { nbf: now + 60 },
  ]
  for (const claims of wrong)
    t.equal(await push(await make(claims)), 'invalid_client', JSON.stringify(claims))
  t.equal(
    await push(await assertionOf(key, other.client.id)),
    'invalid_request',
    'of another client, whose key is the same',
  )
  const strange = await keyOf('ES256')
  t.equal(await push(await assertionOf(strange, client.id)), 'invalid_client')
  const [, claims] = one.split('.')
  const header = (alg: string) => Buffer.from(JSON.stringify({ alg })).toString('base64url')
  t.equal(await push(`${header('none')}.${claims}.`), 'invalid_client')
  const shared = await new SignJWT({ iss: client.id, sub: client.id, aud: issuer, jti: '1', exp: now + 60 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(JSON.stringify(key.jwk)))
  t.equal(await push(shared), 'invalid_client', 'no shared secret')
  t.equal(await push(await make(), { client_secret: 'x' }), 'invalid_request')
  const bare = { response_type: 'code', scope: 'openid', redirect_uri: callback, client_id: client.id }
  t.equal((await post('/oauth/par', bare)).status, 401)
})

t.test('keys can be read from the application, and rotate there', async (t) => {
  const [first, second] = [await keyOf('ES256'), await keyOf('ES256')]
  let keys = [first.jwk]
  let asked = 0
  const server = createServer((incoming, answer) => {
    asked++
    if (incoming.url === '/moved') answer.writeHead(302, { Location: '/keys' }).end()
    else if (incoming.url === '/huge') answer.end('x'.repeat(100_000))
    else answer.end(JSON.stringify({ keys }))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((done) => server.once('listening', done))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const open = (path: string) => openApplication(service, owner, { ...signed, jwks_uri: at + path })
  const push = async (key: typeof first, { client }: Awaited<ReturnType<typeof open>>) => {
    const fields = { response_type: 'code', scope: 'openid', redirect_uri: callback, client_id: client.id }
    const proof = {
      client_assertion_type: assertionType,
      client_assertion: await assertionOf(key, client.id),
    }
    return (await post('/oauth/par', { ...fields, ...proof })).status
  }
  const app = await open('/keys')
  t.equal(await push(first, app), 201)
  t.equal(await push(first, app), 201)
  t.equal(asked, 1, 'they are kept')
  keys = [second.jwk]
  t.equal(await push(second, app), 401, 'a new key is asked for once in 60 s at most')
  const moved = await expect(
    200,
    owner.patch(`/api/v1/oauth-clients/${app.client.id}/`, { jwks_uri: `${at}/new` }),
  )
  t.equal(await push(second, { ...app, client: moved }), 201)
  for (const path of ['/moved', '/huge']) {
    const broken = await open(path)
    t.equal(await push(second, broken), 401, path)
    const before = asked
    t.equal(await push(second, broken), 401, path)
    t.equal(asked, before, 'a failure is kept, too')
  }
})

t.test('a machine gives its editor nothing that they lack', async (t) => {
  const boss = await service.signUp()
  const admin = await colleague(service, boss, 'admin')
  const clients = '/api/v1/oauth-clients/'
  await expect(
    201,
    boss.post(`/api/v1/tenants/${boss.tenantId}/roles/`, { name: 'Closer', permissions: ['tenant:delete'] }),
  )
  const strong = await openMachine(service, boss, { roles: ['Closer'] })
  const weak = await openMachine(service, admin)
  const [mighty, mine] = [`${clients}${strong.client.id}/`, `${clients}${weak.client.id}/`]
  const body = {
    name: 'Job',
    kind: 'machine',
    scopes: ['member:list'],
    service_account_id: strong.account.id,
  }
  const lacks = { status: 403, body: { code: 'permission_denied' } }
  const key = { ...signed, jwks: { keys: [(await keyOf('ES256')).jwk] } }
  t.match(await admin.post(clients, body), lacks, 'a machine for an account with more')
  t.match(await admin.post(`${mighty}secrets/`), lacks, 'a secret of such a machine')
  t.match(await admin.patch(mighty, key), lacks, 'a key')
  t.match(await admin.patch(mighty, { ...signed, jwks_uri: 'https://evil.example/keys' }), lacks)
  t.match(await admin.patch(mighty, { scopes: ['member:list', 'member:update'] }), lacks)
  t.match(await admin.patch(mine, { service_account_id: strong.account.id }), lacks, 'another account')
  t.match(await admin.patch(mine, { scopes: ['tenant:delete'] }), lacks, 'more scopes')
  t.match(
    await admin.patch(mighty, { is_active: false }),
    { status: 200 },
    'anyone who may can switch it off',
  )
  t.match(await admin.patch(mighty, { is_active: true }), lacks, 'but not on')
  const foreign = (await openMachine(service, await service.signUp())).account.id
  for (const service_account_id of [foreign, boss.id, crypto.randomUUID()])
    t.match(await boss.post(clients, { ...body, service_account_id }), {
      status: 400,
      body: { errors: [{ field: 'service_account_id' }] },
    })

  const { key: text } = await expect(201, admin.post('/api/v1/users/me/keys/', { name: 'all' }))
  const { access_token } = await oidc.clientCredentialsGrant(
    (
      await openMachine(service, boss, {
        roles: ['admin'],
        scopes: ['oauth_client:create', 'oauth_client:update', 'member:list', 'role:create'],
      })
    ).config,
  )
  const own = { ...body, service_account_id: weak.account.id }
  for (const [token, code] of [
    [text, 'key_not_allowed'],
    [access_token, 'application_not_allowed'],
  ]) {
    t.match(await callWith(token, clients, 'POST', own), { status: 403, body: { code } })
    t.match(await callWith(token, `${mine}secrets/`, 'POST'), { status: 403, body: { code } })
    t.match(await callWith(token, mine, 'PATCH', key), { status: 403, body: { code } })
  }
  service.advance(601_000)
  const stale = { status: 401, body: { code: 'insufficient_user_authentication', max_age: 600 } }
  t.match(await admin.post(clients, own), stale)
  t.match(await admin.post(`${mine}secrets/`), stale)
  t.match(await admin.patch(mine, key), stale)
  t.match(await admin.patch(mine, { is_active: false }), { status: 200 })
})
