import { readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Browser, openBrowser } from '../console/browser-client.ts'
import { type Answer, type Client, claimsOf, startService, tokenIn } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { changeRows, codeIn, enrol, requireMfa } from './otp/authenticator.ts'
import {
  type Authenticator,
  originOf,
  registerPasskey,
  signInOptions,
  softwareAuthenticator,
} from './passkeys/software-passkey.ts'

// What each way in asks for, by the tenant's demand and by what the person has. UPDATE_MATRIX=1 writes the table of
// docs/explanation/ways-in.md again, so that a review shows changes.

const service = await startService(t, { env: { MAGIC_LINK_ENABLED: 'true' } })
const { call } = service

const factors = ['nothing', 'an app', 'a passkey'] as const
type Factor = (typeof factors)[number]
type Registered = Awaited<ReturnType<typeof service.register>>

/** A person who enters a tenant, with sessions from before the tenant demanded anything. */
interface Subject {
  person: Client
  tenantId: string
  /** A session in the tenant, and one elsewhere. */
  inside: Client
  outside: Client
  authenticator: Authenticator
}

const post = (path: string, body: unknown, token?: string) => call('POST', path, { body, token })

const read = new Set<string>()

/** Waits for a mail that was not read yet: an older one to the address can be about the same. */
async function newMail(email: string, about: string) {
  for (; ; await sleep(50)) {
    const mail = await service.mailTo(email, about)
    if (read.has(mail.id)) continue
    read.add(mail.id)
    return mail
  }
}

/** Posts the token of a mail. */
const confirm = async (email: string, about: string, path: string, more: object = {}) =>
  post(path, { token: tokenIn(await newMail(email, about)), ...more })

const verifyAddress = ({ email }: { email: string }) =>
  confirm(email, 'Confirm', '/api/v1/auth/email/verify/confirm/')

/** Raises the session, so that a factor enrolled in it counts at once. */
async function showMailedCode(person: Client): Promise<void> {
  await person.post('/api/v1/auth/otp/email/send/')
  await person.post('/api/v1/auth/otp/verify/', {
    code: codeIn(await newMail(person.email, 'sign-in code')),
  })
}

async function subjectWith(factor: Factor | 'a young passkey', registered: Registered, required: boolean) {
  const [person, inside, outside] = await Promise.all([1, 2, 3].map(() => service.logIn(registered)))
  const { body: tenant } = await person!.post('/api/v1/tenants/', { name: 'Entered' })
  await inside!.switchTo(tenant.id)
  const authenticator = softwareAuthenticator(originOf(service))
  if (factor !== 'nothing' && factor !== 'a young passkey') await showMailedCode(person!)
  if (factor === 'an app') await enrol(service, person!)
  if (factor.endsWith('passkey')) await registerPasskey(service, person!, { authenticator })
  await requireMfa(service, tenant.id, required)
  return {
    person: person!,
    tenantId: tenant.id,
    inside: inside!,
    outside: outside!,
    authenticator,
  } as Subject
}

const passkeyBody = async ({ authenticator, tenantId }: Subject) => ({
  credential: authenticator.get(await signInOptions(service)),
  tenant_id: tenantId,
})

type Pages = ReturnType<typeof openPages>

/** A browser at the pages, which lead to the tenant that the person entered last. */
async function openPagesFor({ tenantId }: Subject): Promise<Pages> {
  await changeRows(
    service,
    `update memberships set last_entered_at = now() + interval '10 years' where tenant_id = '${tenantId}'`,
  )
  return openPages(service)
}

/** The page of the password of a person, with their address typed. */
async function atPassword(subject: Subject): Promise<Pages> {
  const { email } = subject.person
  const pages = await openPagesFor(subject)
  await pages.visit('/sign-in/')
  await pages.send({ email })
  return pages
}

type Enter = (subject: Subject, browser: Browser) => Promise<Answer | Pages>

