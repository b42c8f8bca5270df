import { setTimeout as sleep } from 'node:timers/promises'
import * as oidc from 'openid-client'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { openDatabase } from '../helpers/event-log.ts'
import { startService } from '../helpers/service.ts'
import { requireMfa } from '../identity/otp/authenticator.ts'
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

t.test('a code is exchanged once: of 50 at a time one wins', async (t) => {
  for (let round = 0; round < 4; round++) {
    const { path, checks } = await request(shop)
    const answer = await authorize(openBrowser(service), member, path)
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, () => oidc.authorizationCodeGrant(shop.config, answer, checks)),
    )
    const won = outcomes.filter((one) => one.status === 'fulfilled')
    t.equal(won.length, 1)
    for (const one of outcomes) if (one.status === 'rejected') t.equal(one.reason.error, 'invalid_grant')
    const { value } = won[0]!
    t.ok(await oidc.fetchUserInfo(shop.config, value.access_token, member.id), 'the others end nothing')
  }
})

t.test('a code that is used again later ends what it gave', async (t) => {
  const { tokens, answer, checks } = await tokensFor(service, shop, member)
  const replay = () => oidc.authorizationCodeGrant(shop.config, answer, checks)
  await t.rejects(replay(), invalidGrant)
  t.ok(
    await oidc.fetchUserInfo(shop.config, tokens.access_token, member.id),
    'within 10 s it is refused, and no more',
  )
  service.advance(11_000)
  await t.rejects(replay(), invalidGrant)
  await t.rejects(oidc.fetchUserInfo(shop.config, tokens.access_token, member.id))
  await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.refresh_token!), invalidGrant)
})

t.test('refresh tokens rotate, and parallel uses get one successor', async (t) => {
  const { tokens } = await tokensFor(service, shop, member)
  const first = tokens.refresh_token!
  const all = await Promise.all(Array.from({ length: 50 }, () => oidc.refreshTokenGrant(shop.config, first)))
  const [second, ...others] = [...new Set(all.map((one) => one.refresh_token))]
  t.same(others, [])
  t.not(second, first)
  t.match(all[0]!.claims(), { sub: member.id, tenant_id: owner.tenantId })
  const third = (await oidc.refreshTokenGrant(shop.config, second!)).refresh_token!
  await t.rejects(oidc.refreshTokenGrant(shop.config, first), invalidGrant, 'its successor was used')
  t.equal(
    (await oidc.refreshTokenGrant(shop.config, second!)).refresh_token,
    third,
    'a lost answer is given again',
  )
  service.advance(11_000)
  await t.rejects(oidc.refreshTokenGrant(shop.config, second!), invalidGrant)
  await t.rejects(oidc.refreshTokenGrant(shop.config, third), invalidGrant, 'a replay ends the grant')
})

t.test('codes and tokens of another client, and wrong secrets, are refused and end nothing', async (t) => {
  const other = await openApplication(service, owner, { name: 'Other' })
  const { tokens } = await tokensFor(service, shop, member)
  await t.rejects(oidc.refreshTokenGrant(other.config, tokens.refresh_token!), invalidGrant)
  const { path, checks } = await request(shop)
  const answer = await authorize(openBrowser(service), member, path)
  await t.rejects(oidc.authorizationCodeGrant(other.config, answer, checks), invalidGrant)
  const wrong = new oidc.Configuration(
    shop.config.serverMetadata(),
    shop.client.id,
    {},
    oidc.ClientSecretPost('bws_no'),
  )
  await t.rejects(oidc.refreshTokenGrant(wrong, tokens.refresh_token!))
  const token = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    fetch(`${service.url}/oauth/token`, { method: 'POST', body: new URLSearchParams(fields), headers })
  const basic = (secret: string) => ({
    Authorization: `Basic ${Buffer.from(`${shop.client.id}:${secret}`).toString('base64')}`,
  })
  const refused = await token(
    { grant_type: 'refresh_token', refresh_token: tokens.refresh_token! },
    basic('bws_no'),
  )
  t.equal(refused.status, 401)
  t.equal(refused.headers.get('cache-control'), 'no-store')
  t.match(await refused.json(), { error: 'invalid_client' })
  const code = answer.searchParams.get('code')!
  const exchange = { grant_type: 'authorization_code', code, redirect_uri: callback }
  const verifier = checks.pkceCodeVerifier
  for (const fields of [
    exchange,
    { ...exchange, code_verifier: `${verifier}x` },
    { ...exchange, code_verifier: verifier, redirect_uri: `${callback}/` },
    { ...exchange, code_verifier: verifier, redirect_uri: callback.toUpperCase() },
  ])
    t.match(await (await token(fields, basic(shop.secret))).json(), { error: 'invalid_grant' })
  t.ok(await oidc.authorizationCodeGrant(shop.config, answer, checks))
  t.ok(await oidc.refreshTokenGrant(shop.config, tokens.refresh_token!))
})

