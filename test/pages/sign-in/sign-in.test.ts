import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { mailedLinks } from '../../../src/messages/links/mailed-links.ts'
import type { Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { changeRows, codeAt, codeIn, enrol, requireMfa } from '../../identity/otp/authenticator.ts'
import { openPages } from './page-client.ts'

// People sign in on the pages of the service, in a browser without scripts.

const service = await sharedService(t)

const kindsOf = async (person: Client) => {
  const { body } = await person.get('/api/v1/auth/sessions/')
  return body.results.map(({ kind }: { kind: string }) => kind)
}

/** Goes to the password of an address. */
async function begin(email: string, path = '/sign-in/') {
  const pages = openPages(service)
  await pages.visit(path)
  await pages.send({ email })
  return pages
}

t.test('a person signs in with address and password, and is who the pages say', async (t) => {
  const person = await service.signUp({ first_name: 'Ada', last_name: 'Lovelace' })
  const pages = await begin(person.email)
  t.equal(pages.seen().title, 'Enter your password')
  t.match(await pages.send({ password: 'wrong wrong wrong' }), {
    status: 400,
    title: 'Enter your password',
    alert: 'Address and password do not match. Check both, or reset your password.',
  })
  t.notOk(pages.cookies.has('bailiwick-login'))
  const after = await pages.send({ password: person.password })
  t.match(after, { status: 200, title: 'You are signed in' })
  t.match(after.text, 'Ada Lovelace')
  t.match(pages.cookies.get('bailiwick-login'), /^[\w-]{43}$/)
  t.equal((await pages.send({}, 'sign-out')).title, 'You are signed out')
  t.notOk(pages.cookies.has('bailiwick-login'))
  t.equal((await pages.visit('/sign-in/')).title, 'Sign in')
})

t.test('a sign-in leads to a path of the service, and to no other site', async (t) => {
  const person = await service.signUp()
  const there = await begin(person.email, '/sign-in/?return_to=%2Fdocs%3Fa%3Db%26c')
  t.match(await there.send({ password: person.password }), { status: 200, refresh: '/docs?a=b&c' })
  t.match(
    await there.visit('/sign-in/?return_to=/docs'),
    { status: 303, refresh: '/docs' },
    'signed in already',
  )
  for (const foreign of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/a\\b',
    '/\t/evil.example',
  ])
    t.match(
      await there.visit(`/sign-in/?return_to=${encodeURIComponent(foreign)}`),
      { status: 200, title: 'You are signed in', refresh: null },
      foreign,
    )
})

t.test('a browser is one of the sessions that a person sees, and enters the console', async (t) => {
  const person = await service.signUp()
  const pages = await begin(person.email, '/sign-in/?return_to=/console/enter/')
  t.match(await pages.send({ password: person.password }), { refresh: '/console/enter/' })
  const { body } = await person.get('/api/v1/auth/sessions/')
  t.match(body.results, [{ kind: 'token' }, { kind: 'browser' }])
  t.match(await pages.visit('/console/enter/?to=/members'), { status: 303, refresh: '/console/members' })
  t.match(pages.cookies.get('bailiwick'), /^[\w-]{43}$/)
  t.equal((await person.delete(`/api/v1/auth/sessions/${body.results[1].id}/`)).status, 204)
  t.equal((await pages.visit('/sign-in/')).title, 'Sign in', 'ended elsewhere')
  t.equal((await pages.visit('/console/enter/')).title, 'Sign in')
})

t.test('a second factor is asked for, by app, by mail or by recovery code', async (t) => {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  const { body } = await person.post('/api/v1/auth/otp/static/generate/')
  service.advance(60_000)
  const codes: Record<string, (pages: ReturnType<typeof openPages>) => Promise<string>> = {
    app: async () => codeAt(secret, service.now()),
    recovery: async () => body.codes[0],
    mail: async (pages) => {
      await pages.send({}, 'code/mail')
      return codeIn(await service.mailTo(person.email, 'sign-in code'))
    },
  }
  for (const [name, codeOf] of Object.entries(codes)) {
    const pages = await begin(person.email)
    t.match(await pages.send({ password: person.password }), { title: 'Confirm that it is you' }, name)
    const waiting = pages.cookies.get('bailiwick-login')
    t.match(await pages.send({ code: '000000' }), { status: 400, title: 'Confirm that it is you' })
    t.match(await pages.visit('/sign-in/'), { title: 'Confirm that it is you' }, 'it waits')
    t.match(await pages.send({ code: await codeOf(pages) }), { title: 'You are signed in' }, name)
    t.not(pages.cookies.get('bailiwick-login'), waiting, 'another cookie')
  }
})

