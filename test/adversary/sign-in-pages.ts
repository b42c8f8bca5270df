import type { Client, Service } from '../helpers/service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { openPages, type SeenPage } from '../pages/sign-in/page-client.ts'
import { expect } from '../tenancy/staff.ts'
import type { Attack, Tally } from './attack.ts'

export const signInPages: Attack = {
  name: 'sign-in-pages',
  about:
    'forms of other sites and browsers, planted and copied cookies, foreign addresses, known and claimed addresses, and browsers of several people',
  async run(stage, tally) {
    const service = await stage.shared()
    const person = await service.signUp()
    await foreignForms(tally, service, person)
    await foreignAddresses(tally, service, person)
    await plantedCookies(tally, service, person)
    await copiedCookies(tally, service)
    await knownAddresses(tally, service, person)
    await claimedAddresses(tally, service)
    await sharedBrowsers(tally, service)
  },
}

type Pages = ReturnType<typeof openPages>

async function atPassword(service: Service, email: string): Promise<Pages> {
  const pages = openPages(service)
  await pages.visit('/sign-in/')
  await pages.send({ email })
  return pages
}

const isSignedIn = (pages: Pages) => pages.cookies.has('bailiwick-login')
const tokenOf = ({ text }: SeenPage) => /name="form_token" value="([^"]*)"/.exec(text)?.[1] ?? ''

/** A thief who signs a browser in to the thief's own account reads what its person does there (login CSRF). */
async function foreignForms(tally: Tally, service: Service, person: Client): Promise<void> {
  const [victim, thief] = [await atPassword(service, person.email), await atPassword(service, person.email)]
  const own = { form_token: tokenOf(victim.seen()), password: person.password }
  const { form_token: _, ...without } = own
  const forms: [what: string, fields: Record<string, string>, headers: Record<string, string>][] = [
    ['a form without its code', without, {}],
    ['a form of another browser', { ...own, form_token: tokenOf(thief.seen()) }, {}],
    ...['cross-site', 'same-site', 'none'].map(
      (site) => [`a form of ${site}`, own, { 'Sec-Fetch-Site': site }] as (typeof forms)[number],
    ),
    ...['null', 'https://evil.example'].map(
      (origin) =>
        [`a form from ${origin}`, own, { 'Sec-Fetch-Site': '', Origin: origin }] as (typeof forms)[number],
    ),
  ]
  for (const [what, fields, headers] of forms) {
    const { status } = await victim.post('/sign-in/password/', fields, headers)
    tally.check(status === 403 && !isSignedIn(victim), `${what} is refused`)
  }
  for (const path of ['', 'password/', 'organisation/', 'signed-out/', 'nowhere/']) {
    const { headers } = await victim.visit(`/sign-in/${path}`)
    const isFramed = !/frame-ancestors 'none'/.test(headers.get('content-security-policy') ?? '')
    tally.check(!isFramed && headers.get('x-frame-options') === 'DENY', `/sign-in/${path} is in no frame`)
  }
}

/** No link to the pages leads a person who signs in to another site. */
async function foreignAddresses(tally: Tally, service: Service, person: Client): Promise<void> {
  const foreign = [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
  ]
  for (const address of [...foreign, 'javascript:alert(1)', '/a\\b', '/a\r\nLocation: //evil.example'])
    for (const inForm of [false, true]) {
      const pages = await atPassword(service, person.email)
      const hidden = { form_token: tokenOf(pages.seen()), password: person.password }
      const query = `?return_to=${encodeURIComponent(address)}`
      const seen = await (inForm
        ? pages.post('/sign-in/password/', { ...hidden, return_to: address })
        : pages.post(`/sign-in/password/${query}`, hidden))
      tally.check(seen.refresh === null && !seen.text.includes('evil'), `${address} is not led to`)
      const again = await pages.visit(`/sign-in/${query}`)
      tally.check(again.refresh === null, `${address} is not led to later`)
    }
}

/** What a thief put into the browser before a sign-in opens nothing after it. */
async function plantedCookies(tally: Tally, service: Service, person: Client): Promise<void> {
  const planted = 'A'.repeat(43)
  const pages = await atPassword(service, person.email)
  pages.cookies.set('bailiwick-login', planted)
  await pages.send({ password: person.password })
  const own = pages.cookies.get('bailiwick-login')!
  tally.check(own !== planted, 'a sign-in sets a new cookie')
  await pages.visit('/console/enter/')
  const ofConsole = pages.cookies.get('bailiwick')!
  const opens = async (name: string, value: string) => {
    const thief = openPages(service)
    thief.cookies.set(name, value)
    const { title, status } = await (name === 'bailiwick'
      ? thief.visit('/console/api/users/me/')
      : thief.visit('/sign-in/'))
    return name === 'bailiwick' ? status === 200 : title === 'You are signed in'
  }
  tally.check(await opens('bailiwick-login', own), 'the cookie opens the session')
  tally.check(!(await opens('bailiwick-login', planted)), 'a planted cookie opens nothing')
  tally.check(!(await opens('bailiwick-login', ofConsole)), "the console's cookie is none of the pages")
  tally.check(!(await opens('bailiwick', own)), 'the cookie of the pages opens nothing in the console')
  const other = await atPassword(service, person.email)
  other.cookies.set('bailiwick-flow', `${other.cookies.get('bailiwick-flow')?.slice(0, -4)}AAAA`)
  const { text } = await other.visit('/sign-in/password/')
  tally.check(!text.includes(person.email), 'a flow that was changed is none')
}

