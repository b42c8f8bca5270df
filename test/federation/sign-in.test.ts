import { randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import pino from 'pino'
import t from 'tap'
import { unusableHash } from '../../src/crypto/passwords.ts'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { query, rowsOf } from '../helpers/query.ts'
import { type Client, type Json, startService } from '../helpers/service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { openApplication, request } from '../oauth/relying-party.ts'
import { linkIn, openPages } from '../pages/sign-in/page-client.ts'
import { startProvider } from './provider.ts'

const provider = await startProvider(t)
const own = { kind: 'oidc', issuer: provider.issuer, client_id: 'bailiwick', client_secret: 'shared-secret' }
let logged = ''
const logTo = pino(
  new Writable({
    write(line, _, done) {
      logged += line
      done()
    },
  }),
)
const service = await startService(t, {
  logTo,
  env: {
    FEDERATION_ALLOWED_HOSTS: 'localhost',
    RATE_LIMIT_REGISTER_PER_HOUR: '10000',
    RATE_LIMIT_ANONYMOUS_MAIL_PER_ADDRESS: '10000',
    RATE_LIMIT_OAUTH_PER_ADDRESS: '10000',
    SOCIAL_PROVIDERS: JSON.stringify([
      { id: 'nordwind', name: 'Nordwind ID', trust_email: true, ...own },
      { id: 'other', name: 'Other ID', ...own },
    ]),
  },
})
const database = await openDatabase(t, service)
const sameOrigin = { headers: { 'Sec-Fetch-Site': 'same-origin' } }
type Pages = ReturnType<typeof openPages>

const rows = (text: string) => rowsOf(service.databases.superuser, text) as Promise<Json[]>
const identitiesOf = (userId: string) =>
  rows(
    `select provider, subject, email from federated_identities where user_id = '${userId}' order by created_at`,
  )
const userOf = async (email: string): Promise<Json> =>
  (await rows(`select id, email_verified_at from users where email = '${email}'`))[0]

/** Whom the provider signs in from now on. */
const nameAt = (more: Record<string, unknown> = {}) => {
  provider.person = {
    sub: randomUUID(),
    email: `${randomUUID()}@nordwind.example`,
    email_verified: true,
    given_name: 'Ada',
    family_name: 'Byron',
    ...more,
  }
  return provider.person as { sub: string; email: string }
}
/** As a link in a mail does. */
const proven = ({ id }: Client) =>
  query(service.databases.superuser, `update users set email_verified_at = now() where id = '${id}'`)
const begin = async (pages: Pages, id = 'nordwind', more = '') => {
  const { refresh } = await pages.visit(`/sign-in/with/${id}/${more}`, sameOrigin)
  return refresh!
}
const back = (pages: Pages, address: string) => {
  const { pathname, search } = new URL(address)
  return pages.visit(`${pathname}${search}`)
}
/** Begins, signs in there, and comes back. */
const through = async (pages: Pages, id = 'nordwind', more = '') =>
  back(pages, provider.signIn(await begin(pages, id, more)))
const isIn = async (pages: Pages, email: string) => {
  const { text } = await pages.visit('/sign-in/')
  return text.includes(`${email} ·`)
}

t.test('a new person signs in with a provider that is the authority for their address', async (t) => {
  const { email, sub } = nameAt()
  const pages = openPages(service)
  const url = new URL(await begin(pages, 'nordwind', '?return_to=/sign-in/organisation/'))
  t.match(Object.fromEntries(url.searchParams), { redirect_uri: /\/sign-in\/callback\/nordwind\/$/ })
  const seen = await back(pages, provider.signIn(url.href))
  t.match(seen.refresh ?? seen.text, /organisation|Ada/)
  t.ok(await isIn(pages, email))
  const { id, email_verified_at } = await userOf(email)
  t.ok(email_verified_at)
  t.match(await identitiesOf(id), [{ provider: 'nordwind', subject: sub, email }])
  const [session] = await rows(`select amr, acr, tenant_id from sessions where user_id = '${id}'`)
  t.match(session, { amr: ['fed'], acr: 'aal1' })
  const types = (await eventsOf(database, session.tenant_id)).map(({ type }) => type)
  for (const type of ['user_created', 'email_verified', 'identity_linked', 'login_succeeded'])
    t.ok(types.includes(`identity.${type}`), type)

  t.comment('the known identity signs in, also with another address there')
  nameAt({ sub, email: 'moved@nordwind.example' })
  const again = openPages(service)
  await through(again)
  t.ok(await isIn(again, email))
  t.match(await identitiesOf(id), [{ email: 'moved@nordwind.example' }])
  t.equal(await userOf('moved@nordwind.example'), undefined)
})

t.test('an account that proved the address is linked, and its person can undo that', async (t) => {
  const person = await service.signUp()
  await proven(person)
  nameAt({ email: person.email })
  const pages = openPages(service)
  await through(pages)
  t.ok(await isIn(pages, person.email))
  t.equal((await identitiesOf(person.id)).length, 1)
  t.equal((await service.logIn(person)).id, person.id, 'the password is as before')
  const mail = await service.mailTo(person.email, 'A new way to sign in')
  const reader = openPages(service)
  await reader.visit(linkIn(mail, '/undo-identity'))
  t.equal((await identitiesOf(person.id)).length, 1, 'a GET undoes nothing')
  await reader.send({})
  t.same(await identitiesOf(person.id), [])
  t.notOk(await isIn(pages, person.email), 'its sessions ended')
})

t.test('an account that never proved the address starts anew', async (t) => {
  const squatter = await service.signUp()
  await query(
    service.databases.superuser,
    `insert into federated_identities (id, user_id, provider, issuer, attribute, subject, created_at)
     values (gen_random_uuid(), '${squatter.id}', 'other', 'x', 'sub', '${squatter.id}', now())`,
  )
  nameAt({ email: squatter.email })
  const pages = openPages(service)
  await through(pages)
  t.ok(await isIn(pages, squatter.email))
  t.match(await identitiesOf(squatter.id), [{ provider: 'nordwind' }], 'what was linked before is gone')
  t.equal((await squatter.get('/api/v1/users/me/')).status, 401, 'the session of the stranger ended')
  t.match(
    await service.call('POST', '/api/v1/auth/login/', {
      body: { email: squatter.email, password: squatter.password },
    }),
    { status: 401 },
  )
  const [session] = await rows(
    `select tenant_id from sessions where user_id = '${squatter.id}' and ended_at is null`,
  )
  t.not(session.tenant_id, squatter.tenantId, 'not in the tenant of the stranger')
})

t.test('a provider that is no authority proves nothing: a mail does, for every address alike', async (t) => {
  const known = await service.signUp()
  await proven(known)
  const unproven = await service.signUp()
  const pagesOf: string[] = []
  for (const email of [known.email, unproven.email, `${randomUUID()}@new.example`]) {
    nameAt({ email })
    const pages = openPages(service)
    const seen = await through(pages, 'other')
    t.match(seen.text, email)
    pagesOf.push(seen.text.replaceAll(email, '…').replaceAll(/value="[^"]*"/g, ''))
    t.notOk(await isIn(pages, email), 'no session yet')
    const mail = await service.mailTo(email, 'Other ID')
    const link = linkIn(mail, '/sign-in/provider/')
    const { text } = await pages.visit(link)
    t.match(text, 'From now on')
    t.notOk(await isIn(pages, email), 'a GET links nothing')
    await pages.visit(link)
    await pages.send({})
    t.ok(await isIn(pages, email))
    const { id, email_verified_at } = await userOf(email)
    t.ok(email_verified_at)
    t.equal((await identitiesOf(id)).length, 1)
    const later = openPages(service)
    t.match(await later.visit(link), { title: 'This no longer works' })
  }
  t.same(new Set(pagesOf).size, 1, 'the page says the same')
})

t.test('in another browser the mail shows whose account it is, and asks', async (t) => {
  const { email } = nameAt()
  const first = openPages(service)
  await through(first, 'other')
  const mail = await service.mailTo(email, 'Other ID')
  t.notMatch(mail.text, 'Byron', 'a name there can be that of the reader, written by someone else')
  const link = linkIn(mail, '/sign-in/provider/')
  const second = openPages(service)
  const { text } = await second.visit(link)
  t.match(text, 'In another browser')
  t.match(text, 'Ada Byron')
  await second.send({})
  t.ok(await isIn(second, email))
  t.notOk(await isIn(first, email))
})

t.test('a provider that names no address: the person gives one, and proves it', async (t) => {
  nameAt({ email: undefined, email_verified: undefined })
  const email = `${randomUUID()}@typed.example`
  const pages = openPages(service)
  t.match(await through(pages), { title: 'Your email address' })
  t.match(await pages.send({ email: 'ada' }), { status: 400 })
  t.match((await pages.send({ email })).text, email)
  await pages.visit(linkIn(await service.mailTo(email, 'Nordwind ID'), '/sign-in/provider/'))
  await pages.send({})
  t.ok(await isIn(pages, email))
})

t.test('another person who is signed in is replaced only by their word', async (t) => {
  const [one, two] = [nameAt(), nameAt()]
  const pages = openPages(service)
  await through(pages)
  provider.person = { ...provider.person, sub: one.sub, email: one.email }
  const seen = await through(pages)
  t.match(seen, { title: 'Someone is signed in' })
  t.match(seen.text, one.email)
  t.ok(await isIn(pages, two.email))
  t.equal(await userOf(one.email), undefined, 'nothing was made')
  await pages.visit('/sign-in/provider/')
  await pages.send({ replaces: 'yes' })
  t.ok(await isIn(pages, one.email))
})

t.test(
  'the first page and that of registering lead to each provider, in the order of the setting',
  async (t) => {
    for (const path of ['', 'register/']) {
      const { text } = await openPages(service).visit(`/sign-in/${path}?return_to=/console/`)
      t.same(
        [...text.matchAll(/href="\/sign-in\/(with\/\w+\/[^"]*)">([^<]*)/g)].map(([, to, words]) => [
          to,
          words,
        ]),
        [
          ['with/nordwind/?return_to=%2Fconsole%2F', 'Continue with Nordwind ID'],
          ['with/other/?return_to=%2Fconsole%2F', 'Continue with Other ID'],
        ],
      )
    }
  },
)