t.test('a code is mailed at once where no other factor can be shown', async (t) => {
  const person = await service.signUp()
  await requireMfa(service, person.tenantId)
  const pages = await begin(person.email)
  await pages.send({ password: person.password })
  t.match(pages.seen().text, `Enter the code that we mailed to ${person.email}.`)
  const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
  t.equal((await pages.send({ code })).title, 'You are signed in')
})

t.test('a form of another browser, or of another site, is refused', async (t) => {
  const person = await service.signUp()
  const [own, other] = [await begin(person.email), await begin(person.email)]
  const token = /name="form_token" value="([^"]*)"/.exec(other.seen().text)![1]!
  const fields = { form_token: token, password: person.password }
  t.match(await own.post('/sign-in/password/', fields), { status: 403, title: 'This did not work' })
  for (const site of ['cross-site', 'same-site', 'none'])
    t.match(await other.post('/sign-in/password/', fields, { 'Sec-Fetch-Site': site }), { status: 403 }, site)
  t.match(await other.post('/sign-in/password/', fields), { status: 200, title: 'You are signed in' })
})

t.test(
  'who takes more than 15 minutes begins again, and still ends where the application wants',
  async (t) => {
    const person = await service.signUp()
    const pages = await begin(person.email, '/sign-in/?return_to=/docs')
    service.advance(899_000)
    t.match(await pages.send({ password: 'wrong wrong wrong' }), { title: 'Enter your password' })
    service.advance(899_000)
    t.match(await pages.visit('/sign-in/password/?return_to=/docs'), { title: 'Enter your password' })
    service.advance(901_000)
    t.match(await pages.send({ password: person.password }), {
      status: 403,
      alert: 'More than 15 minutes went by since the page was opened. Begin again.',
    })
    t.notOk(pages.cookies.has('bailiwick-login'))
    const [, next = ''] = /class="button" href="([^"]*)"/.exec(pages.seen().text)!
    t.match(await pages.visit(next), { title: 'Sign in' })
    t.notMatch(pages.seen().text, person.email, 'the next person of the browser does not read the address')
    await pages.send({ email: person.email })
    t.match(await pages.send({ password: person.password }), { refresh: '/docs' })
  },
)

t.test('the cookie of a flow is never too large for a browser', async (t) => {
  const pages = openPages(service)
  const path = `/docs?${'a'.repeat(1_990)}`
  const email = `${'l'.repeat(60)}@${'long.'.repeat(36)}example.com`
  await pages.visit(`/sign-in/register/?return_to=${encodeURIComponent(path)}&ui_locales=en`)
  await pages.send({ email, password: 'a nanosecond of wire' })
  for (const { page } of Object.values(mailedLinks)) await pages.visit(`${page}?token=${'t'.repeat(43)}`)
  const size = pages.cookies.get('bailiwick-flow')!.length
  t.ok(size < 4_000, `${size} characters`)
  t.match(await pages.visit('/sign-in/register/sent/'), { title: 'Look into your mailbox' }, 'it goes on')
  const person = await service.signUp()
  await pages.visit(`/sign-in/?return_to=${encodeURIComponent(path)}`)
  await pages.send({ email: person.email })
  t.match(
    await pages.send({ password: person.password }),
    { refresh: path },
    'the forms have the whole way back',
  )
})

t.test('the pages speak German to those who do', async (t) => {
  const pages = openPages(service, { headers: { 'Accept-Language': 'de-AT, en;q=0.5' } })
  const seen = await pages.visit('/sign-in/')
  t.match(seen, { title: 'Anmelden' })
  t.match(seen.text, '<html lang="de">')
  t.equal((await pages.visit('/sign-in/?ui_locales=en')).title, 'Sign in')
  t.equal((await pages.visit('/sign-in/')).title, 'Sign in', 'it is kept')
})

t.test('the pages speak the language of the person who is signed in', async (t) => {
  const person = await service.signUp()
  await person.patch('/api/v1/users/me/', { locale: 'de-AT' })
  const pages = await begin(person.email)
  t.match(await pages.send({ password: person.password }), { title: 'Sie sind angemeldet' })
  t.match(pages.seen().text, '<html lang="de">')
  t.match(await pages.visit('/sign-in/?ui_locales=en'), { title: 'You are signed in' })
})

