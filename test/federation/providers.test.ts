import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { findUpstream } from '../../src/federation/find-upstream.ts'
import type { Upstream } from '../../src/federation/upstream.ts'
import { readConfig } from '../../src/settings/config.ts'
import { type Forgery, forgeries } from './forged-answers.ts'
import { type Lies, startProvider } from './provider.ts'

const server = await startProvider(t)
const own = { client_id: server.clientId, client_secret: server.clientSecret, issuer: server.issuer }
const p256 = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
}).privateKey
const settings = (providers: unknown) => ({
  NODE_ENV: 'test',
  FEDERATION_ALLOWED_HOSTS: 'localhost',
  SOCIAL_PROVIDERS: typeof providers === 'string' ? providers : JSON.stringify(providers),
})
const whyRefused = (providers: unknown): string => {
  try {
    readConfig(settings(providers))
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
/** No provider of the installation reads the database or opens a seal. */
const upstreamOf = async (provider: object): Promise<Upstream> =>
  (await findUpstream(
    { config: readConfig(settings([{ id: 'one', ...own, ...provider }])), clock: Date.now } as never,
    'one',
  ))!
const redirectUri = 'https://id.example/sign-in/callback/one/'
const begin = async (upstream: Upstream, more: { isFresh?: boolean } = {}) => {
  const state = randomBytes(32).toString('base64url')
  return { state, ...(await upstream.begin({ state, redirectUri, ...more })) }
}
type Begun = Awaited<ReturnType<typeof begin>>
const finish = (upstream: Upstream, { state, kept }: Begun, parameters: URLSearchParams) =>
  upstream.finish({ state, redirectUri, kept, parameters, at: Date.now() })
const signIn = async (upstream: Upstream, more: { isFresh?: boolean } = {}) => {
  const begun = await begin(upstream, more)
  return finish(upstream, begun, new URL(server.signIn(begun.url)).searchParams)
}
const oidc = { kind: 'oidc', name: 'Nordwind' }

t.beforeEach(() => {
  server.lies = {}
})

t.test('a fault of SOCIAL_PROVIDERS names the entry and the member, and never a value', async (t) => {
  const base = { id: 'a', kind: 'google', client_id: 'c', client_secret: 'very-secret' }
  const apple = { id: 'a', kind: 'apple', client_id: 'c', team_id: 'T', key_id: 'K', private_key: p256 }
  const faults: [unknown, RegExp][] = [
    ['very-secret', /must be a JSON list/],
    [{ ...base }, /expected array/],
    [[{ ...base, kind: 'very-secret' }], /\[0\]\.kind/],
    [[base, { ...base, id: 'Very-Secret' }], /\[1\]\.id must be lower-case/],
    [[{ ...base, client_secret: ['very-secret'] }], /\[0\]\.client_secret .*expected string/],
    [[{ ...base, secret: 'very-secret' }], /\[0\] Unrecognized key: "secret"/],
    [[{ ...base, issuer: 'javascript:very-secret' }], /\[0\]\.issuer/],
    [[{ ...base, endpoints: { token: 'very-secret' } }], /\[0\]\.endpoints\.token/],
    [[base, base], /two providers with the id a/],
    [[{ ...base, kind: 'oidc', name: 'N' }], /\[0\]\.issuer/],
    [[{ ...base, kind: 'microsoft', tenants: ['very-secret'] }], /\[0\]\.tenants\[0\]/],
    [[{ ...apple, private_key: 'very-secret' }], /\[0\]\.private_key must be the text of the \.p8 file/],
  ]
  for (const [providers, message] of faults) {
    const said = whyRefused(providers)
    t.match(said, message)
    t.notMatch(said, /very-secret/i)
  }
  t.match(readConfig(settings([base, { ...apple, id: 'b' }])).SOCIAL_PROVIDERS, [
    { id: 'a', name: 'Google', endpoints: {} },
    { id: 'b', name: 'Apple' },
  ])
  t.same(readConfig({ NODE_ENV: 'test' }).SOCIAL_PROVIDERS, [])
})

t.test('a provider is found by its id alone', async (t) => {
  const deps = { config: readConfig(settings([{ id: 'one', ...own, ...oidc }])), clock: Date.now } as never
  t.match(await findUpstream(deps, 'one'), { id: 'one', kind: 'oidc', name: 'Nordwind', tenantId: null })
  for (const id of ['two', 'One', '', 'one/']) t.equal(await findUpstream(deps, id), null, id)
})

t.test('any provider of OpenID Connect says who signs in', async (t) => {
  server.lies = { claims: { given_name: 'Ada ', family_name: 'Love\nlace', amr: ['pwd', 7] } }
  t.match(await signIn(await upstreamOf(oidc)), {
    issuer: server.issuer,
    attribute: 'sub',
    subject: 'ada-1',
    email: 'ada@nordwind.example',
    isAuthority: false,
    firstName: 'Ada',
    lastName: 'Love lace',
    amr: ['pwd'],
    authTime: Number,
  })
})

t.test(
  'its word for an address counts only with trust_email, and only of the address beside it',
  async (t) => {
    const trusted = await upstreamOf({ ...oidc, trust_email: true })
    const authority = async (claims: object, userinfo = {}) => {
      server.lies = { claims: { ...claims }, userinfo }
      return (await signIn(trusted)).isAuthority
    }
    t.equal(await authority({}), true)
    t.equal(await authority({ email_verified: 'true' }), true)
    for (const email_verified of [false, 'false', 1, 'yes', null])
      t.equal(await authority({ email_verified }), false, String(email_verified))
    t.equal(
      await authority(
        { email: 'owner@nordwind.example', email_verified: undefined },
        { email: 'ada@nordwind.example', email_verified: true },
      ),
      false,
      'the userinfo proved another address',
    )
    t.equal(await authority({ email: undefined, email_verified: undefined }), true, 'both from the userinfo')
    server.lies = { claims: { email: 'ada' } }
    t.match(await signIn(trusted), { email: null, isAuthority: false })
  },
)

t.test('a new sign-in is asked for, and its time is checked', async (t) => {
  const upstream = await upstreamOf(oidc)
  t.match(new URL((await begin(upstream, { isFresh: true })).url).searchParams.get('max_age'), '0')
  t.match(await signIn(upstream, { isFresh: true }), { authTime: Number })
  const now = Math.floor(Date.now() / 1_000)
  for (const auth_time of [now - 120, undefined, String(now), 0]) {
    server.lies = { claims: { auth_time } }
    const code = auth_time ? 'refused' : 'undated'
    await t.rejects(signIn(upstream, { isFresh: true }), { name: 'UpstreamError', code })
  }
  const askedAt = Date.now()
  server.lies = { claims: { auth_time: now - 30 } }
  const { authTime } = await signIn(upstream, { isFresh: true })
  t.ok(authTime! >= askedAt, 'a clock that is late changes nothing')
  server.lies = { claims: { auth_time: now - 120 } }
  t.match(await signIn(upstream), { authTime: (now - 120) * 1_000 }, 'otherwise an older one is good')
})

const forged = forgeries(server)
t.test(`${forged.length} forged answers of OpenID Connect are refused`, async (t) => {
  const upstream = await upstreamOf(oidc)
  for (const {
    name,
    lies = {},
    early = false,
    parameters,
    kept = (own: Begun['kept']) => own,
    because,
  } of forged) {
    server.lies = {}
    const other = await begin(upstream)
    const outcome = async () => {
      if (early) server.lies = lies
      const begun = await begin(upstream)
      const brought = new URL(server.signIn(begun.url)).searchParams
      server.lies = lies
      parameters?.(brought)
      return finish(upstream, { ...begun, kept: kept(begun.kept, other.kept) }, brought)
    }
    await t.rejects(outcome(), { name: 'UpstreamError', message: because }, name)
  }
  server.lies = {}
  t.match(await signIn(upstream), { subject: 'ada-1' }, 'and an honest one is not')
})

t.test('an answer counts once, and a refusal of the person is one', async (t) => {
  const upstream = await upstreamOf(oidc)
  const begun = await begin(upstream)
  const brought = new URL(server.signIn(begun.url)).searchParams
  await finish(upstream, begun, brought)
  await t.rejects(finish(upstream, begun, brought), { code: 'refused', message: /invalid_grant/ })
  const { state } = begun
  const denied = new URLSearchParams({ state, error: 'access_denied', iss: server.issuer })
  await t.rejects(finish(upstream, begun, denied), { code: 'denied' })
  const away = await upstreamOf({ ...oidc, endpoints: { token: 'http://localhost:9/token' } })
  await t.rejects(signIn(away), { code: 'unreachable' }, 'it cannot be reached')
})

const authorities = async (t: Test, upstream: Upstream, rows: [string, object, boolean][]) => {
  for (const [email, claims, expected] of rows) {
    server.lies = { claims: { email, email_verified: true, ...claims } }
    const { isAuthority } = await signIn(upstream)
    t.equal(isAuthority, expected, `${email} ${JSON.stringify(claims)}`)
  }
}
/** What the userinfo says counts for none that signs its token. */
const untold = { '/userinfo': { status: 500 } }

t.test('Google decides about gmail.com and the domains of Workspace, by its token', async (t) => {
  const upstream = await upstreamOf({ kind: 'google' })
  await authorities(t, upstream, [
    ['ada@gmail.com', {}, true],
    ['Ada@Gmail.com', {}, true],
    ['ada@gmail.com', { email_verified: false }, false],
    ['ada@nordwind.example', {}, false],
    ['ada@nordwind.example', { hd: '' }, false],
    ['ada@nordwind.example', { hd: 'nordwind.example' }, true],
    ['ada@nordwind.example', { hd: 'nordwind.example', email_verified: false }, false],
    ['ada@gmail.com.evil.example', {}, false],
    ['ada@notgmail.com', {}, false],
  ])
  server.lies = { userinfo: { hd: 'nordwind.example' }, at: untold }
  t.match(await signIn(upstream), { attribute: 'sub', isAuthority: false }, 'hd beside the token is none')
  t.match(await signIn(upstream, { isFresh: true }), { authTime: Number })
  server.lies = { claims: { auth_time: undefined } }
  await t.rejects(signIn(upstream, { isFresh: true }), { code: 'undated' })
  t.match(await signIn(upstream), { authTime: null }, 'it need not say when')
})

const nordwind = '3d2a4f1c-0000-4000-8000-000000000001'
const consumers = '9188040d-6c67-4c5b-b112-36a304b66dad'
const oid = '5e0f0000-0000-4000-8000-000000000002'
const ofTenant = (tid: unknown, more: object = {}): Lies => ({
  metadata: { issuer: `${server.issuer}/{tenantid}/v2.0` },
  claims: { iss: `${server.issuer}/${tid}/v2.0`, tid, oid, ...more },
  answersAs: `${server.issuer}/{tenantid}/v2.0`,
})
const atMicrosoft = { kind: 'microsoft', issuer: `${server.issuer}/common/v2.0` }

t.test('Microsoft names a person by tenant and object, and the issuer is that of the tenant', async (t) => {
  const upstream = await upstreamOf(atMicrosoft)
  server.lies = { ...ofTenant(nordwind), at: untold }
  t.match(await signIn(upstream), {
    issuer: `${server.issuer}/${nordwind}/v2.0`,
    attribute: 'tid+oid',
    subject: `${nordwind}.${oid}`,
    email: 'ada@nordwind.example',
    isAuthority: false,
  })
  const refused: [string, Lies, RegExp][] = [
    [
      'the issuer of another tenant',
      ofTenant(nordwind, { iss: `${server.issuer}/${consumers}/v2.0` }),
      /has the iss/,
    ],
    ['the template itself', ofTenant(nordwind, { iss: `${server.issuer}/{tenantid}/v2.0` }), /has the iss/],
    ['no tenant', ofTenant(undefined), /tid/],
    ['a tenant that is a path', ofTenant('../common'), /tid/],
    ['a tenant that is a pattern', ofTenant('$&'), /./],
    ['no object', ofTenant(nordwind, { oid: undefined }), /oid/],
    ['an object that is an address', ofTenant(nordwind, { oid: 'ada@nordwind.example' }), /oid/],
    [
      'a description of elsewhere',
      {
        ...ofTenant(nordwind, { iss: `https://other.example/${nordwind}/v2.0` }),
        metadata: { issuer: 'https://other.example/{tenantid}/v2.0' },
        answersAs: 'https://other.example/{tenantid}/v2.0',
      },
      /its tenant is/,
    ],
  ]
  for (const [name, lies, message] of refused) {
    server.lies = lies
    await t.rejects(signIn(upstream), { name: 'UpstreamError', code: 'refused', message }, name)
  }
})

t.test('Microsoft lets in the tenants of the setting', async (t) => {
  const upstream = await upstreamOf({ ...atMicrosoft, tenants: [nordwind.toUpperCase(), 'consumers'] })
  for (const tid of [nordwind, consumers]) {
    server.lies = ofTenant(tid)
    t.match(await signIn(upstream), { subject: `${tid}.${oid}` })
  }
  server.lies = ofTenant(oid)
  await t.rejects(signIn(upstream), { code: 'refused', message: /not in the tenants/ })
  const single = await upstreamOf({ kind: 'microsoft', issuer: `${server.issuer}/${nordwind}/v2.0` })
  const issuer = `${server.issuer}/${nordwind}/v2.0`
  server.lies = { ...ofTenant(nordwind), metadata: { issuer }, answersAs: issuer }
  t.match(await signIn(single), { subject: `${nordwind}.${oid}` }, 'one tenant, by its issuer')
  server.lies = { ...server.lies, claims: { ...ofTenant(consumers).claims } }
  await t.rejects(signIn(single), { code: 'refused' }, 'and no other one')
})

t.test('Microsoft decides about an address only with xms_edov, and for personal accounts', async (t) => {
  const upstream = await upstreamOf(atMicrosoft)
  const said = async (tid: string, more: object) => {
    server.lies = ofTenant(tid, more)
    return (await signIn(upstream)).isAuthority
  }
  for (const xms_edov of [true, 'true', 1, '1']) t.equal(await said(nordwind, { xms_edov }), true)
  for (const xms_edov of [undefined, false, 'false', 0, '0', {}, null])
    t.equal(await said(nordwind, { xms_edov, email_verified: true }), false, String(xms_edov))
  t.equal(await said(consumers, {}), true)
  t.equal(await said(consumers, { email: undefined }), false, 'no address')
})

t.test('Apple takes a secret that is signed for each exchange, and answers by a form', async (t) => {
  const apple = { kind: 'apple', team_id: 'TEAM', key_id: 'KEY', private_key: p256 }
  const upstream = await upstreamOf({ ...apple, client_secret: undefined })
  server.lies = { metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] }, at: untold }
  const begun = await begin(upstream)
  t.match(Object.fromEntries(new URL(begun.url).searchParams), {
    response_mode: 'form_post',
    scope: 'openid email name',
    code_challenge_method: 'S256',
  })
  const brought = new URL(server.signIn(begun.url)).searchParams
  brought.set(
    'user',
    JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email: 'x@y.example' }),
  )
  server.lies.claims = {
    email: 'a1@privaterelay.appleid.com',
    email_verified: 'true',
    is_private_email: 'true',
  }
  t.match(await finish(upstream, begun, brought), {
    subject: 'ada-1',
    email: 'a1@privaterelay.appleid.com',
    isAuthority: true,
    firstName: 'Ada',
    lastName: 'Lovelace',
  })
  const body = server.asked.at(-1)!
  const key = createPublicKey(p256)
  const { payload, protectedHeader } = await jwtVerify(body.get('client_secret')!, key, {
    issuer: 'TEAM',
    subject: server.clientId,
    audience: server.issuer,
    algorithms: ['ES256'],
    maxTokenAge: 60,
  })
  t.match([protectedHeader, payload.exp! - payload.iat!], [{ kid: 'KEY' }, 300])
  t.equal(body.get('client_id'), server.clientId)
  await authorities(t, upstream, [
    ['ada@nordwind.example', {}, true],
    ['ada@nordwind.example', { email_verified: 'false' }, false],
    ['ada@nordwind.example', { email_verified: undefined }, false],
  ])
  for (const user of ['', '{', 'null', '[]', '{"name":7}', '{"name":{"firstName":{}}}']) {
    const again = await begin(upstream)
    const answer = new URL(server.signIn(again.url)).searchParams
    answer.set('user', user)
    t.match(await finish(upstream, again, answer), { subject: 'ada-1', firstName: '', lastName: '' }, user)
  }
})

