import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import t, { type Test } from 'tap'
import { setUserActive } from '../../src/identity/users/set-user-active.ts'
import { colleague } from '../helpers/colleague.ts'
import { type Client, startService, tokenIn } from '../helpers/service.ts'
import { expect, look } from '../tenancy/staff.ts'
import { until } from '../workers/stage.ts'
import { authorize, callback, openApplication, request, tokensFor } from './relying-party.ts'

const service = await startService(t, {
  env: { FEDERATION_ALLOW_PRIVATE: 'true' },
  actors: ['outbox-relay', 'email', 'logout'],
})
const owner = await service.signUp()
const issuer = service.deps.publicUrl()
const jwks = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))

/** An application that is told of logouts. `told` are the tokens, verified against the published keys. */
async function listeningApplication(t: Test, more: object = {}) {
  const told: JWTPayload[] = []
  const listening = { told, answers: [] as number[], asked: 0, body: '' }
  const server = createServer(async (incoming, response) => {
    listening.asked++
    let body = ''
    for await (const part of incoming) body += part
    listening.body = body
    const status = listening.answers.shift() ?? 200
    if (status === 200) {
      const token = new URLSearchParams(body).get('logout_token')!
      const { payload, protectedHeader } = await jwtVerify(token, jwks, {
        issuer,
        audience: app.client.id,
        typ: 'logout+jwt',
        currentDate: new Date(service.now()),
      })
      told.push({ ...payload, alg: protectedHeader.alg })
    }
    response.writeHead(status, { location: '/elsewhere' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  const app = await openApplication(service, owner, {
    backchannel_logout_uri: `http://127.0.0.1:${port}/backchannel?from=id`,
    first_party: true,
    post_logout_redirect_uris: [callback],
    ...more,
  })
  return Object.assign(listening, { app, log: `/api/v1/oauth-clients/${app.client.id}/logouts/` })
}

const shop = await listeningApplication(t)
const sidOf = ({ tokens }: { tokens: { id_token?: string } }) => String(decodeJwt(tokens.id_token!).sid)

/** ms from the end of a session to its token. */
const took: number[] = []

/** The token with this `sid`. */
async function toldOf(listening: typeof shop, sid: string): Promise<JWTPayload> {
  const begun = performance.now()
  const find = () => listening.told.find((one) => one.sid === sid)
  await until(find)
  took.push(performance.now() - begun)
  return find()!
}

t.test('discovery says so, and the token is as Back-Channel Logout 1.0 asks', async (t) => {
  const { body } = await service.call('GET', '/.well-known/openid-configuration')
  t.match(body, { backchannel_logout_supported: true, backchannel_logout_session_supported: true })
  const member = await colleague(service, owner)
  const seen = await tokensFor(service, shop.app, member)
  await seen.browser.visit('/sign-in/sign-out/')
  await seen.browser.send({}, 'sign-out')
  const told = await toldOf(shop, sidOf(seen))
  t.match(told, {
    alg: 'RS256',
    sub: member.id,
    sid: sidOf(seen),
    jti: /^[\w-]{36}$/,
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  })
  t.same(told.exp! - told.iat!, 120)
  t.notOk('nonce' in told)
  await until(async () => (await expect(200, owner.get(shop.log))).results[0].status !== 'pending')
  const { results } = await expect(200, owner.get(shop.log))
  t.match(results, [
    {
      sid: sidOf(seen),
      status: 'delivered',
      attempts: 1,
      response_status: 200,
      created_at: new Date(service.now()).toISOString(),
      next_attempt_at: null,
    },
  ])
  t.equal((await member.get(shop.log)).status, 403)
  t.equal((await (await service.signUp()).get(shop.log)).status, 404)
})

const members = `/api/v1/tenants/${owner.tenantId}/members/`
const membershipOf = async ({ id }: Client) =>
  (await expect(200, owner.get(`${members}?page_size=100`))).results.find(
    ({ user }: { user: { id: string } }) => user.id === id,
  ).id

/** Every way in which a session ends that stands behind a grant. */
const ends: Record<
  string,
  (person: Client, seen: Awaited<ReturnType<typeof tokensFor>>) => Promise<unknown>
> = {
  'logout everywhere': (person) => expect(200, person.post('/api/v1/auth/logout-all/')),
  'the end of the session in the list': async (person) => {
    const { results } = await expect(200, person.get('/api/v1/auth/sessions/'))
    const { id } = results.find(({ kind }: { kind: string }) => kind === 'browser')
    await expect(204, person.delete(`/api/v1/auth/sessions/${id}/`))
  },
  'a new password': (person) =>
    expect(
      200,
      person.post('/api/v1/auth/password/change/', {
        current_password: person.password,
        new_password: 'another quiet harbour',
      }),
    ),
  'a reset of the password': async ({ email }) => {
    await service.call('POST', '/api/v1/auth/password/reset/', { body: { email } })
    const token = tokenIn(await service.mailTo(email, 'password'))
    const body = { token, password: 'another quiet harbour' }
    await expect(200, service.call('POST', '/api/v1/auth/password/reset/confirm/', { body }))
  },
  'removal from the tenant': async (person) =>
    expect(204, owner.delete(`${members}${await membershipOf(person)}/`)),
  'leaving the tenant': async (person) =>
    expect(204, person.delete(`${members}${await membershipOf(person)}/`)),
  suspension: async (person) =>
    expect(200, owner.patch(`${members}${await membershipOf(person)}/`, { status: 'suspended' })),
  'the end of their sessions by an admin': async (person) =>
    expect(204, owner.delete(`${members}${await membershipOf(person)}/sessions/`)),
  'an operator who deactivates the account': ({ id }) =>
    setUserActive(
      service.deps,
      { requestId: 'x', ip: '', userAgent: '', traceparent: null },
      { person: { id }, active: false },
    ),
  'the deletion of the account': (person) =>
    expect(204, person.delete('/api/v1/users/me/', { body: { current_password: person.password } })),
  'the person who disconnects the application': async (person) => {
    const [{ id }] = (await expect(200, person.get('/api/v1/users/me/authorizations/'))).results
    await expect(204, person.delete(`/api/v1/users/me/authorizations/${id}/`))
  },
  'an owner who revokes the grant': async (person) => {
    const [{ id }] = (await expect(200, owner.get(`/api/v1/oauth-grants/?user_id=${person.id}`))).results
    await expect(204, owner.delete(`/api/v1/oauth-grants/${id}/`))
  },
  'a logout that the application began': (_person, { browser, tokens }) =>
    browser.visit(`/oauth/logout?${new URLSearchParams({ id_token_hint: tokens.id_token! })}`),
}

for (const [name, end] of Object.entries(ends))
  t.test(`an application is told of ${name}`, async (t) => {
    const person = await colleague(service, owner)
    const seen = await tokensFor(service, shop.app, person)
    await end(person, seen)
    t.match(await toldOf(shop, sidOf(seen)), { sub: person.id })
    await t.rejects(oidc.fetchUserInfo(shop.app.config, seen.tokens.access_token, person.id))
  })

t.test('a replayed refresh token ends its grant, and that alone is told', async (t) => {
  const person = await colleague(service, owner)
  const seen = await tokensFor(service, shop.app, person)
  const other = await tokensFor(service, shop.app, person)
  await oidc.refreshTokenGrant(shop.app.config, seen.tokens.refresh_token!)
  service.advance(11_000)
  await t.rejects(oidc.refreshTokenGrant(shop.app.config, seen.tokens.refresh_token!))
  await toldOf(shop, sidOf(seen))
  t.notOk(shop.told.some(({ sid }) => sid === sidOf(other)))
  await oidc.refreshTokenGrant(shop.app.config, other.tokens.refresh_token!)
})

t.test('a grant that outlives the sign-out is told of both ends', async (t) => {
  const person = await colleague(service, owner)
  const seen = await tokensFor(service, shop.app, person, { scope: 'openid offline_access' })
  const toldOften = () => shop.told.filter(({ sid }) => sid === sidOf(seen)).length
  await seen.browser.visit('/sign-in/sign-out/')
  await seen.browser.send({}, 'sign-out')
  await until(() => toldOften() === 1)
  const { refresh_token } = await oidc.refreshTokenGrant(shop.app.config, seen.tokens.refresh_token!)
  await expect(200, person.post('/api/v1/auth/logout-all/'))
  await until(() => toldOften() === 2)
  await t.rejects(oidc.refreshTokenGrant(shop.app.config, refresh_token!))
})

t.test('one session is told once, however often the application asked for it', async (t) => {
  const person = await colleague(service, owner)
  const seen = await tokensFor(service, shop.app, person)
  for (let n = 0; n < 2; n++) await authorize(seen.browser, person, (await request(shop.app)).path)
  await authorize(seen.browser, person, (await request(shop.app, { scope: 'openid offline_access' })).path)
  await expect(200, person.post('/api/v1/auth/logout-all/'))
  await toldOf(shop, sidOf(seen))
  const rows = await look(service, 'select status from oauth_logouts where user_id = $1', [person.id])
  t.equal(rows.length, 1)
})

t.test('an application that fails is told again, with a new token, and for a day', async (t) => {
  const listening = await listeningApplication(t)
  const person = await colleague(service, owner)
  const seen = await tokensFor(service, listening.app, person)
  listening.answers.push(302, 503, 204)
  await expect(200, person.post('/api/v1/auth/logout-all/'))
  const row = async () => (await expect(200, owner.get(listening.log))).results[0]
  const bodies = new Set<string>()
  for (const [attempts, status] of [302, 503].entries()) {
    await until(async () => (await row()).response_status === status)
    bodies.add(listening.body)
    const { next_attempt_at, ...rest } = await row()
    t.match(rest, { sid: sidOf(seen), status: 'pending', attempts: attempts + 1 })
    t.ok(Date.parse(next_attempt_at) > service.now())
    service.advance(60_000)
    await look(service, `update outbox set id = gen_random_uuid(), enqueued_at = null where queue = 'logout'`)
  }
  await until(async () => (await row()).status === 'delivered')
  bodies.add(listening.body)
  t.match(await row(), { attempts: 3, response_status: 204, next_attempt_at: null })
  t.equal(bodies.size, 3, 'signed anew each time')
  const jtis = [...bodies].map((body) => decodeJwt(new URLSearchParams(body).get('logout_token')!).jti)
  t.same(jtis, [jtis[0], jtis[0], jtis[0]], 'and known to be the same logout')
  t.equal(listening.asked, 3, 'a redirect is not followed')
})

t.test('a deleted or disabled application is told nothing, and one whose session runs out', async (t) => {
  const person = await colleague(service, owner)
  const quiet: Awaited<ReturnType<typeof listeningApplication>>[] = []
  for (let n = 0; n < 3; n++) {
    quiet.push(await listeningApplication(t))
    await tokensFor(service, quiet[n]!.app, person)
  }
  const at = (n: number) => `/api/v1/oauth-clients/${quiet[n]!.app.client.id}/`
  await expect(200, owner.patch(at(0), { is_active: false }))
  await expect(204, owner.delete(at(1)))
  await look(service, `delete from sessions where user_id = $1`, [person.id])
  await expect(200, (await service.logIn(person)).post('/api/v1/auth/logout-all/'))
  await sleep(500)
  t.same(
    quiet.map(({ asked }) => asked),
    [0, 0, 0],
  )
})

t.test('a URI that cannot be told is refused', async (t) => {
  const wrong = ['backchannel', 'https://shop.example/#x', 'ftp://shop.example/', 'https://u:p@shop.example/']
  for (const backchannel_logout_uri of wrong)
    t.match(
      await owner.patch(`/api/v1/oauth-clients/${shop.app.client.id}/`, { backchannel_logout_uri }),
      { status: 400, body: { errors: [{ field: 'backchannel_logout_uri' }] } },
      backchannel_logout_uri,
    )
})

t.test('a token comes soon after the end of a session', async (t) => {
  t.comment(`${took.length} ends, at most ${Math.round(Math.max(...took))} ms`)
  t.ok(took.length > 10)
})