t.test('headers and addresses of any length cost nothing, and lead nowhere', async (t) => {
  const spaces = ' '.repeat(20_000)
  const dashes = '-'.repeat(7_000)
  const begun = process.cpuUsage()
  for (const languages of [`a${spaces}x`, `a${dashes}`, ';'.repeat(20_000)])
    t.match(await openPages(service, { headers: { 'Accept-Language': languages } }).visit('/sign-in/'), {
      status: 200,
    })
  t.match(await openPages(service).visit(`/sign-in/?ui_locales=${dashes}`), { status: 200 })
  const { user } = process.cpuUsage(begun)
  t.ok(user < 1_000_000, `${user} µs`)
  const person = await service.signUp()
  const pages = await begin(person.email)
  await pages.send({ password: person.password })
  for (const path of ['/漢', '/é', `/${'a'.repeat(2_000)}`])
    t.match(
      await pages.visit(`/sign-in/?return_to=${encodeURIComponent(path)}`),
      { status: 200, title: 'You are signed in' },
      path.slice(0, 5),
    )
})

t.test('a browser signs out also where its person may no longer call', async (t) => {
  const person = await service.signUp()
  const pages = await begin(person.email)
  await pages.send({ password: person.password })
  const { cookies } = pages
  const copy = cookies.get('bailiwick-login')!
  await changeRows(service, `update memberships set status = 'suspended' where user_id = '${person.id}'`)
  service.advance(16 * 60_000)
  const shutOut = { status: 403, title: 'This did not work' }
  t.match(await pages.visit('/sign-in/'), { ...shutOut, alert: /^You are no longer a member/ })
  t.match(pages.seen().text, '>Sign in with another address</a>')
  t.equal((await pages.send({}, 'sign-out')).title, 'You are signed out')
  t.notOk(cookies.has('bailiwick-login'))
  await changeRows(service, `update memberships set status = 'active' where user_id = '${person.id}'`)
  const thief = openPages(service)
  thief.cookies.set('bailiwick-login', copy)
  t.equal((await thief.visit('/sign-in/')).title, 'Sign in', 'nor does a copy open it')
})

t.test('the next person of a browser does not enter the console as the one before', async (t) => {
  const [ada, bob] = [await service.signUp(), await service.signUp()]
  const pages = await begin(ada.email)
  await pages.send({ password: ada.password })
  await pages.visit('/console/enter/')
  t.ok(pages.cookies.has('bailiwick'))
  await pages.visit('/console/enter/')
  const rows = `select count(*)::int as n from browser_sessions b join refresh_families f on f.id = b.family_id where f.user_id = '${ada.id}' and b.kind = 'console'`
  t.same(await changeRows(service, rows), [{ n: 1 }], 'a browser has one cookie of the console')
  await pages.visit('/sign-in/address/')
  await pages.send({ email: bob.email })
  await pages.send({ password: bob.password })
  t.notOk(pages.cookies.has('bailiwick'))
  t.same(await kindsOf(ada), ['token'], 'nor does their session go on')
  t.same(await kindsOf(bob), ['token', 'browser'])
  const carl = await service.signUp()
  await requireMfa(service, carl.tenantId)
  await pages.visit('/sign-in/address/')
  await pages.send({ email: carl.email })
  t.match(await pages.send({ password: carl.password }), { title: 'Confirm that it is you' })
  t.same(await kindsOf(bob), ['token'], 'also where the next one still has to show a factor')
})

t.test('no picture, frame or script enters the console', async (t) => {
  const person = await service.signUp()
  const pages = await begin(person.email)
  await pages.send({ password: person.password })
  for (const kind of ['image', 'iframe', 'empty', 'script']) {
    t.match(
      await pages.visit('/console/enter/', { headers: { 'Sec-Fetch-Dest': kind } }),
      { status: 403 },
      kind,
    )
    t.notOk(pages.cookies.has('bailiwick'), kind)
  }
  await pages.visit('/console/enter/', { headers: { 'Sec-Fetch-Dest': 'document' } })
  t.ok(pages.cookies.has('bailiwick'))
})

t.test('each page is small, is in no frame, and loads nothing of another site', async (t) => {
  const folder = new URL('../../../src/pages/sign-in/', import.meta.url)
  const sources = readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'))
  const names = sources.flatMap((source) =>
    [...source.matchAll(/^ +path: '([^']*)',$/gm)].map(([, name]) => name),
  )
  t.ok(names.length > 15, `${names.length} pages`)
  const person = await service.signUp()
  const signedIn = await begin(person.email)
  await signedIn.send({ password: person.password })
  const paths = [...names.map((name) => `/sign-in/${name && `${name}/`}`), '/sign-in/nowhere/']
  for (const path of [...paths, ...Object.values(mailedLinks).map(({ page }) => page)])
    for (const pages of [openPages(service), await begin(person.email), signedIn]) {
      const { headers, status, title } = await pages.visit(path) // which refuses large pages, and links to other sites
      t.match([status, title], [/nowhere|mailed-link/.test(path) ? 404 : 200, /./], path)
      t.match(headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/, path)
      t.equal(headers.get('x-frame-options'), 'DENY')
      t.equal(headers.get('cache-control'), 'no-store')
    }
})
