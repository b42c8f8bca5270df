import * as oidc from 'openid-client'
import t from 'tap'
import { keyOfModel } from '../../src/oauth/store.ts'
import { colleague } from '../helpers/colleague.ts'
import { type Client, startService } from '../helpers/service.ts'
import { eventsOf, expect, look } from '../tenancy/staff.ts'
import { openOperator } from './operator.ts'
import { authorize, openApplication, openBrowser, request, signIn } from './relying-party.ts'

const service = await startService(t, {
  workers: false,
  env: {
    RATE_LIMIT_ENABLED: 'true',
    RATE_LIMIT_REGISTER_PER_HOUR: '1000',
    RATE_LIMIT_SIGN_INS_PER_ACCOUNT: '1000',
  },
})
const owner = await service.signUp()
const member = await colleague(service, owner)
const issuer = service.deps.publicUrl()
const device = { kind: 'device', redirect_uris: [] }
const tv = await openApplication(service, owner, { name: 'TV', ...device })
const scope = 'openid email'

type Started = Awaited<ReturnType<typeof oidc.initiateDeviceAuthorization>>

const start = (app = tv) => oidc.initiateDeviceAuthorization(app.config, { scope })
let used = ''
/** Asks once, at once. */
const poll = (started: Started, app = tv) =>
  oidc.pollDeviceAuthorizationGrant(app.config, { ...started, interval: 0 })
