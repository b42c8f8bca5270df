import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { codeAt, enrol, requireMfa } from '../identity/otp/authenticator.ts'
import { expect, look } from '../tenancy/staff.ts'
import {
  authorize,
  callback,
  invalidGrant,
  openApplication,
  openBrowser,
  request,
  signIn,
  tokensFor,
} from './relying-party.ts'

const service = await startService(t, { workers: false })
const owner = await service.signUp()
const member = await colleague(service, owner)
const shop = await openApplication(service, owner)
const issuer = service.deps.publicUrl()

t.test('discovery names what is there, in both forms', async (t) => {
  const { body } = await service.call('GET', '/.well-known/openid-configuration')
  t.match(body, {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    end_session_endpoint: `${issuer}/oauth/logout`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    token_endpoint_auth_methods_supported: [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
      'none',
    ],
    token_endpoint_auth_signing_alg_values_supported: ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'],
    pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    scopes_supported: ['openid', 'profile', 'email', 'roles', 'groups', 'organization', 'offline_access'],
    acr_values_supported: ['aal1', 'aal2'],
  })
  t.notOk('registration_endpoint' in body)
  const other = await service.call('GET', '/.well-known/oauth-authorization-server')
  t.same(other.body, body)
})

t.test('a person signs in, consents, and the application gets who they are', async (t) => {
  const browser = openBrowser(service)
  const { path, checks } = await request(shop)
  const address = await browser.visit(path)
  t.equal(address.title, 'Sign in')
  const left = await signIn(browser, member)
  const consent = await browser.visit(left.refresh!)
  t.equal(consent.title, 'Continue to Shop')
  t.match(consent.text, /your email address/)
  t.match(consent.text, /app\.example\.com/)
  const answer = await browser.send({ decision: 'allow' })
  t.match(answer.refresh, /^\/oauth\/authorize\//)
  const back = await browser.visit(answer.refresh!)
  t.equal(back.status, 303)
  const url = new URL(back.refresh!)
  t.equal(url.origin + url.pathname, callback)
  t.equal(url.searchParams.get('iss'), issuer)
  const tokens = await oidc.authorizationCodeGrant(shop.config, url, checks)
  t.match(tokens, { token_type: 'bearer', expires_in: 900, scope: 'openid profile email' })
  const claims = tokens.claims()!
  t.match(claims, {
    sub: member.id,
    iss: issuer,
    aud: shop.client.id,
    email: member.email,
    tenant_id: owner.tenantId,
    acr: 'aal1',
    amr: ['pwd'],
    sid: /^[\w-]{22}$/,
  })
  t.equal(decodeProtectedHeader(tokens.id_token!).alg, 'RS256')
  await jwtVerify(tokens.id_token!, createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)))
  const info = await oidc.fetchUserInfo(shop.config, tokens.access_token, member.id)
  const { iat: _iat, exp: _exp, iss: _iss, aud: _aud, nonce: _nonce, at_hash: _at, ...shared } = claims
  t.same(info, shared, 'userinfo says the same')
  t.equal((await service.call('GET', '/api/v1/users/me/', { token: tokens.access_token })).status, 401)
  t.equal((await service.call('GET', '/api/v1/users/me/', { token: tokens.id_token! })).status, 401)

  const again = await request(shop, { prompt: 'none' })
  t.match(
    (await browser.visit(again.path)).refresh,
    /[?&]code=/,
    'the browser is signed in, and the consent kept',
  )
  const strange = openBrowser(service)
  const none = await strange.visit((await request(shop, { prompt: 'none' })).path)
  t.match(none.refresh, /[?&]error=login_required/)
})

t.test('a person who does not consent is sent back', async (t) => {
  const other = openBrowser(service)
  await other.visit((await request(shop)).path)
  await other.visit((await signIn(other, owner)).refresh!)
  const denied = await other.send({ decision: 'deny' })
  t.match((await other.visit(denied.refresh!)).refresh, /[?&]error=access_denied/)
})

t.test('a client that changes while its consent page is open asks again, or gets no code', async (t) => {
  const app = await openApplication(service, owner, { scopes: ['openid'] })
  const at = `/api/v1/oauth-clients/${app.client.id}/`
  const browser = openBrowser(service)
  const open = async () => {
    service.advance(2_000)
    const seen = await browser.visit((await request(app, { scope: 'openid email' })).path)
    if (/name="email"/.test(seen.text)) await browser.visit((await signIn(browser, member)).refresh!)
    service.advance(1) // also within the same second
  }
  const allow = async () => browser.visit((await browser.send({ decision: 'allow' })).refresh!)
  await open()
  await expect(200, owner.patch(at, { scopes: ['openid', 'email'] }))
  t.equal((await allow()).title, 'Continue to Shop', 'for more than was shown')
  await expect(200, owner.patch(at, { redirect_uris: ['https://other.example/callback'] }))
  t.notMatch((await allow()).refresh ?? '', /[?&]code=/, 'the address is registered no more')
})

