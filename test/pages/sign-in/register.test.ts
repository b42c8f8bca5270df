import t from 'tap'
import { sharedService } from '../../helpers/shared-service.ts'
import { enrol, startBeside } from '../../identity/otp/authenticator.ts'
import { confirmAddress } from '../../tenancy/staff.ts'
import { linkIn, openPages } from './page-client.ts'

// People make an account, and get back into one, on the pages of the service.

const service = await sharedService(t)

const someone = {
  email: 'grace@example.com',
  first_name: 'Grace',
  last_name: 'Hopper',
  password: 'a nanosecond of wire',
}

async function register(person: Record<string, string>, headers: Record<string, string> = {}) {
  const pages = openPages(service, { headers })
  await pages.visit('/sign-in/register/')
  return { pages, seen: await pages.send(person) }
}

t.test('an account is made, and a mail is on its way', async (t) => {
  const { seen } = await register(someone)
  t.match(seen, { status: 200, title: 'Look into your mailbox' })
  t.match(seen.text, 'We sent a mail to grace@example.com')
  t.match(await service.mailTo(someone.email, 'Confirm'), { subject: /Confirm/ })
  t.ok(await service.logIn(someone))
})

t.test('a person whose address is not confirmed has the link mailed again, and not once it is', async (t) => {
  const person = await service.signUp()
  const first = await service.mailTo(person.email, 'Confirm')
  const pages = openPages(service)
  await pages.visit('/sign-in/address/')
  await pages.send({ email: person.email })
  await pages.send({ password: person.password })
  t.match(await pages.visit('/sign-in/'), { text: />Confirm your address<\/a>/ })
  await pages.visit('/sign-in/confirm-address/')
  const sent = await pages.send({})
  t.match(sent, { status: 200, title: 'Look into your mailbox' })
  t.match(sent.text, person.email)
  let again = first
  while (again.id === first.id) again = await service.mailTo(person.email, 'Confirm')
  await pages.visit(linkIn(again, '/verify-email'))
  t.match(await pages.send({}), { title: 'Your address is confirmed' })
  t.notMatch((await pages.visit('/sign-in/')).text, 'Confirm your address')
  t.equal((await pages.visit('/sign-in/confirm-address/')).title, 'You are signed in')
})

t.test('the link of the mail goes on to the sign-in in the browser that registered', async (t) => {
  const person = { ...someone, email: 'rear.admiral@example.com' }
  const pages = openPages(service)
  await pages.visit('/sign-in/register/?return_to=/docs')
  await pages.send(person)
  await pages.visit(linkIn(await service.mailTo(person.email, 'Confirm'), '/verify-email'))
  t.match(await pages.send({}), { status: 200, refresh: '/docs' })
  t.match((await pages.visit('/sign-in/')).text, 'Grace Hopper')
})

t.test('the link of another account signs in no one, also where a person has registered', async (t) => {
  const [person, thief] = [
    { ...someone, email: 'captain@example.com' },
    { ...someone, email: 'mallory@example.com' },
  ]
  const { pages } = await register(person)
  const elsewhere = openPages(service)
  await elsewhere.visit(linkIn(await service.mailTo(person.email, 'Confirm'), '/verify-email'))
  await elsewhere.send({})
  await register(thief)
  await pages.visit(linkIn(await service.mailTo(thief.email, 'Confirm'), '/verify-email'))
  t.match(await pages.send({}), { status: 200, title: 'Your address is confirmed' })
  t.notOk(pages.cookies.has('bailiwick-login'))
})

t.test('elsewhere, and after an hour, the link proves the address and no more', async (t) => {
  for (const [index, late] of [false, true].entries()) {
    const person = { ...someone, email: `commodore${index}@example.com` }
    const { pages: own } = await register(person)
    if (late) service.advance(3_601_000)
    const pages = late ? own : openPages(service)
    await pages.visit(linkIn(await service.mailTo(person.email, 'Confirm'), '/verify-email'))
    t.match(await pages.send({}), { status: 200, title: 'Your address is confirmed' })
    t.notOk(pages.cookies.has('bailiwick-login'))
  }
})

t.test('an address that is taken looks like a free one, and its owner is told', async (t) => {
  const owner = await service.signUp()
  await confirmAddress(service, owner)
  const timed = async (email: string) => {
    const begun = performance.now()
    const { pages, seen } = await register({ ...someone, email })
    const size = pages.cookies.get('bailiwick-flow')!.length
    return { ms: performance.now() - begun, size, text: seen.text.replaceAll(email, '') }
  }
  const free = await timed(owner.email.replace('person', 'absent'))
  const taken = await timed(owner.email)
  t.equal(taken.text, free.text)
  t.equal(taken.size, free.size)
  for (const { ms } of [free, taken]) t.ok(ms >= 200, 'the time shows nothing')
  t.match(await service.mailTo(owner.email, 'already'), { subject: 'You already have an account' })
  t.ok(await service.logIn(owner), 'with the password from before')
})