/** The owner's second factor ends copies of the cookies, of the pages and of the console. */
async function copiedCookies(tally: Tally, service: Service): Promise<void> {
  const person = await service.signUp()
  const pages = await atPassword(service, person.email)
  await pages.send({ password: person.password })
  await pages.visit('/console/enter/')
  const copies = new Map(pages.cookies)
  const { secret } = await enrol(service, person)
  service.advance(60_000)
  const ask = (cookies: Map<string, string>, method: string, path: string, body?: object) =>
    service.call(method, path, {
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'x-bailiwick-console': '1',
        'sec-fetch-site': 'same-origin',
      },
      ...(body && { body }),
    })
  const code = codeAt(secret, service.now())
  const shown = await ask(pages.cookies, 'POST', '/console/api/auth/otp/verify/', { code })
  await expect(200, Promise.resolve(shown))
  tally.check(shown.headers.getSetCookie().length === 2, 'both cookies get another value')
  await tally.refuse(
    "a console's cookie from before",
    () => ask(copies, 'GET', '/console/api/users/me/'),
    [401],
  )
  const thief = openPages(service)
  thief.cookies.set('bailiwick-login', copies.get('bailiwick-login')!)
  tally.check(
    (await thief.visit('/sign-in/')).title !== 'You are signed in',
    'a cookie of the pages from before',
  )
}

/** Known and unknown addresses get the same pages. */
async function knownAddresses(tally: Tally, service: Service, person: Client): Promise<void> {
  const words = async (email: string) => {
    const pages = await atPassword(service, email)
    const asked = pages.seen()
    const wrong = await pages.send({ password: 'not this one' })
    return [asked, wrong].map(({ status, text }) =>
      [status, text.replaceAll(email, '').replace(/value="[\w-]{43}"/g, '')].join(),
    )
  }
  const [known, unknown] = [await words(person.email), await words('stranger@example.com')]
  for (const [n, page] of known.entries()) tally.check(page === unknown[n], `page ${n} tells no address`)
}

/** A thief who registered an address first has nothing of the account that its owner registers later. */
async function claimedAddresses(tally: Tally, service: Service): Promise<void> {
  const thief = await service.signUp()
  const owner = openPages(service)
  await owner.visit('/sign-in/register/')
  await owner.send({ email: thief.email, password: 'a nanosecond of wire' })
  const { text } = await service.mailTo(thief.email, 'Someone')
  const [link] = /\/reset-password\S+/.exec(text) ?? []
  tally.check(link !== undefined, 'the owner of a claimed address is the first to prove it')
  if (link === undefined) return
  await owner.visit(link)
  await owner.send({ password: 'a nanosecond of wire' })
  await tally.refuse('the session of the thief', () => thief.get('/api/v1/users/me/'), [401])
  const pages = await atPassword(service, thief.email)
  await pages.send({ password: thief.password })
  tally.check(!isSignedIn(pages), 'the password of the thief opens nothing')
}

/** What one person leaves in a browser is not the next one's. */
async function sharedBrowsers(tally: Tally, service: Service): Promise<void> {
  const [ada, bob] = [await service.register(), await service.register()]
  const pages = await atPassword(service, ada.email)
  const form = { form_token: tokenOf(pages.seen()), password: ada.password }
  service.advance(901_000)
  const { status } = await pages.post('/sign-in/password/', form)
  tally.check(status === 403 && !isSignedIn(pages), 'a form of 15 minutes ago is refused')
  const { text } = await pages.visit('/sign-in/')
  tally.check(!text.includes(ada.email), 'an address that was typed is forgotten')
  for (const person of [ada, bob]) {
    await pages.visit('/sign-in/address/')
    await pages.send({ email: person.email })
    await pages.send({ password: person.password })
  }
  const { body } = await (await service.logIn(ada)).get('/api/v1/auth/sessions/')
  const kinds = body.results.map(({ kind }: { kind: string }) => kind)
  tally.check(kinds.join() === 'token', 'the next person of a browser ends the session of the one before')
  const framed = await pages.visit('/console/enter/', { headers: { 'Sec-Fetch-Dest': 'iframe' } })
  tally.check(framed.status === 403 && !pages.cookies.has('bailiwick'), 'a frame does not enter the console')
}
