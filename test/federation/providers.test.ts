import { generateKeyPairSync, randomBytes } from 'node:crypto'
import t from 'tap'
import { findUpstream } from '../../src/federation/find-upstream.ts'
import type { Upstream } from '../../src/federation/upstream.ts'
import { readConfig } from '../../src/settings/config.ts'
import { startProvider } from './provider.ts'

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
const signIn = async (upstream: Upstream, more: { isFresh?: boolean } = {}) => {
  const { state, url, kept } = await begin(upstream, more)
  const parameters = new URL(server.signIn(url)).searchParams
  return upstream.finish({ state, redirectUri, kept, parameters, at: Date.now() })
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
    await t.rejects(signIn(upstream, { isFresh: true }), { name: 'UpstreamError', code: 'refused' })
  }
  server.lies = { claims: { auth_time: now - 120 } }
  t.match(await signIn(upstream), { authTime: (now - 120) * 1_000 }, 'otherwise an older one is good')
})