t.test('prompt=login and max_age ask again for the password, once', async (t) => {
  const { browser } = await tokensFor(service, shop, member)
  const fresh: Record<string, string>[] = [{ prompt: 'login' }, { prompt: 'login consent' }, { max_age: '0' }]
  for (const more of fresh) {
    service.advance(2_000)
    const { path } = await request(shop, more)
    t.equal((await browser.visit(path)).title, 'Sign in', JSON.stringify(more))
    t.ok((await authorize(browser, member, path)).searchParams.get('code'))
  }
})

t.test('a wrong redirect URI or client is a page of ours, and leads nowhere', async (t) => {
  const browser = openBrowser(service)
  for (const redirect_uri of [
    'https://evil.example/',
    `${callback}/`,
    `${callback}?a=b`,
    'https://APP.example.com/callback',
    'https://app.example.com:444/callback',
    'https://app.example.com/%63allback',
    'http://app.example.com/callback',
    'https://app.example.com@evil.example/callback',
  ]) {
    const seen = await browser.visit((await request(shop, { redirect_uri })).path)
    t.equal(seen.status, 400, redirect_uri)
    t.equal(seen.refresh || null, null)
    t.match(seen.text, /invalid_redirect_uri/)
  }
  for (const client_id of ['nobody', `bwa_${'0'.repeat(44)}`]) {
    const seen = await browser.visit((await request(shop, { client_id })).path)
    t.ok(seen.status >= 400 && seen.status < 500)
    t.match(seen.text, /invalid_client/)
  }
  const implicit = await browser.visit((await request(shop, { response_type: 'token' })).path)
  t.match(implicit.refresh ?? '', /error=unsupported_response_type/)
})

t.test('public clients need PKCE, and loopback addresses work at any port', async (t) => {
  const app = await openApplication(service, owner, {
    kind: 'native',
    redirect_uris: ['http://127.0.0.1/callback'],
  })
  const redirect_uri = 'http://127.0.0.1:53682/callback'
  const { path, checks } = await request(app, { redirect_uri })
  const browser = openBrowser(service)
  const answer = await authorize(browser, member, path)
  t.equal(answer.port, '53682')
  t.ok((await oidc.authorizationCodeGrant(app.config, answer, checks)).id_token)
  const used = await expect(200, owner.get(`/api/v1/oauth-clients/${app.client.id}/`))
  t.ok(used.last_used_at)
  const next = await browser.visit((await request(app, { redirect_uri })).path)
  t.equal(next.title, 'Continue to Shop', 'anyone can claim a loopback address, so it asks each time')
  const bare = `/oauth/authorize?${new URLSearchParams({ client_id: app.client.id, response_type: 'code', scope: 'openid', redirect_uri })}`
  t.match((await browser.visit(bare)).refresh, /error=invalid_request/)
  const noPort = await request(app, { redirect_uri: 'http://127.0.0.1:99999/callback' })
  t.equal((await browser.visit(noPort.path)).status, 400)
})

t.test('with offline_access a grant outlives the sign-out, and ends with all sessions', async (t) => {
  const { tokens, browser } = await tokensFor(service, shop, member, { scope: 'openid offline_access' })
  await browser.visit('/sign-in/')
  await browser.send({}, 'sign-out')
  const renewed = await oidc.refreshTokenGrant(shop.config, tokens.refresh_token!)
  t.ok(renewed.refresh_token)
  const sessions = (await expect(200, member.get('/api/v1/auth/sessions/'))).results
  t.ok(
    sessions.some(
      (one: { kind: string; user_agent: string }) => one.kind === 'grant' && one.user_agent === 'Shop',
    ),
  )
  await member.post('/api/v1/auth/logout-all/')
  await t.rejects(oidc.refreshTokenGrant(shop.config, renewed.refresh_token!), invalidGrant)
})