t.test('no other site begins a sign-in', async (t) => {
  for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'none' }, {}]) {
    const pages = openPages(service)
    const seen = await pages.visit('/sign-in/with/nordwind/', { headers })
    t.match(seen, { status: 200, title: 'Continue with Nordwind ID', refresh: null })
    t.match(await pages.send({}), { status: 200, refresh: new RegExp(`^${provider.issuer}/authorize`) })
    const forged = await pages.post('/sign-in/with/nordwind/', {}, { 'Sec-Fetch-Site': 'cross-site' })
    t.equal(forged.status, 403)
  }
  for (const id of ['nobody', randomUUID(), 'Nordwind'])
    t.equal((await openPages(service).visit(`/sign-in/with/${id}/`, sameOrigin)).status, 404, id)
})

t.test('an answer counts once, for the browser, the upstream and the time that it belongs to', async (t) => {
  const { email } = nameAt()
  const pages = openPages(service)
  const answer = provider.signIn(await begin(pages))
  t.equal((await back(openPages(service), answer)).status, 400, 'in another browser')
  t.equal((await back(pages, answer.replace('/nordwind/', '/other/'))).status, 400, 'of another upstream')
  t.equal((await back(pages, answer.replace('state=', 'state=A'))).status, 400, 'another state')
  const { pathname, search } = new URL(answer)
  const cookie = [...pages.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const got = await fetch(`${service.url}${pathname}${search}`, {
        headers: { cookie },
        redirect: 'manual',
      })
      await got.body?.cancel()
      return got.status
    }),
  )
  t.same(
    statuses.filter((status) => status !== 400),
    [303],
    'of fifty at once, one',
  )
  t.equal((await back(pages, answer)).status, 400)
  t.equal((await rows(`select id from users where email = '${email}'`)).length, 1)
  nameAt()
  const late = provider.signIn(await begin(pages))
  service.advance(600_001)
  t.equal((await back(pages, late)).status, 400, 'too late')
})

