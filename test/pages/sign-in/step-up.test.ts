import t from 'tap'
import type { Client } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { codeAt, enrol, requireMfa } from '../../identity/otp/authenticator.ts'
import { openPages } from './page-client.ts'

// A browser that is signed in shows again who is there.

const service = await sharedService(t)

const path = '/sign-in/step-up/?return_to=/docs'

async function signedIn(person: { email: string; password: string }) {
  const pages = openPages(service)
  await pages.visit('/sign-in/')
  await pages.send({ email: person.email })
  await pages.send({ password: person.password })
  return pages
}

const browsersOf = async (person: Client) => {
  const { body } = await person.get('/api/v1/auth/sessions/')
  return body.results.filter(({ kind }: { kind: string }) => kind === 'browser').length
}

t.test('a second factor is shown again, and the cookie gets a new value', async (t) => {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  service.advance(60_000)
  const pages = await signedIn(person)
  await pages.send({ code: codeAt(secret, service.now()) })
  service.advance(1_200_000)
  t.match(await pages.visit(path), { status: 200, title: 'Confirm again that it is you' })
  t.match(await pages.send({ code: '000000' }), { status: 400, alert: /^This code is not right/ })
  const before = pages.cookies.get('bailiwick-login')
  t.match(await pages.send({ code: codeAt(secret, service.now()) }), { status: 200, refresh: '/docs' })
  t.not(pages.cookies.get('bailiwick-login'), before)
  t.match((await pages.visit('/sign-in/')).text, person.email)
})

t.test('a person without a factor shows the password, and the session goes on', async (t) => {
  const person = await service.signUp()
  const pages = await signedIn(person)
  const before = pages.cookies.get('bailiwick-login')
  t.match(await pages.visit(path), { title: 'Confirm again that it is you' })
  t.match(await pages.send({ password: 'wrong wrong wrong' }), { status: 400, alert: /not your password/ })
  t.match(await pages.send({ password: person.password }), { status: 200, refresh: '/docs' })
  t.not(pages.cookies.get('bailiwick-login'), before)
  t.match((await pages.visit('/sign-in/')).text, person.email)
  t.equal(await browsersOf(person), 1)
})

t.test('a password is no factor: a person who has one shows that', async (t) => {
  const person = await service.signUp()
  const pages = await signedIn(person)
  await pages.visit(path)
  await enrol(service, person)
  t.match(await pages.send({ password: person.password }), {
    status: 400,
    alert: /Show a second factor first/,
  })
})

t.test('a factor that is due meanwhile is asked for as without the password', async (t) => {
  const person = await service.signUp()
  const pages = await signedIn(person)
  await requireMfa(service, person.tenantId)
  await pages.visit(path)
  t.match(await pages.send({ password: person.password }), { refresh: '/docs' })
  service.advance(1_000_000)
  t.match(await pages.visit('/sign-in/'), { title: 'Confirm that it is you' })
})

t.test('those who are not signed in sign in first', async (t) => {
  t.match(await openPages(service).visit(path), { title: 'Sign in' })
})