t.test('an application signs its person out, and others ask first', async (t) => {
  const person = await colleague(service, owner)
  const to = 'https://app.example.com/bye'
  const app = await openApplication(service, owner, { post_logout_redirect_uris: [to] })
  const { tokens, browser } = await tokensFor(service, app, person)
  const path = (fields: Record<string, string>) => `/oauth/logout?${new URLSearchParams(fields)}`
  const asked = await browser.visit(
    path({ client_id: app.client.id, post_logout_redirect_uri: to, state: 's' }),
  )
  t.equal(asked.title, 'You are signed in', 'nothing shows that this person wants it')
  const hint = { id_token_hint: tokens.id_token!, post_logout_redirect_uri: to, state: 's' }
  t.equal((await browser.visit(path({ ...hint, post_logout_redirect_uri: `${to}/` }))).status, 400)
  t.equal((await browser.visit(path({ ...hint, id_token_hint: `${tokens.id_token}x` }))).status, 400)
  t.equal((await browser.visit(path(hint))).refresh, `${to}?state=s`)
  t.equal((await browser.visit('/sign-in/')).title, 'Sign in')
  await t.rejects(oidc.refreshTokenGrant(app.config, tokens.refresh_token!), invalidGrant)

  const next = await tokensFor(service, app, person)
  await next.browser.visit(path({ client_id: app.client.id, post_logout_redirect_uri: to }))
  const done = await next.browser.send({}, 'sign-out')
  t.match(done.refresh, /^\/oauth\/logout\?after=/)
  t.equal((await next.browser.visit(done.refresh!)).refresh, to)
})