t.test('an address that another person took and never proved becomes that of its reader', async (t) => {
  for (const leaves of [false, true]) {
    const stranger = await service.signUp()
    await enrol(service, stranger)
    const confirm = linkIn(await service.mailTo(stranger.email, 'Confirm'), '/verify-email')
    if (leaves) await stranger.delete(`/api/v1/tenants/${stranger.tenantId}/`)
    const { seen } = await register({ ...someone, email: stranger.email })
    t.match(seen, { status: 200, title: 'Look into your mailbox' })
    const mail = await service.mailTo(stranger.email, 'Choose a password')
    t.match(mail.text, 'the address was never confirmed')
    const pages = openPages(service)
    await pages.visit(linkIn(mail, '/reset-password'))
    t.match(await pages.send({ password: someone.password }), { title: 'Your password is changed' })
    t.equal((await stranger.get('/api/v1/users/me/')).status, 401, 'the session of the stranger ends')
    await pages.visit(confirm)
    t.match(await pages.send({}), { title: 'This link does not work any more' })
    const logIn = (password: string) =>
      service.call('POST', '/api/v1/auth/login/', { body: { email: stranger.email, password } })
    t.equal((await logIn(stranger.password)).status, 401)
    t.match(
      (await logIn(someone.password)).body,
      { access: String },
      'no factor of the stranger is asked for',
    )
  }
})

t.test('what is wrong stands at its field, in the language of the reader', async (t) => {
  const wrong: [Record<string, string>, string, string][] = [
    [{ email: 'grace@' }, 'This is no e-mail address', 'Das ist keine E-Mail-Adresse'],
    [{ password: 'short' }, 'A password has 8 to 128', 'Ein Passwort hat 8 bis 128'],
    [{ password: 'password1' }, 'Attackers know this password', 'Dieses Passwort kennen Angreifer'],
    [{ password: 'GraceHopper' }, 'must not be your name', 'darf weder Ihr Name'],
    [{ first_name: 'G'.repeat(200) }, 'This text is too long', 'Dieser Text ist zu lang'],
    [{ password: '' }, 'A password has 8 to 128', 'Ein Passwort hat 8 bis 128'],
  ]
  for (const [more, english, german] of wrong)
    for (const [language, words] of [
      ['en', english],
      ['de', german],
    ] as const) {
      const given = { ...someone, email: 'grace@example.org', ...more }
      const { seen } = await register(given, { 'Accept-Language': language })
      const [name = ''] = Object.keys(more)
      t.equal(seen.status, 400)
      t.equal(seen.alert, null)
      t.match(seen.text, new RegExp(`id="${name}-fault">[^<]*${words}`))
      t.match(seen.text, 'value="Hopper"', 'what was typed is kept')
      t.notMatch(seen.text, `value="${given.password || 'none'}"`, 'except the password')
    }
})

t.test(
  'a link for a new password is promised to every address, and sent to those with an account',
  async (t) => {
    const person = await service.signUp()
    const ask = async (email: string) => {
      const pages = openPages(service)
      await pages.visit('/sign-in/forgot/')
      return pages.send({ email })
    }
    const [known, unknown] = [await ask(person.email), await ask('unknown@example.com')]
    t.match(known, { status: 200, title: 'Look into your mailbox' })
    t.equal(known.text.replaceAll(person.email, ''), unknown.text.replaceAll('unknown@example.com', ''))
    t.match(await service.mailTo(person.email, 'eset'), { subject: /eset/ })
    t.match(await ask('nowhere'), { status: 400, title: 'Reset your password' })
  },
)

t.test('who asks too often waits, and is told so in their language', async (t) => {
  const env = { RATE_LIMIT_ENABLED: 'true', RATE_LIMIT_MAIL_PER_MINUTE: '1' }
  const url = await startBeside(t, service, env)
  const pages = openPages({ url }, { headers: { 'Accept-Language': 'de' } })
  for (const status of [200, 429]) {
    await pages.visit('/sign-in/forgot/')
    t.equal((await pages.send({ email: 'often@example.com' })).status, status)
  }
  t.match(pages.seen().alert, /Zu viele Versuche\. Warten Sie 1 Minute/)
})