t.test('a removed member, a disabled client and an ended session are refused at the next use', async (t) => {
  const person = await colleague(service, owner)
  const { tokens, browser } = await tokensFor(service, shop, person)
  await expect(200, owner.patch(`/api/v1/oauth-clients/${shop.client.id}/`, { is_active: false }))
  await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.refresh_token!))
  await t.rejects(oidc.fetchUserInfo(shop.config, tokens.access_token, person.id))
  await expect(200, owner.patch(`/api/v1/oauth-clients/${shop.client.id}/`, { is_active: true }))
  const renewed = await oidc.refreshTokenGrant(shop.config, tokens.refresh_token!)
  await browser.visit('/sign-in/')
  await browser.send({}, 'sign-out')
  await t.rejects(oidc.refreshTokenGrant(shop.config, renewed.refresh_token!), invalidGrant)

  const next = await tokensFor(service, shop, person)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const [{ id }] = (await expect(200, owner.get(`${members}?user_id=${person.id}`))).results
  await expect(204, owner.delete(`${members}${id}/`))
  await t.rejects(oidc.refreshTokenGrant(shop.config, next.tokens.refresh_token!), invalidGrant)
  await t.rejects(oidc.fetchUserInfo(shop.config, next.tokens.access_token, person.id))
  await expect(201, owner.post(members, { user_id: person.id, roles: ['member'] }))
  await t.rejects(oidc.refreshTokenGrant(shop.config, next.tokens.refresh_token!), invalidGrant, 'nor later')
  await t.rejects(oidc.fetchUserInfo(shop.config, next.tokens.access_token, person.id))
})

t.test('who is suspended loses what applications may do for them, also after the return', async (t) => {
  const person = await colleague(service, owner)
  const own = await tokensFor(service, shop, person)
  const lasting = await tokensFor(service, shop, person, { scope: 'openid offline_access' })
  const { path, checks } = await request(shop)
  const unused = await authorize(own.browser, person, path)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const [{ id }] = (await expect(200, owner.get(`${members}?user_id=${person.id}`))).results
  const sessions = async () =>
    (
      await look(service, 'select kind from sessions where user_id = $1 and ended_at is null order by 1', [
        person.id,
      ])
    ).map(({ kind }) => kind)
  t.same(await sessions(), ['browser', 'browser', 'grant', 'token'])
  for (const status of ['suspended', 'active']) {
    await expect(200, owner.patch(`${members}${id}/`, { status }))
    for (const { tokens } of [own, lasting]) {
      await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.refresh_token!), invalidGrant)
      await t.rejects(oidc.fetchUserInfo(shop.config, tokens.access_token, person.id), {
        status: 401,
      } as never)
    }
    await t.rejects(oidc.authorizationCodeGrant(shop.config, unused, checks), invalidGrant)
    t.same(await sessions(), ['browser', 'browser', 'token'], 'the person stays signed in')
  }
  t.same(await look(service, 'select from oauth_models where user_id = $1', [person.id]), [])
  t.ok((await tokensFor(service, shop, person)).tokens.id_token, 'and consents anew')
})

t.test('an authorization that a suspension overtakes gives nothing', async (t) => {
  const person = await colleague(service, owner)
  const { browser } = await tokensFor(service, shop, person)
  const grants = async () =>
    (await expect(200, owner.get(`/api/v1/oauth-grants/?user_id=${person.id}`))).results.length
  const given = await grants()
  const database = await openDatabase(t, service)
  await database.query('begin')
  await database.query(`update memberships set status = 'suspended' where user_id = $1 and tenant_id = $2`, [
    person.id,
    owner.tenantId,
  ])
  const asked = browser.visit((await request(shop)).path)
  await sleep(300)
  await database.query('commit')
  t.match((await asked).refresh, /error=access_denied/)
  t.equal(await grants(), given)
})

