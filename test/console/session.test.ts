import { randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { changeRows, codeAt, codeIn, enrol, requireMfa, startBeside } from '../identity/otp/authenticator.ts'
import { openBrowser } from './browser-client.ts'

const service = await sharedService(t)
const me = '/console/api/users/me/'
const minutes = 60_000

t.test(
  'a person signs in with a cookie that scripts cannot read, reads, changes, and signs out',
  async (t) => {
    const person = await service.register()
    const browser = openBrowser(service)
    t.match(await browser.call('GET', '/console/session/'), { status: 200, body: { authenticated: false } })
    const answer = await browser.signIn(person)
    t.strictSame([answer.status, answer.body], [200, { authenticated: true }])
    t.match(browser.set, /^bailiwick=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    t.match(await browser.call('GET', '/console/session/'), {
      status: 200,
      body: { authenticated: true, user: { email: person.email } },
    })
    const profile = await browser.call('GET', me)
    t.match([profile.status, profile.body.id], [200, person.id])
    t.equal(profile.headers.get('cache-control'), 'no-store')
    const etag = profile.headers.get('etag')!
    const change = { first_name: 'Grace' }
    t.match(await browser.call('PATCH', me, change, { 'if-match': etag }), { status: 200, body: change })
    t.match(
      await browser.call('PATCH', me, change, { 'if-match': etag }),
      { status: 412 },
      'the same pipeline',
    )
    const search = { subject: { type: 'user', id: person.id }, resource: { type: 'department', id: 'new' } }
    t.match(
      await browser.call('POST', '/console/api/access/search/action', search),
      { status: 200, body: { results: [{ name: 'create' }, { name: 'list' }] } },
      'searches of AuthZEN',
    )
    const { cookie } = browser
    t.match(await browser.call('DELETE', '/console/session/'), {
      status: 200,
      body: { authenticated: false },
    })
    t.match(browser.set, /^bailiwick=; Max-Age=0;/)
    t.match(await browser.call('GET', me, undefined, { cookie }), {
      status: 401,
      body: { code: 'not_authenticated' },
    })
    const { body } = await (await service.logIn(person)).get('/api/v1/auth/sessions/')
    t.equal(body.results.length, 1, 'the session of the console has ended, too')
  },
)

t.test('each second factor completes a sign-in, with a new cookie', async (t) => {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  const { body } = await person.post('/api/v1/auth/otp/static/generate/')
  const codes: Record<string, (browser: ReturnType<typeof openBrowser>) => Promise<string>> = {
    totp: async () => {
      service.advance(minutes)
      return codeAt(secret, service.now())
    },
    static: async () => body.codes[0],
    email: async (browser) => {
      const sent = await browser.call('POST', '/console/session/second-factor/email/')
      t.match(sent, { status: 200, body: { message: 'OTP code sent' } })
      return codeIn(await service.mailTo(person.email, 'sign-in code'))
    },
  }
  for (const [type, codeOf] of Object.entries(codes)) {
    const browser = openBrowser(service)
    const asked = await browser.signIn(person)
    const waits = { authenticated: false, otp_required: true, methods: ['totp', 'email', 'static'] }
    t.match(asked, { status: 200, body: waits }, type)
    t.match(await browser.call('GET', '/console/session/'), { status: 200, body: waits }, 'after a reload')
    t.match(await browser.call('GET', me), { status: 401, body: { code: 'otp_required' } })
    const { cookie: waiting } = browser
    const shown = await browser.call('POST', '/console/session/second-factor/', {
      code: await codeOf(browser),
    })
    t.match(shown, { status: 200, body: { authenticated: true, device_type: type } })
    t.not(browser.cookie, waiting)
    t.match(await browser.call('GET', me), { status: 200 })
    t.match(
      await browser.call('GET', me, undefined, { cookie: waiting }),
      { status: 401 },
      'the first is over',
    )
  }
})

t.test(
  'the tenant is chosen at the sign-in, and switched under the same cookie, or with its second factor under a new one',
  async (t) => {
    const owner = await service.signUp()
    const person = await colleague(service, owner)
    const { secret } = await enrol(service, person)
    await changeRows(
      service,
      `update otp_devices set confirmed_at = confirmed_at - interval '2 days' where user_id = '${person.id}'`,
    )
    const beside = await startBeside(t, service, { OTP_REQUIRED_WHEN_ENROLLED: 'false' })
    const browser = openBrowser(service, beside)
    await browser.signIn(person, { tenant_id: owner.tenantId })
    const tenantIn = async () => (await browser.call('GET', me)).body.current_tenant.id
    t.equal(await tenantIn(), owner.tenantId)
    const { cookie } = browser
    const { body: profile } = await browser.call('GET', me)
    const own = profile.memberships.find(
      ({ tenant }: { tenant: { id: string } }) => tenant.id !== owner.tenantId,
    ).tenant.id
    const switchTo = (tenant_id: string) =>
      browser.call('POST', '/console/api/auth/switch-tenant/', { tenant_id })
    t.match(await switchTo(own), { status: 200, body: { authenticated: true } })
    t.equal(await tenantIn(), own)
    t.equal(browser.cookie, cookie)
    await requireMfa(service, owner.tenantId)
    const refused = await switchTo(owner.tenantId)
    t.match(refused, { status: 401, body: { code: 'otp_required', otp_required: true } })
    t.equal(await tenantIn(), own, 'the session goes on in its tenant')
    service.advance(minutes)
    const again = { code: codeAt(secret, service.now()) }
    t.match(await browser.call('POST', '/console/api/auth/otp/verify/', again), { status: 200 })
    t.equal(await tenantIn(), own, 'a factor that is shown for a change in a tenant does not leave it')
    service.advance(minutes)
    const code = codeAt(secret, service.now())
    t.match(await browser.call('POST', '/console/session/second-factor/', { code }), {
      status: 200,
      body: { authenticated: true },
    })
    t.equal(await tenantIn(), owner.tenantId)
    t.not(browser.cookie, cookie)
  },
)

t.test('a second factor sets a new cookie and ends the old one', async (t) => {
  const person = await service.signUp()
  const browser = openBrowser(service)
  await browser.signIn(person)
  const copies: string[] = []
  const changes = async (what: string, act: () => Promise<{ status: number }>) => {
    copies.push(browser.cookie)
    t.equal((await act()).status, 200, what)
    t.notOk(copies.includes(browser.cookie), `${what}: a new cookie`)
    t.match(await browser.call('GET', me), { status: 200 })
    for (const cookie of copies)
      t.match(
        await browser.call('GET', me, undefined, { cookie }),
        { status: 401, body: { code: 'not_authenticated' } },
        `${what}: the copies are over`,
      )
  }
  const setUp = await browser.call('POST', '/console/api/auth/otp/totp/setup/')
  const code = () => codeAt(setUp.body.secret, service.now())
  await changes('the first code of an app', () =>
    browser.call('POST', '/console/api/auth/otp/totp/confirm/', { code: code() }),
  )
  service.advance(minutes)
  await changes('a code', () => browser.call('POST', '/console/api/auth/otp/verify/', { code: code() }))
  const { cookie } = browser
  const wrong = await browser.call('POST', '/console/api/auth/otp/verify/', { code: '000000' })
  t.same([wrong.status, browser.cookie], [400, cookie], 'a wrong code changes nothing')
})

t.test('the session is checked again when an access token would have expired', async (t) => {
  const owner = await service.signUp()
  const person = await colleague(service, owner)
  const browser = openBrowser(service)
  await browser.signIn(person, { tenant_id: owner.tenantId })
  service.advance(16 * minutes)
  const answers = await Promise.all([1, 2, 3].map(() => browser.call('GET', me)))
  t.strictSame(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  await requireMfa(service, owner.tenantId)
  t.match(await browser.call('GET', me), { status: 200 })
  service.advance(16 * minutes)
  const state = { authenticated: false, otp_required: true, methods: ['email'] }
  t.match(await browser.call('GET', '/console/session/'), { status: 200, body: state }, 'the first to notice')
  t.match(await browser.call('GET', me), { status: 401, body: { code: 'otp_required', methods: ['email'] } })
  await browser.call('POST', '/console/session/second-factor/email/')
  t.match(
    await browser.call('GET', '/console/session/'),
    { status: 200, body: state },
    'the mailed code stays',
  )
  const code = codeIn(await service.mailTo(person.email, 'code'))
  t.match(await browser.call('POST', '/console/session/second-factor/', { code }), { status: 200 })
  t.match(await browser.call('GET', me), { status: 200 })
  service.advance(8 * 24 * 60 * minutes)
  t.match(await browser.call('GET', me), { status: 401 }, 'unused for longer than a refresh token lives')
})

t.test('a running session sets up the first factor that its tenant begins to demand', async (t) => {
  const owner = await service.signUp()
  const person = await colleague(service, owner)
  const browser = openBrowser(service, await startBeside(t, service, { OTP_EMAIL_ENABLED: 'false' }))
  await browser.signIn(person, { tenant_id: owner.tenantId })
  await requireMfa(service, owner.tenantId)
  service.advance(16 * minutes)
  const state = { authenticated: false, otp_required: true, methods: [] }
  t.match(await browser.call('GET', '/console/session/'), { status: 200, body: state })
  const begun = await browser.call('POST', '/console/session/second-factor/app/', { name: 'Phone' })
  t.match(begun, { status: 200, body: { device: { name: 'Phone' } } })
  const code = codeAt(begun.body.secret, service.now())
  t.match(await browser.call('POST', '/console/session/second-factor/app/confirm/', { code }), {
    status: 200,
    body: { authenticated: true, confirmed: true },
  })
  t.match(await browser.call('GET', me), { status: 200, body: { current_tenant: { id: owner.tenantId } } })
})

t.test('a person signs out also when no calls are left', async (t) => {
  const person = await service.register()
  const env = { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_PER_USER: '1' }
  const browser = openBrowser(service, await startBeside(t, service, env))
  await browser.signIn(person)
  t.match(await browser.call('GET', me), { status: 200 })
  t.match(await browser.call('GET', me), { status: 429 })
  const { cookie } = browser
  t.match(await browser.call('DELETE', '/console/session/'), { status: 200, body: { authenticated: false } })
  t.match(browser.set, /^bailiwick=; Max-Age=0;/)
  service.advance(2 * minutes)
  t.match(await browser.call('GET', me, undefined, { cookie }), {
    status: 401,
    body: { code: 'not_authenticated' },
  })
})

t.test('a session that ends elsewhere ends at the next request', async (t) => {
  const person = await service.signUp()
  const browser = openBrowser(service)
  await browser.signIn(person)
  await person.post('/api/v1/auth/logout-all/')
  t.match(await browser.call('GET', me), { status: 401, body: { code: 'session_revoked' } })
  t.match(await browser.call('GET', '/console/session/'), { status: 200, body: { authenticated: false } })
  t.match(await browser.call('DELETE', '/console/session/'), { status: 200 })
})

t.test('a new person who accepts an invitation is signed in', async (t) => {
  const owner = await service.signUp()
  const email = `invited.${randomUUID()}@example.com`
  await owner.post(`/api/v1/tenants/${owner.tenantId}/invitations/`, { email, role: 'member' })
  const token = tokenIn(await service.mailTo(email))
  const browser = openBrowser(service)
  const joined = await browser.call('POST', '/console/api/invitations/accept/', {
    token,
    password: 'a quiet harbour',
  })
  t.match(joined, { status: 200, body: { authenticated: true, tenant: { id: owner.tenantId } } })
  t.match(await browser.call('GET', me), { status: 200, body: { email } })
})

t.test('an owner acts as a member, sees it, and is themselves again', async (t) => {
  const owner = await service.signUp()
  const { secret } = await enrol(service, owner)
  const member = await colleague(service, owner)
  service.advance(minutes)
  const browser = openBrowser(service)
  await browser.signIn(owner)
  const code = codeAt(secret, service.now())
  t.match(await browser.call('POST', '/console/session/second-factor/', { code }), { status: 200 })
  const members = `/console/api/tenants/${owner.tenantId}/members/`
  const { body } = await browser.call('GET', `${members}?user_id=${member.id}`)
  const mid = body.results[0].id
  const act = () => browser.call('POST', `${members}${mid}/impersonate/`, { reason: 'The list is empty' })
  const state = async () => (await browser.call('GET', '/console/session/')).body
  const begun = await act()
  t.strictSame([begun.status, begun.body], [200, { expires_in: 900 }], 'the browser gets no token')
  t.match(await state(), { user: { id: member.id, impersonator: { id: owner.id, email: owner.email } } })
  t.match(await act(), { status: 403, body: { code: 'impersonation_not_allowed' } })
  const switching = await browser.call('POST', '/console/api/auth/switch-tenant/', {
    tenant_id: owner.tenantId,
  })
  t.match(switching, { status: 403, body: { code: 'impersonation_not_allowed' } })
  t.match(await browser.call('DELETE', '/console/session/impersonation/'), {
    status: 200,
    body: { user: { id: owner.id, impersonator: null } },
  })
  t.match(await state(), { user: { id: owner.id, impersonator: null } })

  await act()
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/members/${mid}/`, { status: 'suspended' })
  t.match(await browser.call('GET', me), { status: 403 })
  t.match(await state(), { user: { id: owner.id } }, 'what may no longer be ends')
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/members/${mid}/`, { status: 'active' })

  await act()
  t.match(await state(), { user: { id: member.id } })
  service.advance(15 * minutes)
  t.match(await state(), { user: { id: owner.id } }, 'it ends by itself')
  service.advance(minutes)
  const again = { code: codeAt(secret, service.now()), device_type: 'totp' }
  t.match(await browser.call('POST', '/console/api/auth/otp/verify/', again), { status: 200 })
  await act()
  const { cookie } = browser
  await browser.call('DELETE', '/console/session/')
  t.match(await browser.call('GET', me, undefined, { cookie }), { status: 401 })
  const sessions = await (await service.logIn(member)).get('/api/v1/auth/sessions/')
  t.ok(sessions.body.results.length >= 2, "the member's own sessions go on")
})
