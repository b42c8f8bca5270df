import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { noChromium, openTab } from '../helpers/chromium.ts'
import { type Client, claimsOf, type Service, startService, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { attemptLogin, changeRows, codeAt, enrol, longProven, requireMfa } from './otp/authenticator.ts'
import { attemptPasskey, originOf, registerPasskey, strengthOf } from './passkeys/software-passkey.ts'

const ask = '/api/v1/auth/magic-link/'
const confirm = '/api/v1/auth/magic-link/confirm/'
const service = await startService(t, { env: { MAGIC_LINK_ENABLED: 'true' } })
const { call } = service

const minutes = 60_000
const dead = { status: 400, body: { code: 'token_invalid', access: undefined } }

/** Asks for a link; returns the body that confirms it. */
async function askFor({ email }: { email: string }, more: { tenant_id?: string } = {}) {
  const { status, body } = await call('POST', ask, { body: { email, ...more } })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return { token: await newLink(email), nonce: body.nonce }
}

const read = new Set<string>()

/** The token of a mail that was not read yet: the newest mail can still be the one of the request before. */
async function newLink(email: string): Promise<string> {
  for (let tries = 0; tries < 6_000; tries++, await sleep(50)) {
    const mail = await service.mailTo(email, 'Someone asked to sign in')
    if (read.has(mail.id)) continue
    read.add(mail.id)
    return tokenIn(mail)
  }
  throw new Error(`No new link came to ${email}`)
}

const open = (body: object) => call('POST', confirm, { body })

/** A person whose address is verified. */
async function proven(on: Service = service): Promise<Client> {
  return on.logIn(await longProven(on))
}

t.test('a link logs in once, to aal1, only with the nonce of the client that asked', async (t) => {
  const person = await proven()
  const link = await askFor(person)
  const signedIn = await open(link)
  t.match(signedIn, { status: 200, body: { access: String, refresh: String } })
  t.equal(signedIn.headers.get('cache-control'), 'no-store')
  t.same(strengthOf(signedIn), { acr: 'aal1', amr: ['email'] })
  t.equal(claimsOf(signedIn.body.access).sub, person.id)
  t.match(await open(link), dead, 'a used link')
  t.equal((await attemptLogin(service, person)).status, 200, 'the password is as before')

  const stolen = await askFor(person)
  t.match(await open({ ...stolen, nonce: link.nonce }), dead, 'the nonce of another link')
  t.match(await open(stolen), dead, 'a wrong nonce used it up')
  t.match(await open({ token: stolen.token }), { status: 400, body: { nonce: [String] } })

  const races = await askFor(person)
  const answers = await Promise.all([open(races), open(races), open(races)])
  t.same(answers.map(({ status }) => status).sort(), [200, 400, 400])
})

t.test('a link dies with the third newer one, after 15 minutes, and with a new password', async (t) => {
  const person = await proven()
  const first = await askFor(person)
  service.advance(minutes)
  const second = await askFor(person, { tenant_id: person.tenantId })
  const [third, fourth] = [await askFor(person), await askFor(person)]
  t.match(await open(first), dead)
  t.match(await open({ ...third, nonce: fourth.nonce }), dead, 'each has its own nonce')
  service.advance(14 * minutes)
  for (const link of [second, fourth]) t.equal((await open(link)).status, 200)
  const late = await askFor(person)
  service.advance(15 * minutes)
  t.match(await open(late), { status: 400, body: { code: 'token_expired' } })
  const before = await askFor(person)
  const change = { current_password: person.password, new_password: 'another quiet harbour' }
  const fresh = await service.logIn(person)
  t.equal((await fresh.post('/api/v1/auth/password/change/', change)).status, 200)
  t.match(await open(before), dead)
})

t.test('an unknown address gets the same answer, no mail and no account', async (t) => {
  const person = await proven()
  const known = await call('POST', ask, { body: { email: person.email } })
  const unknown = await call('POST', ask, { body: { email: 'unknown.link@example.com' } })
  t.equal(unknown.body.nonce.length, known.body.nonce.length)
  t.same({ ...unknown.body, nonce: '' }, { ...known.body, nonce: '' })
  const counts = `select (select count(*)::int from users where email = 'unknown.link@example.com') as people,
    (select count(*)::int from link_tokens where email = 'unknown.link@example.com') as links`
  t.same(await changeRows(service, counts), [{ people: 0, links: 0 }])
  await changeRows(service, `update users set is_active = false where id = '${person.id}'`)
  const token = tokenIn(await service.mailTo(person.email, 'Someone asked to sign in'))
  t.match(await open({ token, nonce: known.body.nonce }), dead, 'of a person who is inactive now')
})

t.test('a second factor is due as after a password, but no code to the same mailbox', async (t) => {
  const person = await proven()
  const link = await open(await askFor(person))
  const session = link.body.access
  for (const body of [{ code: '123456', device_type: 'email' }])
    t.match(await call('POST', '/api/v1/auth/otp/verify/', { token: session, body }), {
      status: 403,
      body: { code: 'channel_disabled' },
    })
  t.match(await call('POST', '/api/v1/auth/otp/email/send/', { token: session }), { status: 403 })
  await requireMfa(service, person.tenantId)
  t.match(await open(await askFor(person)), { status: 403, body: { code: 'channel_disabled' } })
  await requireMfa(service, person.tenantId, false)

  const { authenticator } = await registerPasskey(service, await service.logIn(person))
  service.advance(25 * 60 * minutes)
  t.match(strengthOf(await attemptPasskey(service, authenticator)), { acr: 'aal2' })
  const asked = await open(await askFor(person))
  t.match(asked, { status: 200, body: { otp_required: true, methods: ['passkey'] } })
  const token = asked.body.temporary_token
  const options = (await call('POST', '/api/v1/auth/passkeys/verify/options/', { token })).body
  const credential = authenticator.get(options)
  const shown = await call('POST', '/api/v1/auth/passkeys/verify/', { token, body: { credential } })
  t.same(strengthOf(shown), { acr: 'aal2', amr: ['email', 'pop', 'mfa'] })
})

t.test('a code of an app completes a sign-in by mail', async (t) => {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  const verification = tokenIn(await service.mailTo(person.email, 'Confirm'))
  await call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token: verification } })
  service.advance(minutes)
  const { body } = await open(await askFor(person))
  t.same(body.methods, ['totp'])
  const code = codeAt(secret, service.now())
  const shown = await call('POST', '/api/v1/auth/otp/verify/', {
    token: body.temporary_token,
    body: { code },
  })
  t.same(strengthOf(shown), { acr: 'aal2', amr: ['email', 'otp', 'mfa'] })
})