t.test('an authorization that the end of all sessions overtakes gives nothing', async (t) => {
  const person = await colleague(service, owner)
  const { browser } = await tokensFor(service, shop, person)
  const database = await openDatabase(t, service)
  await database.query('begin')
  await database.query('select 1 from users where id = $1 for no key update', [person.id])
  await database.query('update sessions set ended_at = $2 where user_id = $1', [
    person.id,
    new Date(service.now()),
  ])
  const asked = browser.visit((await request(shop)).path)
  await sleep(300)
  await database.query('commit')
  t.equal((await asked).status, 401)
  const live = await look(service, `select 1 from sessions where user_id = $1 and ended_at is null`, [
    person.id,
  ])
  t.same(live, [])
})

t.test('to end the sessions of a member ends those of applications, too', async (t) => {
  const person = await colleague(service, owner)
  const { tokens } = await tokensFor(service, shop, person, { scope: 'openid offline_access' })
  const kinds = async () =>
    (
      await look(service, `select kind from sessions where user_id = $1 and ended_at is null`, [person.id])
    ).map(({ kind }) => kind)
  t.ok((await kinds()).includes('grant'))
  const [{ id }] = await look(service, 'select id from memberships where user_id = $1 and tenant_id = $2', [
    person.id,
    owner.tenantId,
  ])
  await expect(204, owner.delete(`/api/v1/tenants/${owner.tenantId}/members/${id}/sessions/`))
  await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.refresh_token!), invalidGrant)
  t.notOk((await kinds()).includes('grant'))
  service.advance(1)
  t.notMatch((await authorize(openBrowser(service), person, (await request(shop)).path)).search, /error/)
})

t.test('a code that is never exchanged leaves no session behind', async (t) => {
  const person = await colleague(service, owner)
  const { path, checks } = await request(shop, { scope: 'openid offline_access' })
  const answer = await authorize(openBrowser(service), person, path)
  const lasting = () =>
    look(service, `select from sessions where user_id = $1 and kind = 'grant' and expires_at > $2`, [
      person.id,
      new Date(service.now() + 3_600_000),
    ])
  t.equal((await lasting()).length, 0)
  await oidc.authorizationCodeGrant(shop.config, answer, checks)
  t.equal((await lasting()).length, 1, 'an exchange makes it last')
})

t.test('a used refresh token is known as one when its row is gone', async (t) => {
  const person = await colleague(service, owner)
  const { tokens } = await tokensFor(service, shop, person)
  const used = tokens.refresh_token!
  const rows = () =>
    look(service, `select from oauth_models where user_id = $1 and kind = 'RefreshToken'`, [person.id])
  const before = (await rows()).length
  const next = await oidc.refreshTokenGrant(shop.config, used)
  await look(
    service,
    `delete from oauth_models where consumed_at is not null and expires_at < $1 and kind = 'RefreshToken'`,
    [new Date(service.now() + 601_000)],
  )
  t.equal((await rows()).length, before, 'it is kept for ten minutes')
  t.ok(await oidc.fetchUserInfo(shop.config, next.access_token, person.id))
  const forged = `${used.startsWith('A') ? 'B' : 'A'}${used.slice(1)}`
  await t.rejects(oidc.refreshTokenGrant(shop.config, forged), invalidGrant)
  t.ok(await oidc.fetchUserInfo(shop.config, next.access_token, person.id), 'a forged one ends nothing')
  await t.rejects(oidc.refreshTokenGrant(shop.config, used), invalidGrant)
  await t.rejects(oidc.fetchUserInfo(shop.config, next.access_token, person.id))
  await t.rejects(oidc.refreshTokenGrant(shop.config, next.refresh_token!), invalidGrant)
})

t.test('a session stands behind its own tokens alone, whatever else a request names', async (t) => {
  const person = await colleague(service, owner)
  const { tokens } = await tokensFor(service, shop, person)
  await look(service, `update sessions set expires_at = $2 where user_id = $1 and kind = 'browser'`, [
    person.id,
    new Date(service.now() - 1_000),
  ])
  const live = await tokensFor(service, shop, person)
  const refresh = (more = {}) => oidc.refreshTokenGrant(shop.config, tokens.refresh_token!, more)
  await t.rejects(refresh(), invalidGrant)
  await t.rejects(refresh({ code: live.tokens.refresh_token! }), invalidGrant)
})

t.test('an access token in the place of a refresh token ends nothing', async (t) => {
  const person = await colleague(service, owner)
  const { tokens } = await tokensFor(service, shop, person)
  await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.access_token), invalidGrant)
  t.ok(await oidc.fetchUserInfo(shop.config, tokens.access_token, person.id))
})