t.test('an answer by POST is stored without a cookie, and taken by the browser that has one', async (t) => {
  const { email } = nameAt()
  const pages = openPages(service)
  const answer = new URL(provider.signIn(await begin(pages)))
  const post = (body: URLSearchParams | string) =>
    fetch(`${service.url}${answer.pathname}`, {
      method: 'POST',
      body,
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'cross-site' },
      redirect: 'manual',
    })
  const posted = await post(answer.searchParams)
  t.equal(posted.status, 303)
  t.equal((await post(answer.searchParams)).status, 400, 'once')
  t.equal((await post(`a=${'b'.repeat(70_000)}`)).status, 413)
  const to = new URL(posted.headers.get('location')!, service.url)
  t.notMatch(to.search, /code=/)
  t.equal((await openPages(service).visit(`${to.pathname}${to.search}`)).status, 400)
  await pages.visit(`${to.pathname}${to.search}`)
  t.ok(await isIn(pages, email))
})

t.test('a provider that says no, lies or is away leads to a page with a way back', async (t) => {
  const pages = openPages(service)
  nameAt()
  const denied = await back(pages, provider.deny(await begin(pages, 'nordwind', '?return_to=/x')))
  t.match(denied, { status: 403, alert: /did not agree/ })
  t.match(denied.text, '/sign-in/?return_to=%2Fx')
  provider.lies = { foreignKey: true }
  t.match(await through(pages), { status: 400, alert: /not accepted/ })
  provider.lies = { metadata: { authorization_endpoint: 'javascript:alert(1)' } }
  t.match(await pages.visit('/sign-in/with/nordwind/', sameOrigin), {
    status: 503,
    alert: /cannot be reached/,
  })
  provider.lies = {}
  t.match(logged, /a sign-in with another provider failed/)
})

