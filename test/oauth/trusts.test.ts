import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JWTPayload, SignJWT } from 'jose'
import t from 'tap'
import { type Client, startService } from '../helpers/service.ts'
import { expect, foundFirm, look } from '../tenancy/staff.ts'
import { keyOf, postForm } from './relying-party.ts'

const service = await startService(t, { workers: false, env: { FEDERATION_ALLOW_PRIVATE: 'true' } })
const audience = service.deps.publicUrl()
const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const sub = 'repo:acme/shop:ref:refs/heads/main'

/** A platform that gives workloads JWTs. */
async function openPlatform() {
  const key = await keyOf('RS256')
  const asked: string[] = []
  const server = createServer((incoming, answer) => {
    asked.push(incoming.url!)
    const documents: Record<string, object> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
      '/keys': { keys: [key.jwk] },
    }
    answer.end(JSON.stringify(documents[incoming.url!] ?? {}))
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((done) => server.once('listening', done))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const now = () => Math.floor(service.deps.clock() / 1000)
  const write = (claims: JWTPayload = {}, by: Partial<typeof key & { kid: string; typ: string }> = {}) => {
    const { privateKey, alg, kid, typ } = { ...key, kid: key.jwk.kid, typ: 'JWT', ...by }
    const usual = { iss: issuer, aud: audience, sub, jti: crypto.randomUUID(), exp: now() + 300 }
    return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg, kid, typ }).sign(privateKey)
  }
  return { issuer, key, asked, write, now }
}

const platform = await openPlatform()

const openAccount = async (by: Client, roles = ['auditor']) =>
  (await expect(201, by.post('/api/v1/service-accounts/', { name: crypto.randomUUID(), roles }))).id as string
const given = { issuer: platform.issuer, claims: { sub }, scopes: ['member:list', 'role:create'] }
const trusts = (account: string) => `/api/v1/service-accounts/${account}/trusts/`
const trust = async (account: string, by: Client, more: object = {}) =>
  expect(201, by.post(trusts(account), { ...given, ...more }))
const show = (client_id: string, assertion: string, more: Record<string, string> = {}) =>
  postForm(service, '/oauth/token', { grant_type, client_id, assertion, ...more })

t.test('a workload shows the JWT of its platform, and acts as the service account', async (t) => {
  const boss = await service.signUp()
  const account = await openAccount(boss)
  const made = await trust(account, boss)
  t.match(made, { ...given, audience, jwks: null, expires_at: null, created_by: boss.id, last_used_at: null })
  const { body } = await show(account, await platform.write())
  t.match(body, { token_type: 'Bearer', expires_in: 900, scope: 'member:list' }, 'auditors create no roles')
  t.equal(
    (await service.call('GET', `/api/v1/tenants/${boss.tenantId}/members/`, { token: body.access_token }))
      .status,
    200,
  )
  t.match(
    await service.call('POST', `/api/v1/tenants/${boss.tenantId}/roles/`, {
      token: body.access_token,
      body: {},
    }),
    {
      status: 403,
    },
  )
  t.match(await show(account, await platform.write(), { scope: 'member:list' }), { status: 200 })
  const form = { grant_type, client_id: account, assertion: await platform.write() }
  t.match(await postForm(service, '/oauth/token', form, { DPoP: 'x' }), {
    status: 400,
    body: { error: 'invalid_dpop_proof' },
  })
  t.equal(platform.asked.length, 2, 'the keys are read once')
  t.match(await boss.get(trusts(account)), { body: { results: [{ id: made.id, last_used_at: /T/ }] } })
  const [row] = await look(
    service,
    `select actor_id, changes from audit_log where target_id = $1 and action = 'oauth:authorize' order by id limit 1`,
    [made.id],
  )
  t.match(row, { actor_id: account, changes: { sub: { after: sub }, issuer: { after: platform.issuer } } })
  t.match(await boss.get('/api/v1/oauth-clients/'), { body: { count: 0 } }, 'it is no application')
  const { body: document } = await service.call('GET', '/.well-known/openid-configuration')
  t.ok(document.grant_types_supported.includes(grant_type))
})

