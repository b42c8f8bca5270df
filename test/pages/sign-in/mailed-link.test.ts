import t from 'tap'
import { startService } from '../../helpers/service.ts'
import { enrol, longProven } from '../../identity/otp/authenticator.ts'
import { linkIn, openPages } from './page-client.ts'

// People sign in by a mailed link on the pages, in the browser in which they asked for it.

const service = await startService(t, { env: { MAGIC_LINK_ENABLED: 'true' } })

/** Asks for a link on the page of the password. */
async function ask(email: string, path = '/sign-in/') {
  const pages = openPages(service)
  await pages.visit(path)
  await pages.send({ email })
  return { pages, seen: await pages.send({}, 'mailed-link') }
}

const linkOf = async (email: string) => linkIn(await service.mailTo(email, '/log-in'), '/log-in')

t.test('a link signs in, and leads to where the sign-in began', async (t) => {
  const person = await service.signUp()
  const { pages, seen } = await ask(person.email, '/sign-in/?return_to=/docs')
  t.match(seen, { status: 200, title: 'Look into your mailbox' })
  await pages.visit(await linkOf(person.email))
  t.match(await pages.send({}), { status: 200, refresh: '/docs' })
  t.match((await pages.visit('/sign-in/')).text, person.email)
})

t.test('a link works in no other browser, and still works in its own', async (t) => {
  const person = await service.signUp()
  const { pages } = await ask(person.email)
  const link = await linkOf(person.email)
  const other = openPages(service)
  await other.visit(link)
  t.notMatch(await other.send({}), { title: 'You are signed in' })
  await pages.visit(link)
  t.match(await pages.send({}), { title: 'You are signed in' })
})

t.test('a second factor is asked for after a link, too', async (t) => {
  const person = await service.logIn(await longProven(service))
  await enrol(service, person)
  const { pages } = await ask(person.email)
  await pages.visit(await linkOf(person.email))
  t.match(await pages.send({}), { title: 'Confirm that it is you' })
})

t.test('an address without an account gets the same answer', async (t) => {
  const person = await service.signUp()
  const unknown = 'unknown@example.com'
  const [known, none] = [await ask(person.email), await ask(unknown)]
  const form = /name="form_token" value="[^"]*"/g
  t.equal(
    none.seen.text.replaceAll(unknown, '').replace(form, ''),
    known.seen.text.replaceAll(person.email, '').replace(form, ''),
  )
})

t.test('an ill-formed address is refused in words', async (t) => {
  const { seen } = await ask('nowhere')
  t.match(seen, { status: 400, alert: /^This is no e-mail address/ })
})

for (const setting of ['EMAIL_LINK_BASE', 'EMAIL_LINK_MAGIC'])
  t.test(`no link is offered that would lead to an application: ${setting}`, async (t) => {
    const env = { MAGIC_LINK_ENABLED: 'true', [setting]: 'https://app.example.com/{token}' }
    const pages = openPages(await startService(t, { env, workers: false }))
    await pages.visit('/sign-in/')
    t.match(await pages.send({ email: 'ada@example.com' }), { status: 200, title: 'Enter your password' })
    t.throws(() => pages.send({}, 'mailed-link'), /no form/)
    t.equal((await pages.visit('/sign-in/mailed-link/')).status, 404)
  })