t.test('an exchange that fails consumes nothing', async (t) => {
  const person = await colleague(service, owner)
  const { path, checks } = await request(shop)
  const answer = await authorize(openBrowser(service), person, path)
  const tenant = `/api/v1/tenants/${owner.tenantId}`
  await expect(200, owner.post(`${tenant}/suspend/`))
  await t.rejects(oidc.authorizationCodeGrant(shop.config, answer, checks), invalidGrant)
  await expect(200, owner.post(`${tenant}/activate/`))
  t.ok((await oidc.authorizationCodeGrant(shop.config, answer, checks)).refresh_token)
})

t.test('a body has 16 KiB at most, with its length told or not', async (t) => {
  const body = `grant_type=refresh_token&refresh_token=${'x'.repeat(17_000)}`
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const told = await fetch(`${service.url}/oauth/token`, { method: 'POST', headers, body })
  t.equal(told.status, 413)
  t.match(await told.json(), { error: 'invalid_request' })
  const untold = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    headers,
    body: new Blob([body]).stream(),
    duplex: 'half',
  } as RequestInit)
  t.equal(untold.status, 400)
})

t.test('an organisation that begins to demand a second factor stops grants without one', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm)
  const person = await colleague(service, firm)
  const { tokens } = await tokensFor(service, app, person)
  await requireMfa(service, firm.tenantId)
  await t.rejects(oidc.refreshTokenGrant(app.config, tokens.refresh_token!), invalidGrant)
  await t.rejects(oidc.fetchUserInfo(app.config, tokens.access_token, person.id))
  await requireMfa(service, firm.tenantId, false)
  t.ok(await oidc.refreshTokenGrant(app.config, tokens.refresh_token!))
})

t.test('a second factor of today does not stand in for a connection where sso is required', async (t) => {
  const firm = await service.signUp()
  const app = await openApplication(service, firm)
  const { tokens } = await tokensFor(service, app, firm)
  const ask = () => oidc.fetchUserInfo(app.config, tokens.access_token, firm.id)
  await look(
    service,
    `update sessions set acr = 'aal2', amr = '{pwd,otp,mfa}', second_factor_at = $2 where user_id = $1`,
    [firm.id, new Date(service.now())],
  )
  t.ok(await ask())
  await look(service, `update tenants set settings = settings || '{"sso": "required"}' where id = $1`, [
    firm.tenantId,
  ])
  await t.rejects(ask())
  await look(
    service,
    `update users set email_verified_at = $2, date_joined = $2, address_since = $2 where id = $1`,
    [firm.id, new Date(service.now() - 2 * 86_400_000)],
  )
  t.ok(await ask(), 'one of a day does')
})

t.test('grants push no sign-in of their person out', async (t) => {
  const person = await colleague(service, owner)
  const { tokens } = await tokensFor(service, shop, person, { scope: 'openid offline_access' })
  const ofGrants = async () =>
    (
      await look(service, `select from sessions where user_id = $1 and kind = 'grant' and ended_at is null`, [
        person.id,
      ])
    ).length
  await look(
    service,
    `insert into sessions (id, kind, user_id, tenant_id, acr, amr, auth_time, created_at, last_used_at, expires_at)
     select gen_random_uuid(), 'grant', $1, $2, 'aal1', '{pwd}', $3, $3, $3, $4 from generate_series(1, 1000)`,
    [person.id, owner.tenantId, new Date(service.now() + 1_000), new Date(service.now() + 86_400_000)],
  )
  await service.logIn(person)
  t.equal((await person.get('/api/v1/users/me/')).status, 200)
  t.equal(await ofGrants(), 1_001)
  service.advance(2_000)
  await tokensFor(service, shop, person, { scope: 'openid offline_access' })
  t.equal(await ofGrants(), 1_000, 'those of grants have a limit of their own')
  await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.refresh_token!), invalidGrant, 'the oldest end')
})

t.test('a browser that visits applications of many organisations stays in its console', async (t) => {
  const browser = openBrowser(service)
  const person = await colleague(service, owner)
  const inConsole = () =>
    look(
      service,
      `select from browser_sessions c join refresh_families f on f.id = c.family_id where c.kind = 'console' and f.user_id = $1`,
      [person.id],
    )
  await browser.visit('/sign-in/?return_to=/console/enter/')
  await signIn(browser, person)
  await browser.visit('/console/enter/')
  t.equal((await inConsole()).length, 1)
  for (let n = 0; n < 22; n++) {
    await browser.visit('/sign-in/organisation/')
    await browser.send({ tenant_id: n % 2 ? owner.tenantId : person.tenantId })
  }
  t.equal((await inConsole()).length, 1)
})