t.test('logouts are as the conformance suite of the OpenID Foundation asks', async (t) => {
  const to = 'https://app.example.com/bye'
  const app = await openApplication(service, owner, { first_party: true, post_logout_redirect_uris: [to] })
  const state = 'a'.repeat(128)
  const unsigned = (token: string) =>
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.${token.split('.')[1]}.`
  const { tokens: known } = await tokensFor(service, app, member)
  const id_token_hint = known.id_token!
  // The title of the page that asks, the status of an error, or null with an ID token of the session itself.
  for (const [name, fields, asked, end] of [
    ['no parameters', {}, 'You are signed in', 'You are signed out'],
    ['only state', { state }, 'You are signed in', 'You are signed out'],
    ['no hint', { post_logout_redirect_uri: to, state }, 'You are signed in', 'You are signed out'],
    ['unsigned hint', { id_token_hint: unsigned(id_token_hint), post_logout_redirect_uri: to }, 400],
    ['query added', { id_token_hint, post_logout_redirect_uri: `${to}?foo=bar` }, 400],
    ['no address', { state }, null, 'You are signed out'],
    ['no state', { post_logout_redirect_uri: to }, null, to],
    ['all', { post_logout_redirect_uri: to, state }, null, `${to}?state=${state}`],
  ] as [string, Record<string, string>, string | number | null, string?][]) {
    const { tokens, browser } = await tokensFor(service, app, member)
    const query = new URLSearchParams({
      ...fields,
      ...(asked === null && { id_token_hint: tokens.id_token! }),
    })
    let seen = await browser.visit(`/oauth/logout?${query}`)
    if (typeof asked === 'number') t.equal(seen.status, asked, name)
    if (typeof asked === 'string') {
      t.equal(seen.title, asked, name)
      seen = await browser.send({}, 'sign-out')
      if (seen.refresh) seen = await browser.visit(seen.refresh)
    }
    if (end?.startsWith('https:')) t.equal(seen.refresh, end, name)
    else if (end) t.equal(seen.title, end, name)
    const next = await browser.visit((await request(app, { prompt: 'none' })).path)
    t.match(next.refresh, end ? /[?&]error=login_required/ : /[?&]code=/, name)
  }
})

t.test('the browser goes into the organisation of the client, with what that demands', async (t) => {
  const person = await service.signUp()
  const browser = openBrowser(service)
  await browser.visit('/sign-in/')
  await signIn(browser, person)
  t.equal((await browser.visit((await request(shop)).path)).title, 'You cannot use Shop')
  await expect(
    201,
    owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, { user_id: person.id, roles: ['member'] }),
  )
  const unasked = await browser.visit((await request(shop, { prompt: 'none' })).path)
  t.match(unasked.refresh, /error=account_selection_required/, 'who was only added enters by choice')
  const { path, checks } = await request(shop)
  t.match((await browser.visit(path)).text, new RegExp(`name="tenant_id" value="${owner.tenantId}"`))
  const answer = await authorize(browser, person, path)
  const tokens = await oidc.authorizationCodeGrant(shop.config, answer, checks)
  t.match(tokens.claims(), { sub: person.id, tenant_id: owner.tenantId })
  t.match((await browser.visit((await request(shop, { prompt: 'none' })).path)).refresh, /[?&]code=/)
  const strong = await browser.visit((await request(shop, { acr_values: 'aal2' })).path)
  t.match(strong.refresh, /error=unmet_authentication_requirements/, 'the person has no second factor')
  const { secret } = await enrol(service, person)
  service.advance(60_000)
  const stepUp = await browser.visit((await request(shop, { acr_values: 'aal2' })).path)
  t.match(stepUp.text, /autocomplete="one-time-code"/)
  const shown = await browser.send({ code: codeAt(secret, service.now()) })
  t.match((await browser.visit(shown.refresh!)).refresh, /[?&]code=/)
})

t.test('claims about roles, departments and the organisation follow the scopes of the client', async (t) => {
  const app = await openApplication(service, owner, {
    first_party: true,
    groups: 'both',
    scopes: ['openid', 'roles', 'groups', 'organization'],
    id_token_signed_response_alg: 'ES256',
  })
  const place = `/api/v1/tenants/${owner.tenantId}`
  let parent_id: string | null = null
  for (const name of ['Sales', 'EMEA/West'])
    parent_id = (await expect(201, owner.post(`${place}/departments/`, { name, parent_id }))).id
  const { results } = await expect(200, owner.get(`${place}/members/`))
  const { id } = results.find(({ user }: { user: { id: string } }) => user.id === member.id)
  await expect(200, owner.patch(`${place}/members/${id}/`, { department_id: parent_id }))
  const { tokens } = await tokensFor(service, app, member, {
    scope: 'openid email roles groups organization',
  })
  t.equal(tokens.scope, 'openid roles groups organization')
  const claims = tokens.claims()!
  const groups = ['member', '/Sales/EMEA%2FWest']
  t.match(claims, { roles: ['member'], groups, organization: { id: owner.tenantId } })
  t.notOk('email' in claims)
  t.equal(decodeProtectedHeader(tokens.id_token!).alg, 'ES256')
})

t.test('form_post answers with a form, and POST to the authorization endpoint goes on', async (t) => {
  const { browser } = await tokensFor(service, shop, member)
  const { path } = await request(shop, { response_mode: 'form_post' })
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const form = await fetch(`${service.url}${path}`, { headers: { Accept: 'text/html', Cookie: cookie } })
  t.match(await form.text(), /<form method="post" action="https:\/\/app\.example\.com\/callback">/)
  t.match(form.headers.get('content-security-policy'), /script-src 'none' 'sha256-/)
  const fields = Object.fromEntries(new URL(path, issuer).searchParams)
  const posted = await browser.post('/oauth/authorize', fields, { 'Sec-Fetch-Site': 'cross-site' })
  t.equal(posted.status, 200)
  t.match(posted.refresh, /^\/oauth\/authorize\?/)
})

t.test(
  'an organisation that demands a second factor gets it before the application learns anything',
  async (t) => {
    const firm = await service.signUp()
    const app = await openApplication(service, firm, { first_party: true })
    const person = await service.signUp()
    const { secret } = await enrol(service, person)
    await expect(
      201,
      firm.post(`/api/v1/tenants/${firm.tenantId}/members/`, { user_id: person.id, roles: ['member'] }),
    )
    await requireMfa(service, firm.tenantId)
    service.advance(60_000)
    const browser = openBrowser(service)
    await browser.visit((await request(app)).path)
    const code = await signIn(browser, person)
    t.match(code.text, /autocomplete="one-time-code"/)
    const shown = await browser.send({ code: codeAt(secret, service.now()) })
    const { path, checks } = await request(app)
    await browser.visit(shown.refresh!)
    const entered = await browser.send({ tenant_id: firm.tenantId })
    t.match((await browser.visit(entered.refresh!)).refresh, /[?&]code=/)
    const answer = await authorize(browser, person, path)
    t.match((await oidc.authorizationCodeGrant(app.config, answer, checks)).claims(), { acr: 'aal2' })

    const without = await service.signUp()
    await expect(
      201,
      firm.post(`/api/v1/tenants/${firm.tenantId}/members/`, { user_id: without.id, roles: ['member'] }),
    )
    const other = openBrowser(service)
    await other.visit((await request(app)).path)
    await other.visit((await signIn(other, without)).refresh!)
    const due = await other.send({ tenant_id: firm.tenantId })
    t.match(due.text, /action="\/sign-in\/(set-up|code)/, 'a factor is set up first')
    t.match(
      (await other.visit((await request(app, { prompt: 'none' })).path)).refresh,
      /error=account_selection_required/,
    )
  },
)

t.test('codes, tokens and consents go with the person, and with the tenant', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm)
  const person = await colleague(service, firm)
  await tokensFor(service, app, person, { scope: 'openid offline_access' })
  const kindsOf = async (column: 'user_id' | 'tenant_id', id: string) =>
    (await look(service, `select distinct kind from oauth_models where ${column} = $1 order by 1`, [id])).map(
      ({ kind }) => kind,
    )
  t.same(await kindsOf('user_id', person.id), [
    'AccessToken',
    'AuthorizationCode',
    'Consent',
    'Grant',
    'RefreshToken',
  ])
  const rows = await look(service, 'select payload::text from oauth_models where user_id = $1', [person.id])
  for (const { payload } of rows) t.notMatch(payload, /"(jti|code|access_token|refresh_token)"/)
  await expect(204, person.delete('/api/v1/users/me/', { body: { current_password: person.password } }))
  t.same(await kindsOf('user_id', person.id), [])
})