const api = (user: unknown, emails: unknown): Lies => ({
  tokens: { id_token: undefined, token_type: 'bearer', scope: 'user:email' },
  at: { '/user': { body: user }, '/user/emails': { body: emails } },
})
const primary = { email: 'Ada@Nordwind.example', primary: true, verified: true, visibility: null }
const ada = { id: 1815, login: 'ada', name: 'Augusta Ada Lovelace', email: 'public@other.example' }
const atGitHub = {
  kind: 'github',
  endpoints: {
    authorization: `${server.issuer}/authorize`,
    token: `${server.issuer}/token`,
    userinfo: `${server.issuer}/user`,
    emails: `${server.issuer}/user/emails`,
  },
}

t.test('GitHub names a person by the id of its API, and the address by its primary one', async (t) => {
  const upstream = await upstreamOf(atGitHub)
  await t.rejects(begin(upstream, { isFresh: true }), { code: 'undated' }, 'it takes no max_age')
  const parameters = new URL((await begin(upstream)).url).searchParams
  t.match(Object.fromEntries(parameters), {
    scope: 'user:email',
    code_challenge: String,
    redirect_uri: redirectUri,
  })
  t.notOk(parameters.has('nonce'), 'there is no ID token that holds it')
  server.lies = api(ada, [{ ...primary, email: 'old@other.example', primary: false }, primary])
  t.match(await signIn(upstream), {
    issuer: server.issuer,
    attribute: 'id',
    subject: '1815',
    email: 'ada@nordwind.example',
    isAuthority: true,
    firstName: 'Augusta Ada',
    lastName: 'Lovelace',
    authTime: null,
  })
  t.match(server.asked.at(-1)!.get('client_secret'), server.clientSecret)
  const emails: [string, unknown[], object][] = [
    ['unverified', [{ ...primary, verified: false }], { email: 'ada@nordwind.example', isAuthority: false }],
    ['none that is primary', [{ ...primary, primary: false }], { email: null, isAuthority: false }],
    ['none', [], { email: null, isAuthority: false }],
  ]
  for (const [name, list, expected] of emails) {
    server.lies = api({ ...ada, name: null }, list)
    t.match(await signIn(upstream), { ...expected, firstName: '', lastName: '' }, name)
  }
})

