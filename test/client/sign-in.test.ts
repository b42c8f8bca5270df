import { readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import express from 'express'
import fastify from 'fastify'
import Koa from 'koa'
import t, { type Test } from 'tap'
import { NoAnswer } from '../../packages/client/exports.ts'
import { expressSignIn } from '../../packages/client/express.ts'
import { fastifySignIn, sessionOf } from '../../packages/client/fastify.ts'
import { koaSignIn } from '../../packages/client/koa.ts'
import { nextSignIn } from '../../packages/client/next.ts'
import { sealer } from '../../packages/client/sign-in/sealed-cookies.ts'
import { sealSession } from '../../packages/client/sign-in/session.ts'
import { createSignIn, type SignIn, type SignInOptions } from '../../packages/client/sign-in/sign-in.ts'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { freePort } from '../interop/programs.ts'
import { authorize, openApplication, openBrowser } from '../oauth/relying-party.ts'
import { openPages } from '../pages/sign-in/page-client.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const member = await colleague(service, owner)
const { client, secret } = await openApplication(service, owner, {
  redirect_uris: ['http://127.0.0.1/auth/callback'],
  scopes: ['openid', 'profile', 'email', 'roles'],
  post_logout_redirect_uris: ['http://127.0.0.1/bye'],
})
const options: SignInOptions = {
  issuer: service.deps.publicUrl(),
  clientId: client.id,
  clientSecret: secret,
  baseUrl: 'http://127.0.0.1:4000',
  cookieSecret: 'x'.repeat(32),
  afterSignOut: '/bye',
}

const listening = async (t: Test, listener: RequestListener) => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Each framework with the same application, which answers who is signed in. */
const frameworks: Record<string, (t: Test, signIn: SignIn) => Promise<string>> = {
  Koa(t, signIn) {
    const app = new Koa()
    app.use(koaSignIn(signIn))
    app.use((ctx) => {
      ctx.body = ctx.state.session?.claims.email ?? 'signed out'
    })
    return listening(t, app.callback())
  },
  Express(t, signIn) {
    const app = express()
    app.use(expressSignIn(signIn))
    app.use((_req, res) => void res.send(res.locals.session?.claims.email ?? 'signed out'))
    return listening(t, app)
  },
  async Fastify(t, signIn) {
    const app = fastify()
    app.addHook('onRequest', fastifySignIn(signIn))
    app.get('/*', async (request) => sessionOf(request)?.claims.email ?? 'signed out')
    t.teardown(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' })
  },
  Next(t, signIn) {
    // As Next passes what its proxy answers on to a page.
    const next = ({ request }: { request: { headers: Headers } }) =>
      new Response(null, { headers: { 'x-cookie': request.headers.get('cookie') ?? '' } })
    const proxy = nextSignIn(signIn, { next })
    return listening(t, async ({ url = '', method = '', headers }, answer) => {
      const request = new Request(`http://app.example${url}`, {
        method,
        headers: headers as Record<string, string>,
      })
      const given = await proxy(request)
      const location = given.headers.get('location')
      if (location) given.headers.set('location', new URL(location).href.replace('http://app.example', ''))
      const cookie = given.headers.get('x-cookie')
      answer.statusCode = given.status
      answer.setHeaders(given.headers)
      const email = async () => (await signIn.session(cookie))?.claims.email
      answer.end(cookie === null ? await given.text() : ((await email()) ?? 'signed out'))
    })
  },
}

/** A browser at an application, from the link to sign in to where it leads. */
async function enter(app: ReturnType<typeof openPages>, person = member, query = '?return_to=/notes%3Fa') {
  const begun = await app.visit(`/auth/sign-in${query}`)
  const asked = new URL(begun.refresh!)
  const at = await authorize(openBrowser(service), person, asked.pathname + asked.search)
  return { begun, asked, path: at.pathname + at.search, back: await app.visit(at.pathname + at.search) }
}

/** The cookie of a person who is signed in, for `handle`. */
async function signedIn(signIn: SignIn, person = member, baseUrl = options.baseUrl) {
  const begun = await signIn.handle({ method: 'GET', url: '/auth/sign-in', cookie: '' })
  const asked = new URL(begun.answer!.headers.location!)
  const { pathname, search } = await authorize(openBrowser(service), person, asked.pathname + asked.search)
  const cookie = begun.cookies[0]!.split(';')[0]
  const done = await signIn.handle({ method: 'GET', url: pathname + search, cookie })
  return { begun, done, cookie: done.cookie, baseUrl }
}

for (const [name, start] of Object.entries(frameworks))
  t.test(`${name} signs people in and out`, async (t) => {
    let at = ''
    const late: SignIn = {
      ...createSignIn(options),
      handle: (request) => createSignIn({ ...options, baseUrl: at }).handle(request),
    }
    at = await start(t, late)
    const app = openPages({ url: at })
    t.equal((await app.visit('/')).text, 'signed out')
    const { begun, asked, back } = await enter(app)
    t.equal(begun.status, 303)
    t.match(Object.fromEntries(asked.searchParams), {
      code_challenge_method: 'S256',
      scope: 'openid profile email',
    })
    t.equal(back.refresh, '/notes?a')
    t.match(
      back.headers.getSetCookie().join('\n'),
      /-session=ey\S+; Path=\/; Max-Age=2592000; HttpOnly; SameSite=Lax$/m,
    )
    t.equal((await app.visit('/notes?a')).text, member.email)
    t.equal((await app.visit('/auth/sign-out')).status, 405, 'a link does not sign out')
    const left = await app.post('/auth/sign-out', {})
    t.equal(left.status, 303)
    const out = new URL(left.refresh!)
    t.equal(out.pathname, '/oauth/logout')
    t.equal(out.searchParams.get('post_logout_redirect_uri'), `${at}/bye`)
    t.equal((await app.visit('/')).text, 'signed out')
    t.equal((await openBrowser(service).visit(out.pathname + out.search)).refresh, `${at}/bye`)
  })

t.test('the example of the how-to signs people in, and asks for a second factor', async (t) => {
  const folder = join(import.meta.dirname, '../../docs/how-to')
  const page = readFileSync(join(folder, 'sign-in-from-node.md'), 'utf8')
  t.ok(page.includes(readFileSync(join(folder, 'examples/shop.ts'), 'utf8')))
  const port = await freePort()
  const BASE_URL = `http://127.0.0.1:${port}`
  const { issuer: BAILIWICK_URL, clientId: CLIENT_ID, clientSecret, cookieSecret } = options
  const env = { BASE_URL, BAILIWICK_URL, CLIENT_ID, CLIENT_SECRET: clientSecret, COOKIE_SECRET: cookieSecret }
  Object.assign(process.env, env, { PORT: String(port) })
  t.teardown(() => {
    for (const name of [...Object.keys(env), 'PORT']) delete process.env[name]
  })
  const { server } = await import('../../docs/how-to/examples/shop.ts')
  t.teardown(() => server.close())
  const app = openPages({ url: BASE_URL })
  const { refresh } = await app.visit('/orders')
  t.equal(refresh, '/auth/sign-in?return_to=%2Forders')
  t.equal((await enter(app, member, refresh!.slice('/auth/sign-in'.length))).back.refresh, '/orders')
  const orders = JSON.parse((await app.visit('/orders')).text)
  t.match(orders, { of: member.id, in: owner.tenantId, roles: ['member'] })
  const stronger = (await app.visit('/delete')).refresh!
  t.match((await app.visit(stronger)).refresh, /acr_values=aal2/)
})

t.test('tabs sign in side by side, and a callback counts once, in its own browser', async (t) => {
  const signIn = createSignIn(options)
  const ask = (url: string, cookie = '') => signIn.handle({ method: 'GET', url, cookie })
  const first = await ask('/auth/sign-in?return_to=/one')
  const cookie = first.cookies[0]!.split(';')[0]!
  const second = await ask('/auth/sign-in?return_to=/two', cookie)
  t.equal(second.cookies[0], first.cookies[0], 'both tabs have one cookie')
  const callbackOf = async ({ answer }: typeof first) => {
    const { pathname, search } = new URL(answer!.headers.location!)
    const back = await authorize(openBrowser(service), member, pathname + search)
    return back.pathname + back.search
  }
  const [one, two] = [await callbackOf(first), await callbackOf(second)]

  const stranger = await ask(two, (await ask('/auth/sign-in')).cookies[0]!.split(';')[0])
  t.match(stranger, { session: null, cookies: [], answer: { status: 400, body: /state_not_valid/ } })
  const entered = await ask(one, cookie)
  t.match(entered, { session: { userId: member.id, tenantId: owner.tenantId }, answer: { status: 303 } })
  t.equal(entered.answer!.headers.location, '/one')
  const again = await ask(one, entered.cookie.replace(cookie, ''))
  t.match(again, { session: { userId: member.id }, cookies: [], answer: { headers: { location: '/one' } } })
  t.match((await ask(two, cookie)).answer!.headers, { location: '/two' })

  const mixed = await ask(
    `${(await callbackOf(first)).replace(/iss=[^&]*/, 'iss=https://evil.example')}`,
    cookie,
  )
  t.match(mixed, { session: null, answer: { status: 400, body: /invalid_response/ } })
  const forged = await ask(
    `/auth/callback?state=${first.answer!.headers.location!.match(/state=([^&]*)/)![1]}&code=x`,
    cookie,
  )
  t.match(forged, { session: null, answer: { status: 400 } })
})

t.test(
  'a browser comes back to a path of the application alone, and reads why a sign-in failed',
  async (t) => {
    const app = openPages({ url: await listening(t, () => undefined) })
    t.ok(app)
    const signIn = createSignIn(options)
    const returned = async (to: string) => {
      const { answer, cookies } = await signIn.handle({ method: 'GET', url: signIn.pathTo(to), cookie: '' })
      const state = new URL(answer!.headers.location!).searchParams.get('state')!
      const opened = await sealer([options.cookieSecret as string], client.id).open<{ returnTo: string }>(
        'state',
        state,
      )
      t.equal(cookies.length, 1)
      return opened!.returnTo
    }
    for (const to of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/a b',
      '/\t/evil.example',
      'x',
      `/${'x'.repeat(1_000)}`,
    ])
      t.equal(await returned(to), '/', to.slice(0, 20))
    for (const to of ['/', '/notes?a=1&b#c', '/%2F%2Fevil.example']) t.equal(await returned(to), to)
    t.equal(await returned('/日/ü%20'), '/%E6%97%A5/%C3%BC%20', 'a header has ASCII alone')

    const failing = async (signIn: SignIn, error: string) => {
      const begun = await signIn.handle({ method: 'GET', url: '/auth/sign-in?prompt=none', cookie: '' })
      const { searchParams } = new URL(begun.answer!.headers.location!)
      t.equal(searchParams.get('prompt'), 'none')
      const query = new URLSearchParams({
        error,
        error_description: '<b>',
        state: searchParams.get('state')!,
        iss: options.issuer,
      })
      const failed = {
        method: 'GET',
        url: `/auth/callback?${query}`,
        cookie: begun.cookies[0]!.split(';')[0],
      }
      return (await signIn.handle(failed)).answer!
    }
    t.match(await failing(signIn, 'access_denied'), { status: 403, body: /<code>access_denied<\/code>/ })
    t.match(await failing(signIn, 'server_error'), { status: 503, body: /does not answer/ })
    const odd = await failing(signIn, '<i>')
    t.match(odd, { status: 400, body: /invalid_request/ })
    t.notMatch(odd.body, /<[ib]>/)
    const told: unknown[] = []
    const own = createSignIn({ ...options, failurePath: '/failed', onError: (error) => told.push(error) })
    t.match((await failing(own, 'login_required')).headers, { location: '/failed?error=login_required' })
    t.equal(told.length, 1)
  },
)

t.test('requests at the same time share a refresh, and a session ends with the membership', async (t) => {
  const guest = await colleague(service, owner)
  const signIn = createSignIn({ ...options, recheckSeconds: 1 })
  const { cookie } = await signedIn(signIn, guest)
  const ask = () => signIn.handle({ method: 'GET', url: '/', cookie })
  const all = await Promise.all(Array.from({ length: 8 }, ask))
  t.equal(new Set(all.map(({ session }) => session!.accessToken())).size, 1)
  t.equal(all[0]!.session!.userId, guest.id)
  t.equal(
    (await ask()).session!.accessToken(),
    all[0]!.session!.accessToken(),
    'a request that comes late, too',
  )
  t.notMatch(JSON.stringify(all[0]!.session), all[0]!.session!.accessToken())

  const down = createSignIn({ ...options, issuer: 'http://127.0.0.1:1', recheckSeconds: 1 })
  await t.rejects(down.handle({ method: 'GET', url: '/', cookie }), NoAnswer)
  await t.rejects(down.ready())
  const unavailable = await down.handle({ method: 'GET', url: '/auth/sign-in', cookie: '' })
  t.match(unavailable.answer, { status: 503, body: /does not answer/ })
  const out = await down.handle({ method: 'POST', url: '/auth/sign-out', cookie })
  t.match(out, {
    session: null,
    answer: { headers: { location: '/bye' } },
    cookies: [/session=; Path=\/; Max-Age=0/],
  })

  const { results } = (await owner.get(`/api/v1/tenants/${owner.tenantId}/members/?user_id=${guest.id}`)).body
  await owner.delete(`/api/v1/tenants/${owner.tenantId}/members/${results[0].id}/`)
  const ended = await signIn.handle({ method: 'GET', url: '/', cookie: all[0]!.cookie })
  t.match(ended, { session: null, cookies: [/session=; Path=\/; Max-Age=0/] })
})

t.test('a cookie counts only as the application sealed it, for its own client', async (t) => {
  const signIn = createSignIn(options)
  const { cookie } = await signedIn(signIn)
  t.match(await signIn.session(cookie), { userId: member.id })
  const rotated = createSignIn({ ...options, cookieSecret: ['y'.repeat(32), options.cookieSecret as string] })
  t.match(await rotated.session(cookie), { userId: member.id }, 'an earlier secret opens it')
  t.equal(await createSignIn({ ...options, cookieSecret: 'y'.repeat(32) }).session(cookie), null)
  const [name, value = ''] = cookie
    .split(';')
    .find((one) => one.includes('-session='))!
    .trim()
    .split('=')
  t.equal(await signIn.session(`${name}=${value.slice(0, -3)}AAA`), null)
  const other = createSignIn({ ...options, clientId: `bwa_${client.id.slice(-6)}` })
  t.equal(await other.session(cookie), null, 'of another client')
  const { begun } = await signedIn(signIn)
  const state = new URL(begun.answer!.headers.location!).searchParams.get('state')
  t.equal(await signIn.session(`${name}=${state}`), null, 'a state is no session')

  const secure = createSignIn({ ...options, baseUrl: 'https://app.example.com' })
  const { cookies } = await secure.handle({ method: 'GET', url: '/auth/sign-in', cookie: '' })
  t.match(
    cookies[0],
    /^__Host-bailiwick-\w+-sign-in=\S+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure$/,
  )

  const seals = sealer([options.cookieSecret as string], client.id)
  const claims = (groups: number) => {
    const body = { sub: member.id, tenant_id: owner.tenantId, groups: Array(groups).fill('/Sales/EMEA') }
    return `e30.${Buffer.from(JSON.stringify(body)).toString('base64url')}.${'s'.repeat(512)}`
  }
  const stored = (groups: number) => ({ id: claims(groups), access: 'a', until: 0 })
  const sealed = await sealSession(seals, stored(160))
  t.ok(sealed.length <= 3_900)
  const opened = await seals.open('session', sealed)
  t.match(opened, { id: undefined, claims: { sub: member.id } }, 'a long one leaves out the ID token')
  await t.rejects(sealSession(seals, stored(400)), { code: 'session_too_large' })
})

t.test('settings that cannot work are refused', async (t) => {
  const wrong: [Partial<SignInOptions>, RegExp][] = [
    [{ cookieSecret: 'short' }, /openssl rand/],
    [{ cookieSecret: [] }, /cookieSecret/],
    [{ baseUrl: 'http://app.example.com' }, /https/],
    // Variables of the environment that are not set.
    [{ baseUrl: undefined as never }, /^baseUrl/],
    [{ issuer: undefined as never }, /^issuer/],
    [{ clientId: undefined as never }, /^clientId/],
    [{ cookieSecret: undefined as never }, /^cookieSecret/],
    [{ baseUrl: 'https://app.example.com/shop' }, /path/],
  ]
  for (const [more, message] of wrong) t.throws(() => createSignIn({ ...options, ...more }), { message })
  await createSignIn(options).ready()
  const misconfigured = createSignIn({ ...options, clientSecret: 'bws_wrong' })
  const { done } = await signedIn(misconfigured)
  t.match(done.answer, { status: 500, body: /invalid_client/ })
})
