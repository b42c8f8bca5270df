import t from 'tap'
import { sharedService } from '../../helpers/shared-service.ts'
import { enrol, longProven } from '../../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../../tenancy/staff.ts'
import { linkIn, openPages } from '../sign-in/page-client.ts'

// The pages that links in mails lead to, in a browser without scripts.

const service = await sharedService(t)

/** Opens the link of the newest mail to an address. */
async function openLink(email: string, subject: string, page: string, headers = {}) {
  const pages = openPages(service, { headers })
  const path = linkIn(await service.mailTo(email, subject), page)
  await pages.visit(path)
  return { ...pages, path }
}

t.test('an address is confirmed by a button, once, and the card says how to go on', async (t) => {
  const person = await service.signUp()
  const pages = await openLink(person.email, 'Confirm', '/verify-email')
  t.match(pages.seen(), { status: 200, title: 'Confirm your e-mail address' })
  t.match(pages.seen().text, /An account with this address was created on \d+ \w+ \d{4} at/)
  t.match(await pages.send({}), { status: 200, title: 'Your address is confirmed' })
  t.match(pages.seen().text, /<a class="button" href="\/sign-in\/">Sign in<\/a>/)
  t.notMatch(pages.seen().text, /<form|console/)
  t.match((await person.get('/api/v1/users/me/')).body, { email_verified: true })
  await pages.visit(pages.path)
  t.match(await pages.send({}), { status: 400, title: 'This link does not work any more' })
})

t.test('the browser that made the account is signed in by its link, and led on', async (t) => {
  const email = `lin${service.now()}@example.com`
  const pages = openPages(service)
  await pages.visit('/sign-in/register/?return_to=/docs')
  await pages.send({ email, password: 'a quiet harbour', first_name: 'Lin' })
  await pages.visit(linkIn(await service.mailTo(email, 'Confirm'), '/verify-email'))
  t.match(await pages.send({}), { status: 200, refresh: '/docs' })
  t.match(await pages.visit('/sign-in/'), { title: 'You are signed in' })
  t.match(pages.seen().text, 'Lin')
})

t.test('the token of a link stays in no address, and a GET uses nothing up', async (t) => {
  const { email } = await service.register()
  const path = linkIn(await service.mailTo(email, 'Confirm'), '/verify-email')
  for (const method of ['GET', 'HEAD', 'GET']) {
    const answer = await fetch(new URL(path, service.url), { method, redirect: 'manual' })
    t.equal(answer.status, 303)
    t.match(answer.headers.get('location'), /^\/verify-email\?made=\d+$/)
    t.equal(answer.headers.get('cache-control'), 'no-store')
    await answer.body?.cancel()
  }
  const pages = openPages(service)
  const { headers, text } = await pages.visit(path)
  t.equal(headers.get('referrer-policy'), 'same-origin')
  t.match(headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/)
  t.notMatch(text, /<script(?![^>]*src=)|style=|<style|\son\w+=/)
  t.ok(text.length < 30_000)
  t.match(await pages.send({}), { title: 'Your address is confirmed' })
})

t.test('two links in two tabs stay apart, and a link without its token says so', async (t) => {
  const [ada, bob] = [await service.signUp(), await service.signUp()]
  const pages = await openLink(ada.email, 'Confirm', '/verify-email')
  const first = pages.seen().text
  await pages.visit(linkIn(await service.mailTo(bob.email, 'Confirm'), '/verify-email'))
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(first)![1]!
  const fields = { form_token: hidden('form_token'), token: hidden('token') }
  t.match(await pages.post('/verify-email', fields), { title: 'Your address is confirmed' })
  t.match((await ada.get('/api/v1/users/me/')).body, { email_verified: true })
  t.match((await bob.get('/api/v1/users/me/')).body, { email_verified: false })
  for (const path of ['/verify-email', '/verify-email?token=%22%3E%3Cscript%3E', '/verify-email?token='])
    t.match(await openPages(service).visit(path), { status: 200, title: 'This link is not complete' }, path)
  t.match(await openPages(service).post('/verify-email', fields), { status: 403 }, 'of another browser')
})

t.test('a stranger removes their address from the account', async (t) => {
  const { email, password } = await service.register()
  const pages = await openLink(email, 'Confirm', '/verify-email')
  t.match(pages.seen().text, /<a href="\/reject-email\?made=\d+">This was not me<\/a>/)
  t.match(await pages.visit('/reject-email'), { title: 'This was not me' })
  t.match(await pages.send({}), { title: 'Your address is removed' })
  const answer = await service.call('POST', '/api/v1/auth/login/', { body: { email, password } })
  t.equal(answer.status, 401)
})

t.test(
  'a password is chosen; a weak one is asked for again, and an old link leads to a new one',
  async (t) => {
    const { email } = await service.signUp()
    const ask = () => service.call('POST', '/api/v1/auth/password/reset/', { body: { email } })
    await ask()
    const pages = await openLink(email, 'Reset', '/reset-password')
    t.match(await pages.send({ password: 'password' }), { status: 400, title: 'Choose a new password' })
    t.match(pages.seen().text, 'Attackers know this password')
    t.match(await pages.send({ password: 'short' }), { status: 400 })
    t.match(pages.seen().text, 'A password has 8 to 128 characters.')
    const password = 'an even quieter harbour'
    t.match(await pages.send({ password }), { status: 200, title: 'Your password is changed' })
    t.equal((await service.call('POST', '/api/v1/auth/login/', { body: { email, password } })).status, 200)
    service.advance(60_000)
    await ask()
    const late = await openLink(email, 'Reset', '/reset-password', { 'Accept-Language': 'de' })
    service.advance(24 * 3_600_000)
    t.match(await late.send({ password }), { status: 400, title: 'Dieser Link ist abgelaufen' })
    t.match(late.seen().text, 'href="/sign-in/forgot/"')
  },
)

t.test('a second factor that a thief added is removed', async (t) => {
  const person = await service.logIn(await longProven(service))
  await enrol(service, person)
  const pages = await openLink(person.email, 'factor was added', '/undo-second-factor')
  t.match(await pages.send({}), { title: 'The second factor is removed' })
  t.match(pages.seen().text, 'href="/sign-in/forgot/"')
})

t.test('a person who was added leaves the organisation', async (t) => {
  const firm = await foundFirm(service)
  const person = await service.signUp()
  await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: person.id }))
  const pages = await openLink(person.email, 'added', '/leave-tenant')
  t.match(await pages.send({}), { title: 'You have left the organisation' })
})