t.test(
  'GitHub is refused for every other answer of its API, and for another state, code or issuer',
  async (t) => {
    const upstream = await upstreamOf(atGitHub)
    const good = api(ada, [primary])
    const refused: [string, Lies, Partial<Forgery>?][] = [
      [
        'another error of its token endpoint',
        { ...good, at: { ...good.at, '/token': { body: { error: 'bad_verification_code' } } } },
      ],
      ['a withdrawn token', { ...good, at: { ...good.at, '/user': { status: 401 } } }],
      ['a limit', { ...good, at: { ...good.at, '/user/emails': { status: 403 } } }],
      ['an API that is away', { ...good, at: { ...good.at, '/user': { status: 502 } } }],
      [
        'an API that leads elsewhere',
        { ...good, at: { ...good.at, '/user': { status: 302, headers: { location: '/' } } } },
      ],
      ['no JSON', { ...good, at: { ...good.at, '/user': { body: '<p>' } } }],
      ['no id', api({ ...ada, id: undefined }, [primary])],
      ['an id as text', api({ ...ada, id: '1815' }, [primary])],
      ['an id of 0', api({ ...ada, id: 0 }, [primary])],
      ['addresses that are no list', api(ada, { message: 'Not Found' })],
      ['an ID token', { ...good, tokens: {}, claims: { aud: 'another' } }],
      ['another state', good, { parameters: (p) => p.set('state', 'another') }],
      ['another issuer', good, { parameters: (p) => p.set('iss', 'https://other.example') }],
      ['no code', good, { parameters: (p) => p.delete('code') }],
      ['the verifier of another sign-in', good, { kept: (_own, other) => other }],
    ]
    for (const [name, lies, { parameters, kept = (own: Begun['kept']) => own } = {}] of refused) {
      server.lies = lies
      const [begun, other] = [await begin(upstream), await begin(upstream)]
      const brought = new URL(server.signIn(begun.url)).searchParams
      parameters?.(brought)
      const outcome = finish(upstream, { ...begun, kept: kept(begun.kept, other.kept) }, brought)
      await t.rejects(outcome, { name: 'UpstreamError' }, name)
    }
  },
)

t.test('the four have their own addresses, where the setting names none', async (t) => {
  const deps = (provider: object) =>
    ({
      config: readConfig({
        ...settings([{ id: 'one', client_id: 'c', client_secret: 's', ...provider }]),
        FEDERATION_ALLOWED_HOSTS: '',
      }),
      clock: Date.now,
    }) as never
  const page = async (provider: object) => {
    const upstream = (await findUpstream(deps(provider), 'one'))!
    const { origin, pathname } = new URL((await begin(upstream)).url)
    return origin + pathname
  }
  t.equal(await page({ kind: 'github' }), 'https://github.com/login/oauth/authorize')
  const own = { kind: 'github', issuer: 'https://git.example/login/oauth' }
  t.equal(await page(own), 'https://git.example/login/oauth/authorize', 'a server of their own')
})
