import { randomUUID } from 'node:crypto'
import t from 'tap'
import { listRoutes } from '../../src/start/app.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { startBeside } from '../identity/otp/authenticator.ts'
import { fromConsole, openBrowser } from './browser-client.ts'

const service = await sharedService(t)
const me = '/console/api/users/me/'
const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })

// The console's cookie, and who else could use it.

t.test('requests that another site causes are refused, also before the sign-in', async (t) => {
  const person = await service.register()
  const browser = openBrowser(service)
  await browser.signIn(person)
  const { email, password } = person
  const origin = new URL(service.url).origin
  const call = (method: string, path: string, headers: Record<string, string>) =>
    service.call(method, path, {
      ...(method !== 'GET' && { body: path === me ? { email } : { email, password } }),
      headers: { cookie: browser.cookie, ...headers },
    })
  const foreign: Record<string, Record<string, string>> = {
    'another site': { ...fromConsole, 'sec-fetch-site': 'cross-site' },
    'another host of the site': { ...fromConsole, 'sec-fetch-site': 'same-site' },
    'another site that names our origin': { ...fromConsole, 'sec-fetch-site': 'cross-site', origin },
    'a typed address': { ...fromConsole, 'sec-fetch-site': 'none' },
    'a form': { 'sec-fetch-site': 'same-origin', origin },
    'an old browser on another site': { 'x-bailiwick-console': '1', origin: 'https://evil.example' },
    'no origin': { 'x-bailiwick-console': '1' },
  }
  for (const [what, headers] of Object.entries(foreign))
    for (const [method, path] of [
      ['POST', '/console/session/'],
      ['DELETE', '/console/session/'],
      ['PATCH', me],
    ] as const)
      t.match(
        await call(method, path, headers),
        { status: 403, body: { code: 'cross_site_request' } },
        `${what}: ${method} ${path}`,
      )
  t.match(await call('GET', me, { 'sec-fetch-site': 'cross-site' }), { status: 403 })
  t.match(await call('GET', me, { 'sec-fetch-site': 'none' }), { status: 200 }, 'a typed address reads')
  t.match(
    await call('PATCH', me, { 'x-bailiwick-console': '1', origin }),
    { status: 200 },
    'plain http has Origin alone',
  )
})

t.test('a cookie that was planted before the sign-in opens nothing', async (t) => {
  const [person, attacker] = [await service.register(), await service.register()]
  const planted = openBrowser(service)
  await planted.signIn(attacker)
  const browser = openBrowser(service)
  browser.cookie = planted.cookie
  await browser.signIn(person)
  t.not(browser.cookie, planted.cookie)
  t.match(await browser.call('GET', me), { body: { id: person.id } })
  t.match(await planted.call('GET', me), { status: 401 })
  for (const cookie of [
    `${browser.cookie}; ${browser.cookie}`,
    'bailiwick=',
    'bailiwick=x',
    `${browser.cookie}x`,
  ])
    t.match(await browser.call('GET', me, undefined, { cookie }), {
      status: 401,
      body: { code: 'not_authenticated' },
    })
})

t.test('no route of the API takes the cookie, and no route of the console takes a token', async (t) => {
  const person = await service.signUp()
  const browser = openBrowser(service)
  await browser.signIn(person)
  const headers = { ...fromConsole, cookie: browser.cookie }
  for (const { method, path, access } of routes) {
    if (access !== 'token') continue
    const address = path.replace(/:\w+/g, randomUUID())
    const body = method === 'GET' ? {} : { body: {} }
    t.match(
      await service.call(method, address, { headers, ...body }),
      { status: 401, body: { code: 'not_authenticated' } },
      `${method} ${path}`,
    )
  }
  t.match(await service.call('GET', me, { token: person.access, headers: fromConsole }), { status: 401 })
})

t.test('the routes whose answers have tokens are those that the console keeps them of', async (t) => {
  const withTokens = routes.filter(({ answer }) =>
    /"(access|refresh|temporary_token)":/.test(
      JSON.stringify(answer?.toJSONSchema({ unrepresentable: 'any', io: 'input' }) ?? {}),
    ),
  )
  t.strictSame(withTokens.map(({ path }) => path).sort(), [
    '/api/v1/auth/login',
    '/api/v1/auth/magic-link/confirm',
    '/api/v1/auth/otp/totp/confirm',
    '/api/v1/auth/otp/verify',
    '/api/v1/auth/passkeys/login',
    '/api/v1/auth/passkeys/verify',
    '/api/v1/auth/refresh',
    '/api/v1/auth/switch-tenant',
    '/api/v1/invitations/accept',
    '/api/v1/tenants/:id/members/:mid/impersonate',
  ])
  const browser = openBrowser(service)
  for (const name of ['login', 'refresh'])
    t.match(await browser.call('POST', `/console/api/auth/${name}/`, {}), { status: 404 })
})

t.test(
  'behind a proxy with TLS and a prefix, the cookie belongs to the host; the console can be off',
  async (t) => {
    const person = await service.register()
    const PUBLIC_URL = 'https://id.example.com/bailiwick'
    const browser = openBrowser(service, await startBeside(t, service, { PUBLIC_URL }))
    const origin = { 'sec-fetch-site': '', origin: 'https://id.example.com' }
    t.match(await browser.signIn(person), { status: 200 })
    t.match(browser.set, /^__Host-bailiwick=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/)
    t.match(await browser.call('GET', me), { status: 200 })
    t.match(await browser.call('PATCH', me, {}, origin), { status: 200 })
    const off = openBrowser(service, await startBeside(t, service, { CONSOLE_ENABLED: 'false' }))
    t.match(await off.signIn(person), { status: 404 })
    t.match(await off.call('GET', me), { status: 404 })
  },
)