const ask = async (started: Started, { client } = tv) => {
  const answer = await fetch(`${service.url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: started.device_code,
      client_id: client.id,
    }),
  })
  return { status: answer.status, error: ((await answer.json()) as { error?: string }).error }
}
/** From the page for the code to the page that asks for consent. */
async function enter(browser: ReturnType<typeof openBrowser>, code: string, person: Client) {
  await browser.visit('/sign-in/device/')
  let seen = await browser.send({ user_code: code })
  for (let step = 0; step < 6 && !/name="decision"/.test(seen.text); step++)
    seen = /name="email"/.test(seen.text) ? await signIn(browser, person) : await browser.visit(seen.refresh!)
  return seen
}
const decide = async (browser: ReturnType<typeof openBrowser>, decision: 'allow' | 'deny') =>
  browser.visit((await browser.send({ decision })).refresh!)

t.test('a person enters the code of a device, sees what it is, and connects it', async (t) => {
  const { body } = await service.call('GET', '/.well-known/openid-configuration')
  t.match(body, { device_authorization_endpoint: `${issuer}/oauth/device_authorization` })
  t.ok(body.grant_types_supported.includes('urn:ietf:params:oauth:grant-type:device_code'))
  const started = await start()
  t.match(started, {
    user_code: /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/,
    verification_uri: `${issuer}/sign-in/device/`,
    verification_uri_complete: `${issuer}/sign-in/device/?user_code=${started.user_code}`,
    expires_in: 600,
  })
  t.same(await ask(started), { status: 400, error: 'authorization_pending' })
  const browser = openBrowser(service)
  const consent = await enter(browser, started.user_code.toLowerCase().replace('-', ' '), member)
  t.equal(consent.title, 'Continue to TV')
  t.match(consent.text, /Did you start this\?/)
  t.match(consent.text, /127\.0\.0\.1/)
  t.match(consent.text, /your email address/)
  t.equal((await decide(browser, 'allow')).title, 'Your device is connected')
  const tokens = await poll(started)
  t.match(tokens.claims(), { sub: member.id, tenant_id: owner.tenantId, email: member.email, acr: 'aal1' })
  t.ok(await oidc.fetchUserInfo(tv.config, tokens.access_token, member.id))
  t.equal((await ask(started)).error, 'invalid_grant', 'the code counts once')

  await browser.visit('/sign-in/')
  await browser.send({}, 'sign-out')
  const renewed = await oidc.refreshTokenGrant(tv.config, tokens.refresh_token!)
  t.ok(renewed.refresh_token, 'it has a session of its own, which outlives that of the browser')
  const sessions = (await expect(200, member.get('/api/v1/auth/sessions/'))).results
  const own = sessions.find((one: { kind: string }) => one.kind === 'grant')
  t.equal(own.user_agent, 'TV')
  await expect(204, member.delete(`/api/v1/auth/sessions/${own.id}/`))
  await t.rejects(oidc.refreshTokenGrant(tv.config, renewed.refresh_token!))
  t.ok((await eventsOf(service, owner.tenantId, 'application.')).includes('application.grant_created'))
})

t.test('a device gets a token for the API that it names', async (t) => {
  const resource = `${issuer}/api/v1`
  const box = await openApplication(service, owner, { ...device, scopes: ['openid', 'member:list'] })
  const asked = { scope: 'openid member:list', resource }
  const started = await oidc.initiateDeviceAuthorization(box.config, asked)
  const browser = openBrowser(service)
  const consent = await enter(browser, started.user_code, member)
  t.match(consent.text, /member:list|see the members|List members/i)
  await decide(browser, 'allow')
  const tokens = await poll(started, box)
  t.equal(tokens.scope, 'openid member:list')
  const call = (path: string) => service.call('GET', path, { token: tokens.access_token })
  t.equal((await call(`/api/v1/tenants/${owner.tenantId}/members/`)).status, 200)
  t.equal((await call(`/api/v1/tenants/${owner.tenantId}/roles/`)).status, 403)
  const elsewhere = { ...asked, resource: 'https://other.example' }
  await t.rejects(oidc.initiateDeviceAuthorization(box.config, elsewhere), {
    error: 'invalid_target',
  } as unknown as Error)
})

t.test('a link with the code fills it in, and connects nothing by itself', async (t) => {
  const started = await start()
  const browser = openBrowser(service)
  await authorize(browser, member, (await request(await openApplication(service, owner))).path)
  const { pathname, search } = new URL(started.verification_uri_complete!)
  const seen = await browser.visit(pathname + search)
  t.match(seen.text, new RegExp(`value="${started.user_code}"`))
  t.match(seen.text, /only if your device shows this very code/)
  t.equal((await ask(started)).error, 'authorization_pending')
  for (const odd of ['x', '<script>', 'ABCD-EFGH', `${started.user_code}&user_code=x`])
    t.notMatch((await browser.visit(`/sign-in/device/?user_code=${odd}`)).text, /<script>|value="ABCD/)
})

t.test('a device learns that its person refused, that it asks too often, and that it is late', async (t) => {
  const [refused, late] = [await start(), await start()]
  const browser = openBrowser(service)
  await enter(browser, refused.user_code, member)
  t.equal((await decide(browser, 'deny')).title, 'The device is not connected')
  t.same(await ask(refused), { status: 400, error: 'access_denied' })

  const other = await openApplication(service, owner, device)
  for (let n = 0; n < 2; n++) t.equal((await ask(late, other)).error, 'invalid_grant', 'of another client')
  t.equal((await ask(late)).error, 'authorization_pending')
  const many = await Promise.all(Array.from({ length: 10 }, () => ask(late)))
  t.same([...new Set(many.map(({ error }) => error))], ['slow_down'])
  service.advance(5_000)
  t.equal((await ask(late)).error, 'authorization_pending')
  const slow = openBrowser(service)
  await enter(slow, late.user_code, member)
  service.advance(600_000)
  t.equal((await decide(slow, 'allow')).title, 'This code is over')
  t.same(await ask(late), { status: 400, error: 'expired_token' })
})

t.test('of two people with one code, the first decides', async (t) => {
  const started = await start()
  const [one, two] = [openBrowser(service), openBrowser(service)]
  await enter(one, started.user_code, member)
  await enter(two, started.user_code, owner)
  const ends = await Promise.all([decide(one, 'allow'), decide(two, 'allow')])
  t.equal(ends.filter(({ title }) => title === 'Your device is connected').length, 1)
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => poll(started)))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1, 'and one poll gets tokens')
  used = started.user_code
})

t.test('the database has neither code, and what the pages name a row by opens nothing', async (t) => {
  const started = await start()
  await enter(openBrowser(service), started.user_code, member)
  const rows = JSON.stringify(await look(service, 'select * from oauth_models'))
  t.notMatch(rows, started.device_code)
  t.notMatch(rows, started.user_code.replace('-', ''))
  const [name] = /row\.[\da-f]{64}/.exec(rows) ?? []
  t.ok(name)
  t.equal((await ask({ ...started, device_code: name! })).error, 'invalid_grant')
})

t.test('another client, another kind and another browser get nothing', async (t) => {
  const started = await start()
  const other = await openApplication(service, owner, device)
  t.equal((await ask(started, other)).error, 'invalid_grant')
  const web = await openApplication(service, owner)
  await t.rejects(start(web))
  const spa = await openApplication(service, owner, { kind: 'spa' })
  await t.rejects(start(spa))
  const code = await openBrowser(service).visit((await request(tv)).path)
  t.equal(code.status, 400, 'a device has no redirect URI')
  const browser = openBrowser(service)
  await browser.visit('/sign-in/device/')
  const left = await browser.send({ user_code: started.user_code })
  const stolen = await openBrowser(service).visit(left.refresh!)
  t.equal(stolen.status, 400)
  service.advance(5_000)
  t.equal((await ask(started)).error, 'authorization_pending')
  const stranger = await service.signUp()
  const strange = openBrowser(service)
  await strange.visit('/sign-in/device/')
  const begun = await strange.send({ user_code: started.user_code })
  await strange.visit(begun.refresh!)
  const seen = await strange.visit((await signIn(strange, stranger)).refresh!)
  t.equal(seen.title, 'You cannot use TV', 'who is no member of its tenant')
  const back = await strange.visit((await strange.send({ decision: 'back' })).refresh!)
  t.equal(back.title, 'The device is not connected')
  service.advance(5_000)
  t.equal((await ask(started)).error, 'access_denied')
})

t.test('odd parameters of a device are errors of RFC 6749', async (t) => {
  const fields = { client_id: tv.client.id, scope, device_code: 'x' }
  for (const path of ['/oauth/device_authorization', '/oauth/token'])
    for (const name of ['client_id', 'scope', 'device_code', 'grant_type', 'resource', 'user_code'])
      for (const value of ['', '\0', 'ü', 'x'.repeat(5_000), '__proto__', `row.${'0'.repeat(64)}`]) {
        const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code' }
        const body = new URLSearchParams({ ...grant, ...fields, [name]: value })
        const once = await fetch(service.url + path, { method: 'POST', body })
        body.append(name, 'other')
        const twice = await fetch(service.url + path, { method: 'POST', body })
        for (const answer of [once, twice]) {
          t.ok(answer.status < 500, `${path} ${name}=${value.slice(0, 9)}: ${answer.status}`)
          t.equal(answer.headers.get('cache-control'), 'no-store')
          if (answer.status >= 400) t.type(((await answer.json()) as { error: string }).error, 'string')
        }
      }
})

t.test(
  'a device of a manifest’s client is of the organization that its request or its person names',
  async (t) => {
    const operator = openOperator(t, service)
    const scopes = ['openid', 'organization', 'offline_access']
    const applied = await operator.apply({ clients: { tv: { name: 'TV', kind: 'device', scopes } } })
    await operator.keepConsents()
    const [{ client_id: id }] = applied.json().clients
    const config = await oidc.discovery(new URL(issuer), id, undefined, oidc.None(), {
      execute: [oidc.allowInsecureRequests],
    })
    const [other, stranger] = [await service.signUp(), await service.signUp()]
    const joined = other.post(`/api/v1/tenants/${other.tenantId}/members/`, {
      user_id: member.id,
      roles: ['member'],
    })
    await expect(201, joined)
    await member.switchTo(other.tenantId)
    const { memberships } = await expect(200, member.get('/api/v1/users/me/'))
    const slug = memberships.find(({ tenant }: { tenant: { id: string } }) => tenant.id === other.tenantId)
      .tenant.slug
    const begin = (more: Record<string, string> = {}) =>
      oidc.initiateDeviceAuthorization(config, { scope: 'openid organization offline_access', ...more })
    const finish = async (started: Awaited<ReturnType<typeof begin>>) =>
      oidc.pollDeviceAuthorizationGrant(config, { ...started, interval: 0 })
    /** To the page of consent. `chosen`: on the page where a person chooses an organization. */
    const enterIn = async (
      browser: ReturnType<typeof openBrowser>,
      { user_code }: { user_code: string },
      chosen?: string,
    ) => {
      await browser.visit('/sign-in/device/')
      const follow = async (seen: Awaited<ReturnType<typeof browser.visit>>) => {
        let at = seen
        for (let step = 0; step < 6 && at.refresh; step++) at = await browser.visit(at.refresh)
        return at
      }
      const seen = await follow(await browser.send({ user_code }))
      if (!chosen) return seen
      t.equal(seen.title, 'Choose an organisation')
      return follow(await browser.send({ tenant_id: chosen }))
    }
    const browser = openBrowser(service)
    await browser.visit('/sign-in/')
    await signIn(browser, member)
    for (const [more, chosen, expected] of [
      [{ organization: other.tenantId }, undefined, other.tenantId],
      [{ scope: `openid offline_access organization:${slug}` }, undefined, other.tenantId],
      [{}, owner.tenantId, owner.tenantId],
    ] as const) {
      const started = await begin(more)
      const consent = await enterIn(browser, started, chosen)
      t.match(consent.text, /Did you start this\?/)
      await browser.visit((await browser.send({ decision: 'allow' })).refresh!)
      const tokens = await finish(started)
      t.equal(tokens.claims()!.tenant_id, expected)
      const next = await oidc.refreshTokenGrant(config, tokens.refresh_token!)
      t.equal(next.claims()!.tenant_id, expected)
      const rows = await look(
        service,
        `select distinct tenant_id from oauth_models
     where grant_id = (select grant_id from oauth_models where id_hash = decode($1, 'hex'))`,
        [keyOfModel('DeviceCode', started.device_code)],
      )
      t.same(rows, [{ tenant_id: expected }], 'what ends the person there finds all of it')
    }
    const foreign = await begin({ organization: stranger.tenantId })
    t.notMatch((await enterIn(browser, foreign)).text, /name="decision"/)
    await t.rejects(finish(foreign), { error: 'access_denied' } as never)
  },
)

t.test('an address has five wrong codes a minute', async (t) => {
  const started = await start()
  const browser = openBrowser(service)
  await browser.visit('/sign-in/device/')
  for (const code of ['', 'x', 'BCDF-GHJK', used, '☃'])
    t.match(await browser.send({ user_code: code }), { status: 400, text: /No device waits/ }, code)
  const limited = await browser.send({ user_code: started.user_code })
  t.equal(limited.status, 429, 'a right one has to wait, too')
  t.match(limited.alert, /Try again/)
})