t.test('forged, foreign and used assertions give nothing', async (t) => {
  const boss = await service.signUp()
  const account = await openAccount(boss)
  await trust(account, boss, { claims: { sub, environment: 'production' } })
  const other = await keyOf('RS256')
  const stolen = await keyOf('ES256')
  const { write, now, issuer } = platform
  const fit = { environment: 'production' }
  const used = await write(fit)
  t.equal((await show(account, used)).status, 200)
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  const headAndBodyOf = async (text: Promise<string>) => (await text).split('.').slice(0, 2).join('.')
  const bodyOf = async (text: Promise<string>) => (await text).split('.')[1]
  const shared = () =>
    new SignJWT({ iss: issuer, aud: audience, sub, ...fit, exp: now() + 60 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(JSON.stringify(platform.key.jwk)))
  const time = /"exp"|"nbf"|within a day/
  const cases: [name: string, assertion: () => Promise<string> | string, why: RegExp][] = [
    ['used before', () => used, /used already|"exp"/],
    ['of another key', () => write(fit, { privateKey: other.privateKey }), /signature/],
    ['of another key id', () => write(fit, { privateKey: other.privateKey, kid: 'x' }), /no applicable key/],
    ['of another algorithm', () => write(fit, { ...stolen, kid: platform.key.jwk.kid }), /no applicable key/],
    ['with a shared secret', () => shared(), /"alg"/],
    ['without a signature', async () => `${none}.${await bodyOf(write(fit))}.`, /"alg"/],
    ['with an empty signature', async () => `${await headAndBodyOf(write(fit))}.`, /signature/],
    ['for another service', () => write({ ...fit, aud: 'https://sts.example' }), /"aud"/],
    ['for an address below this service', () => write({ ...fit, aud: `${audience}/x` }), /"aud"/],
    ['without an audience', () => write({ ...fit, aud: undefined as never }), /"aud"/],
    ['past its end', () => write({ ...fit, exp: now() - 120 }), time],
    ['without an end', () => write({ ...fit, exp: undefined as never }), time],
    ['that ends in a week', () => write({ ...fit, exp: now() + 7 * 86_400 }), time],
    ['of later', () => write({ ...fit, nbf: now() + 600 }), time],
    ['of another branch', () => write({ ...fit, sub: 'repo:acme/shop:ref:refs/heads/mine' }), /another sub/],
    ['of a longer branch', () => write({ ...fit, sub: `${sub}-2` }), /another sub/],
    ['of a repository that ends so', () => write({ ...fit, sub: `x${sub}` }), /another sub/],
    ['without a subject', () => write({ ...fit, sub: undefined as never }), /"sub"/],
    ['of another environment', () => write({ environment: 'test' }), /another environment/],
    ['of no environment', () => write(), /another environment/],
    ['of a list of environments', () => write({ environment: ['production'] }), /another environment/],
    [
      'of another issuer',
      () => write({ ...fit, iss: 'https://other.example' }),
      /client authentication failed/,
    ],
    ['that is an access token', () => write(fit, { typ: 'at+jwt' }), /another kind/],
    ['that is no JWT', () => 'x.y.z', /client authentication failed/],
    ['that is huge', () => `${used}${'x'.repeat(16_000)}`, /client authentication failed|16384 bytes/],
  ]
  for (const [name, make, why] of cases) {
    const { body } = await show(account, await make())
    t.notOk(body.access_token, name)
    t.match(body.error_description, why, name)
    service.advance(10_000)
  }
  t.match(await show(crypto.randomUUID(), await write(fit)), {
    status: 401,
    body: { error: 'invalid_client' },
  })
  t.match(await show(boss.id, await write(fit)), { status: 401 }, 'a person has no trusts')
  t.match(await show(await openAccount(boss), await write(fit)), { status: 401 }, 'nor has another account')
  const once = await write(fit)
  const answers = await Promise.all(Array.from({ length: 20 }, () => show(account, once)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1, 'of 20 at the same moment one wins')
  const unnamed = await write({ ...fit, jti: undefined as never })
  t.equal((await show(account, unnamed)).status, 200)
  for (const spelling of [unnamed, `${unnamed} `, `${unnamed}=`, `${unnamed}==`, `${unnamed}\n`])
    t.equal((await show(account, spelling)).status, 400, 'without a jti its signed part works once')
  const says = await show(account, await write({ ...fit, sub: 'repo:acme/shop:pull_request' }))
  t.equal(says.body.error_description, 'The trust asks for another sub')
})

t.test('a star stands for one segment', async (t) => {
  const boss = await service.signUp()
  const account = await openAccount(boss)
  await trust(account, boss, { claims: { sub: 'repo:acme/*:ref:refs/tags/v*' } })
  const as = async (sub: string) => (await show(account, await platform.write({ sub }))).status
  t.equal(await as('repo:acme/shop:ref:refs/tags/v1.2'), 200)
  for (const no of [
    'repo:acme/shop:ref:refs/tags/v',
    'repo:acme/a/b:ref:refs/tags/v1',
    'repo:evil/x:ref:refs/tags/v1',
  ])
    t.equal(await as(no), 400, no)
})

t.test('a pattern with many stars costs no time', async (t) => {
  const boss = await service.signUp()
  const account = await openAccount(boss)
  await trust(account, boss, { claims: { sub: 'repo:acme/*a*a*a*a*' } })
  const says = async (sub: string) => (await show(account, await platform.write({ sub }))).status
  t.equal(await says(`repo:acme/${'a'.repeat(8_000)}`), 200)
  t.equal(await says(`repo:acme/${'a'.repeat(8_000)}:`), 400)
  t.equal(await says('repo:acme/aaaaaaaa'), 400, 'each star stands for something')
  t.equal(await says('repo:acme/aaaaaaaaa'), 200)
})

t.test('what no trust can be is refused, with the field', async (t) => {
  const boss = await service.signUp()
  const account = await openAccount(boss)
  const fault = async (field: string, more: object) =>
    t.match(
      await boss.post(trusts(account), { ...given, ...more }),
      { status: 400, body: { errors: [{ field }] } },
      JSON.stringify(more),
    )
  await fault('issuer', { issuer: 'ftp://x.example' })
  await fault('issuer', { issuer: 'https://x.example/?a' })
  await fault('issuer', { issuer: audience })
  await fault('audience', { audience: 'https://sts.example' })
  await fault('audience', { audience: `${audience}.evil.example` })
  await fault('claims.sub', { claims: {} })
  for (const sub of ['*', '*:x', 'repo:*', 'repo:*/shop:ref', 'a*', 'x/*'])
    await fault('claims.sub', { claims: { sub } })
  await fault('claims.ref', { claims: { sub, ref: '**' } })
  await fault('scopes', { scopes: ['openid'] })
  await fault('scopes', { scopes: [] })
  await fault('expires_at', { expires_at: '2001-01-01T00:00:00Z' })
  await fault('jwks.keys.0', { jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } })
})

t.test('whose keys the issuer does not publish, the trust has them', async (t) => {
  const boss = await service.signUp()
  const account = await openAccount(boss)
  const { key, write } = platform
  await trust(account, boss, { issuer: 'https://cluster.example', jwks: { keys: [key.jwk] } })
  t.equal((await show(account, await write({ iss: 'https://cluster.example' }))).status, 200)
  const dead = await openAccount(boss)
  await trust(dead, boss, { issuer: 'http://127.0.0.1:9' })
  t.match(await show(dead, await write({ iss: 'http://127.0.0.1:9' })), {
    status: 400,
    body: { error_description: 'The keys of the issuer cannot be read' },
  })
})

t.test('a trust asks of its maker what a key asks', async (t) => {
  const boss = await service.signUp()
  const firm = await foundFirm(service)
  const account = await openAccount(firm.owner, [await firm.role('tenant:archive')])
  const admin = await firm.hire('admin')
  t.match(await admin.post(trusts(account), given), { status: 403 }, 'an admin gets no more than they have')
  const lower = await openAccount(firm.owner)
  t.match(await admin.post(trusts(lower), { ...given, scopes: ['tenant:delete'] }), { status: 403 })
  const member = await firm.hire('member')
  t.match(await member.post(trusts(lower), given), { status: 403 })
  t.match(await member.get(trusts(lower)), { status: 403 })
  t.match(await boss.post(trusts(lower), given), { status: 404 }, 'of another tenant')
  const key = await expect(
    201,
    firm.owner.post(`/api/v1/service-accounts/${account}/keys/`, { name: 'k', expires_in: 86_400 }),
  )
  t.match(await service.call('POST', trusts(lower), { token: key.key, body: given }), { status: 403 })
  const made = await trust(lower, firm.owner)
  t.match(await boss.delete(`${trusts(lower)}${made.id}/`), { status: 404 })
  t.match(await firm.owner.delete(`${trusts(account)}${made.id}/`), { status: 404 }, 'of another account')
  service.advance(700_000)
  t.match(
    await firm.owner.post(trusts(lower), given),
    { status: 401 },
    'after a sign-in of the last 10 minutes',
  )
})

t.test('its end ends its tokens', async (t) => {
  const token = async (account: string) => (await show(account, await platform.write())).body.access_token
  const fresh = await service.signUp()
  const own = (path: string, token: string) => service.call('GET', path, { token })
  const path = `/api/v1/tenants/${fresh.tenantId}/members/`
  const deleted = await openAccount(fresh)
  const { id } = await trust(deleted, fresh)
  const before = await token(deleted)
  t.equal((await own(path, before)).status, 200)
  t.match(await fresh.delete(`${trusts(deleted)}${id}/`), { status: 204 })
  t.equal((await own(path, before)).status, 401)
  t.equal((await show(deleted, await platform.write())).status, 401)

  const disabled = await openAccount(fresh)
  await trust(disabled, fresh)
  const held = await token(disabled)
  await expect(200, fresh.patch(`/api/v1/service-accounts/${disabled}/`, { status: 'disabled' }))
  t.equal((await own(path, held)).status, 401)
  t.match(await show(disabled, await platform.write()), { status: 400, body: { error: 'invalid_grant' } })

  const gone = await openAccount(fresh)
  await trust(gone, fresh)
  await expect(204, fresh.delete(`/api/v1/service-accounts/${gone}/`))
  t.same(await look(service, 'select id from oauth_clients where service_account_id = $1', [gone]), [])

  const short = await openAccount(fresh)
  await trust(short, fresh, { expires_at: new Date(service.deps.clock() + 60_000).toISOString() })
  t.ok(await token(short))
  service.advance(60_000)
  t.match(await show(short, await platform.write()), {
    status: 401,
    body: { error: 'invalid_client' },
  })
})