/** The ways in, and the factors with which a person can use them. */
const ways: Record<string, { by?: readonly (Factor | 'a young passkey')[]; enter: Enter }> = {
  Password: {
    enter: ({ person: { email, password }, tenantId }) =>
      post('/api/v1/auth/login/', { email, password, tenant_id: tenantId }),
  },
  Passkey: {
    by: ['a passkey'],
    enter: async (subject) => post('/api/v1/auth/passkeys/login/', await passkeyBody(subject)),
  },
  'Passkey that does not count yet': {
    by: ['a young passkey'],
    enter: async (subject) => post('/api/v1/auth/passkeys/login/', await passkeyBody(subject)),
  },
  'Link in a mail': {
    enter: async ({ person: { email }, tenantId }) => {
      const { nonce } = (await post('/api/v1/auth/magic-link/', { email, tenant_id: tenantId })).body
      return confirm(email, 'Someone asked to sign in', '/api/v1/auth/magic-link/confirm/', { nonce })
    },
  },
  'Refresh in a session by password': {
    enter: ({ inside: { refresh } }) => post('/api/v1/auth/refresh/', { refresh }),
  },
  'Switch in a session by password': {
    enter: ({ outside: { access }, tenantId }) =>
      post('/api/v1/auth/switch-tenant/', { tenant_id: tenantId }, access),
  },
  'Invitation, as a new person': {
    by: ['nothing'],
    enter: async ({ inside: { access }, tenantId }) => {
      const email = `invited.${tenantId}@example.com`
      await post(`/api/v1/tenants/${tenantId}/invitations/`, { email, roles: ['member'] }, access)
      return confirm(email, 'invites you', '/api/v1/invitations/accept/', { password: 'a quiet harbour' })
    },
  },
  'Invitation, with a new passkey': {
    by: ['nothing'],
    enter: async ({ inside: { access }, tenantId, authenticator }) => {
      const email = `invited.passkey.${tenantId}@example.com`
      await post(`/api/v1/tenants/${tenantId}/invitations/`, { email, roles: ['member'] }, access)
      const token = tokenIn(await newMail(email, 'invites you'))
      const { body: options } = await post('/api/v1/invitations/accept/options/', { token })
      return post('/api/v1/invitations/accept/', { token, credential: authenticator.create(options) })
    },
  },
  'Verification of an address': {
    by: ['nothing'],
    enter: async () => verifyAddress(await service.register()),
  },
  'Password reset': {
    enter: async ({ person: { email, password } }) => {
      await post('/api/v1/auth/password/reset/', { email })
      const path = '/api/v1/auth/password/reset/confirm/'
      return confirm(email, 'Reset your', path, { password: `${password} again` })
    },
  },
  'Console, by password': {
    enter: ({ person, tenantId }, browser) => browser.signIn(person, { tenant_id: tenantId }),
  },
  'Console, by passkey': {
    by: ['a passkey'],
    enter: async (subject, browser) =>
      browser.call('POST', '/console/api/auth/passkeys/login/', await passkeyBody(subject)),
  },
  'Console, by a link in a mail': {
    enter: async ({ person: { email }, tenantId }, browser) => {
      const asked = await browser.call('POST', '/console/api/auth/magic-link/', {
        email,
        tenant_id: tenantId,
      })
      const token = tokenIn(await newMail(email, 'Someone asked to sign in'))
      const { nonce } = asked.body
      return browser.call('POST', '/console/api/auth/magic-link/confirm/', { token, nonce })
    },
  },
  'Pages, by password': {
    async enter(subject) {
      const pages = await atPassword(subject)
      await pages.send({ password: subject.person.password })
      return pages
    },
  },
  'Pages, by passkey': {
    by: ['a passkey'],
    async enter(subject) {
      const { authenticator } = subject
      const pages = await openPagesFor(subject)
      await pages.visit('/sign-in/')
      await pages.send(
        { credential: JSON.stringify(authenticator.get(await signInOptions(service))) },
        'passkey',
      )
      return pages
    },
  },
  'Pages, by a link in a mail': {
    async enter(subject) {
      const pages = await atPassword(subject)
      await pages.send({}, 'mailed-link')
      await pages.visit(`/log-in?token=${tokenIn(await newMail(subject.person.email, 'Someone asked to'))}`)
      await pages.send({ token: tokenOnPage(pages) })
      return pages
    },
  },
}