t.test('a link to an address that was never verified verifies it and clears what was there', async (t) => {
  const squatter = await service.signUp()
  const { authenticator } = await registerPasskey(service, squatter)
  const signedIn = await open(await askFor(squatter))
  t.match(strengthOf(signedIn), { acr: 'aal1', amr: ['email'] }, 'no second factor is left to ask for')
  const profile = await call('GET', '/api/v1/users/me/', { token: signedIn.body.access })
  t.match(profile.body, { id: squatter.id, email_verified: true, mfa_enabled: false })
  t.match(await attemptLogin(service, squatter), { status: 401, body: { code: 'invalid_credentials' } })
  t.match(await attemptPasskey(service, authenticator), { status: 400 })
  t.equal((await squatter.get('/api/v1/users/me/')).status, 401)
  t.match(await service.mailTo(squatter.email, 'was secured'), { text: /reset it/ })
  t.equal((await open(await askFor(squatter))).status, 200)
})

t.test('a link opens the tenant that was asked for, if its person is a member', async (t) => {
  const person = await proven()
  const { body: second } = await person.post('/api/v1/tenants/', { name: 'Second' })
  const there = await open(await askFor(person, { tenant_id: second.id }))
  t.equal(claimsOf(there.body.access).tenant_id, second.id)
  const stranger = await service.signUp()
  service.advance(minutes)
  t.match(await open(await askFor(person, { tenant_id: stranger.tenantId })), {
    status: 403,
    body: { code: 'no_active_membership' },
  })
})

t.test('without MAGIC_LINK_ENABLED both routes are 403', async (t) => {
  const off = await sharedService(t)
  const refused = { status: 403, body: { code: 'channel_disabled' } }
  t.match(await off.call('POST', ask, { body: { email: 'ada@example.com' } }), refused)
  t.match(await off.call('POST', confirm, { body: { token: 'x', nonce: 'x' } }), refused)
})

t.test('a browser that did not ask for a link is told so, and uses nothing up', async (t) => {
  const person = await proven()
  const link = await askFor(person)
  const pages = openPages(service)
  t.match(await pages.visit(`/log-in?token=${link.token}`), { title: 'Sign in' })
  t.match(await pages.send({}), { status: 200, title: 'Another browser asked for this link' })
  t.equal((await open(link)).status, 200)
})

t.test('a browser whose sign-in pages asked is signed in without scripts, and led on', async (t) => {
  const person = await proven()
  const { token, nonce } = await askFor(person)
  const pages = openPages(service)
  const flow = JSON.stringify({ id: 'flow', nonce, returnTo: '/docs', at: service.now() })
  const sealed = service.deps.sealer.seal('sign-in-flow', flow, 'cookie').toString('base64url')
  pages.cookies.set('bailiwick-flow', sealed)
  t.notMatch((await pages.visit(`/log-in?token=${token}`)).text, 'magic-link.js')
  t.match(await pages.send({}), { status: 200, refresh: '/docs' })
  t.match(await pages.visit('/sign-in/'), { title: 'You are signed in' })
  pages.cookies.set('bailiwick-flow', sealed)
  await pages.visit(`/log-in?token=${token}`)
  t.match(await pages.send({}), { status: 400, title: 'This link does not work any more' })
})

t.test('the page of the service waits for its button and for the nonce', { skip: noChromium }, async (t) => {
  const person = await proven()
  const { token, nonce } = await askFor(person)
  const tab = await openTab(t, `${originOf(service)}/log-in?token=${token}`)
  const press = `new Promise((done) => {
    new MutationObserver(([{ target }]) => done(target.textContent))
      .observe(document.querySelector('[role=status]'), { childList: true })
    document.querySelector('button').click()
  })`
  await tab.evaluate(`localStorage.setItem('bailiwick-magic-link', '${nonce}')
    var answer = new Promise((done) => {
      new BroadcastChannel('bailiwick-magic-link').onmessage = ({ data }) => done(data)
    })`)
  t.match(await tab.evaluate(press), /You are signed in/)
  const pair = await tab.evaluate('answer')
  t.same(strengthOf({ body: pair } as never), { acr: 'aal1', amr: ['email'] })
})