t.test('a deactivated person is refused', async (t) => {
  const { email } = nameAt()
  const pages = openPages(service)
  await through(pages)
  await query(service.databases.superuser, `update users set is_active = false where email = '${email}'`)
  t.match(await through(openPages(service)), { status: 403, alert: 'This account cannot sign in here.' })
})

t.test('own factors are asked after a provider as after a password', async (t) => {
  const person = await service.signUp()
  await proven(person)
  const { secret } = await enrol(service, person)
  nameAt({ email: person.email })
  const pages = openPages(service)
  t.match(await through(pages), { title: 'Confirm that it is you' })
  await pages.send({ code: codeAt(secret, service.now()) })
  t.ok(await isIn(pages, person.email))
  const [session] = await rows(
    `select amr, acr from sessions where user_id = '${person.id}' order by created_at desc limit 1`,
  )
  t.match(session, { amr: ['fed', 'otp', 'mfa'], acr: 'aal2' })
})

const at = '/api/v1/users/me/identities/'
const signedUp = async (id: 'nordwind' | 'other' = 'nordwind') => {
  const person = await service.signUp()
  await proven(person)
  await query(
    service.databases.superuser,
    `insert into federated_identities (id, user_id, provider, issuer, attribute, subject, email, created_at)
     values (gen_random_uuid(), '${person.id}', '${id}', 'x', 'sub', gen_random_uuid(), 'ada@other.example', now())`,
  )
  return { person, identity: (await person.get(at)).body.results[0] }
}
/** As an account has it that was made by a provider. */
const withoutPassword = ({ id }: Client) =>
  query(
    service.databases.superuser,
    `update users set password_hash = '${unusableHash()}' where id = '${id}'`,
  )

t.test('people list their accounts at other providers, and unlink them', async (t) => {
  const { person, identity } = await signedUp()
  t.match((await person.get(at)).body, {
    count: 1,
    results: [
      {
        provider: { id: 'nordwind', name: 'Nordwind ID', kind: 'oidc' },
        email: 'ada@other.example',
        created_at: String,
        last_used_at: null,
      },
    ],
  })
  const stranger = await service.signUp()
  t.match((await stranger.get(at)).body, { count: 0 })
  t.equal((await stranger.delete(`${at}${identity.id}/`)).status, 404)
  t.equal((await person.delete(`${at}${identity.id}/`)).status, 204)
  t.same(await identitiesOf(person.id), [])
  t.equal((await person.delete(`${at}${identity.id}/`)).status, 404)
  t.match(
    (await eventsOf(database, person.tenantId)).find(({ type }) => type === 'identity.identity_unlinked'),
    { data: { user_id: person.id, identity_id: identity.id, provider: 'nordwind' } },
  )
  t.match((await person.get('/api/v1/audit-log/?action=identity:delete')).body, {
    results: [{ target: { type: 'identity', id: identity.id } }],
  })
  t.match(await service.mailTo(person.email, 'was removed'), { text: /Nordwind ID/ })
})