const tokenOnPage = (pages: Pages) => /name="token" value="([^"]*)"/.exec(pages.seen().text)?.[1] ?? ''

/** What the pages show: who is signed in, a question, or a refusal. */
async function describePages(pages: Pages): Promise<string> {
  const { title, text, alert } = pages.seen()
  if (title === 'You are signed in') {
    await pages.visit('/console/enter/')
    const browser = openBrowser(service)
    browser.cookie = `bailiwick=${pages.cookies.get('bailiwick')}`
    return describe({ status: 200, body: { authenticated: true }, headers: new Headers() }, browser)
  }
  const asked = { totp: /authenticator app/, passkey: /code\/passkey\/options/, email: /code\/mail\// }
  const methods = Object.entries(asked).flatMap(([method, pattern]) => (pattern.test(text) ? [method] : []))
  if (title === 'Confirm that it is you') return `asks for ${methods.join(', ')}`
  return alert?.includes('asks for a second factor') ? '403 `channel_disabled`' : `${title}: ${alert}`
}

/** What the answer gives: a session of a class, a question, or a refusal. */
async function describe({ status, body }: Answer, browser: Browser): Promise<string> {
  if (body.otp_required) return `asks for ${body.methods.join(', ')}`
  if (status !== 200) return `${status} \`${body.code}\``
  if (body.access) return `\`${claimsOf(body.access).acr}\``
  if (!body.authenticated) return 'no session'
  const { results } = (await browser.call('GET', '/console/api/auth/sessions/')).body
  return `\`${results.find(({ current }: { current: boolean }) => current).acr}\``
}

t.test('the table of the ways in is what the service does', async (t) => {
  const columns = [false, true].flatMap((required) => factors.map((factor) => ({ required, factor })))
  const people = await Promise.all([...columns, ...columns].map(() => service.register()))
  await Promise.all(people.map(verifyAddress))
  service.advance(25 * 3_600_000)
  const cells = new Map(Object.keys(ways).map((name) => [name, [] as string[]]))
  for (const { required, factor } of columns) {
    const subject = await subjectWith(factor, people.pop()!, required)
    // The reset changes the password, so it comes last.
    const order = Object.entries(ways).sort(
      ([a], [b]) => Number(a === 'Password reset') - Number(b === 'Password reset'),
    )
    for (const [name, { by = factors, enter }] of order) {
      const young = by.includes('a young passkey') && factor === 'a passkey'
      const entering = young ? await subjectWith('a young passkey', people.pop()!, required) : subject
      const browser = openBrowser(service)
      const entered = young || by.includes(factor) ? await enter(entering, browser) : null
      const cell = entered && ('seen' in entered ? describePages(entered) : describe(entered, browser))
      cells.get(name)!.push((await cell) ?? '')
    }
  }
  const heads = columns.map(
    ({ required, factor }) => `${required ? '`require_mfa`' : 'No demand'}: ${factor}`,
  )
  const row = (name: string, values: readonly string[]) => `| ${[name, ...values].join(' | ')} |`
  const table = [
    row('Way in', heads),
    row(
      '---',
      heads.map(() => '---'),
    ),
    ...[...cells].map(([name, values]) => row(name, values)),
  ].join('\n')
  const file = new URL('../../docs/explanation/ways-in.md', import.meta.url)
  const page = await readFile(file, 'utf8')
  const shown = /^\| Way in .*?(?=\n\n)/ms
  if (process.env.UPDATE_MATRIX) await writeFile(file, page.replace(shown, table))
  t.equal(shown.exec(await readFile(file, 'utf8'))?.[0], table, 'UPDATE_MATRIX=1 writes the table again')
})