t.test('what is linked is unlinked soon after a sign-in only', async (t) => {
  const { person, identity } = await signedUp()
  service.advance(11 * 60_000)
  t.match(await person.delete(`${at}${identity.id}/`), {
    status: 401,
    body: { code: 'insufficient_user_authentication' },
  })
})

t.test('the last way in stays', async (t) => {
  const { person, identity } = await signedUp()
  await withoutPassword(person)
  const refused = { status: 409, body: { code: 'last_factor' } }
  const unlink = () => person.delete(`${at}${identity.id}/`)
  t.match(await unlink(), refused)
  const link = (provider: string) =>
    query(
      service.databases.superuser,
      `insert into federated_identities (id, user_id, provider, issuer, attribute, subject, created_at)
       values (gen_random_uuid(), '${person.id}', '${provider}', 'x', 'sub', gen_random_uuid(), now())`,
    )
  await link('removed-from-the-setting')
  t.match(await unlink(), refused, 'a provider that is no more is no way in')
  t.comment('a second factor is asked from a person with a passkey')
  const { secret } = await enrol(service, person)
  service.advance(30_000)
  const shown = await person.post('/api/v1/auth/otp/verify/', { code: codeAt(secret, service.now()) })
  person.access = shown.body.access ?? person.access
  const passkey = (countsFrom: string) =>
    query(
      service.databases.superuser,
      `insert into passkeys (user_id, id, credential_id, public_key, counter, name, transports, backed_up, created_at, counts_from)
       values ('${person.id}', gen_random_uuid(), gen_random_uuid()::text::bytea, '', 0, 'a', '{}', false, now(), ${countsFrom})`,
    )
  await passkey("'2999-01-01'")
  t.match(await unlink(), refused, 'a passkey that does not count yet is none')
  await link('other')
  const [one, other] = await Promise.all([
    unlink(),
    rows(`select id from federated_identities where user_id = '${person.id}' and provider = 'other'`).then(
      ([{ id }]) => person.delete(`${at}${id}/`),
    ),
  ])
  t.same([one.status, other.status].sort(), [204, 409], 'of two at the same time one stays')
  await passkey('null')
  const [left] = await rows(
    `select id from federated_identities where user_id = '${person.id}' and provider in ('nordwind', 'other')`,
  )
  t.equal((await person.delete(`${at}${left.id}/`)).status, 204, 'a passkey is a way in')
})

t.test('no secret is in the log', (t) => {
  t.notMatch(logged, /shared-secret|code=[0-9a-f-]{36}|state=[\w-]{43}|token=[\w-]{43}/)
  t.end()
})

t.test('an application that asks for a new sign-in gets none that a provider remembered', async (t) => {
  const ada = await service.signUp()
  await proven(ada)
  const shop = await openApplication(service, ada, { first_party: true })
  nameAt({ email: ada.email })
  const pages = openPages(service)
  await through(pages)
  const untold = { claims: { auth_time: undefined } }
  const askFor = async (more: Record<string, string>, lies: typeof provider.lies) => {
    const { text } = await pages.visit((await request(shop, more)).path)
    const [, button = ''] = /href="([^"]*with\/nordwind[^"]*)"/.exec(text)!
    const { refresh } = await pages.visit(button.replaceAll('&amp;', '&'), sameOrigin)
    provider.lies = lies
    const seen = await back(pages, provider.signIn(refresh!))
    provider.lies = {}
    return { asked: new URL(refresh!).searchParams.get('max_age'), seen }
  }
  const code = /[?&]code=/
  for (const more of [{ prompt: 'login' }, { max_age: '600' }] as Record<string, string>[]) {
    const refused = await askFor(more, untold)
    t.match(refused, { asked: '0', seen: { status: 400, text: /does not say when you signed in/ } })
    const { seen } = await askFor(more, {})
    t.match((await pages.visit(seen.refresh!)).refresh, code)
    await query(service.databases.superuser, `update sessions set auth_time = 'epoch'`)
  }
  const { asked, seen } = await askFor({ prompt: 'select_account' }, untold)
  t.equal(asked, null, 'any sign-in chooses an account')
  t.match((await pages.visit(seen.refresh!)).refresh, code)
  const silent = await pages.visit((await request(shop, { max_age: '600', prompt: 'none' })).path)
  t.match(silent.refresh, /error=login_required/)
})
