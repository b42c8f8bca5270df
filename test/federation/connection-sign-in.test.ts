import { randomUUID } from 'node:crypto'
import t from 'tap'
import { deleteOutdated } from '../../workers/retention.ts'
import { openDirectory, patch, user } from '../directory/open-directory.ts'
import { colleague } from '../helpers/colleague.ts'
import { untilLocked } from '../helpers/lock-waits.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { query, rowsOf, withClient } from '../helpers/query.ts'
import { type Client, type Json, startService } from '../helpers/service.ts'
import { codeIn } from '../identity/otp/authenticator.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { expect } from '../tenancy/staff.ts'
import { answerOfPages } from './answer-of-pages.ts'
import { startNpmProvider } from './npm-provider.ts'
import { startProvider } from './provider.ts'
import { tenantProvider } from './tenant-provider.ts'

// Members of a tenant sign in by its connection. The tenant controls the provider, so the provider can say anything.

const provider = await startProvider(t)
const service = await startService(t, {
  env: { FEDERATION_ALLOWED_HOSTS: 'localhost', RATE_LIMIT_OAUTH_PER_ADDRESS: '10000' },
})
const database = service.databases.superuser
const rows = (text: string) => rowsOf(database, text) as Promise<Json[]>
const { issuer, clientId: client_id } = provider
const tenants = tenantProvider(service, provider)
const { connect, verify, moveTo } = tenants
const domain = `${randomUUID()}.example`
const identitiesOf = ({ id }: Client) =>
  rows(`select provider, tenant_id from federated_identities where user_id = '${id}'`)
const sessionsOf = ({ id }: { id: string }) =>
  rows(
    `select tenant_id, connection_id, confined_to, amr, acr from sessions where user_id = '${id}' and amr @> '{fed}'`,
  )

const through = (id: string, person: Record<string, unknown>, pages?: ReturnType<typeof openPages>) =>
  tenants.through(id, { sub: randomUUID(), email_verified: true, ...person }, pages)

t.test('a member with an address of a verified domain signs in, and stays in the tenant', async (t) => {
  const owner = await service.signUp()
  await verify(owner, domain)
  const id = await connect(owner)
  const person = await colleague(service, owner)
  const email = `ada@${domain}`
  await moveTo(person, email)
  await proveAddress(service, person)
  const sub = randomUUID()
  const { pages } = await through(id, { sub, email, email_verified: undefined })
  t.match(await identitiesOf(person), [{ provider: id, tenant_id: owner.tenantId }])
  t.match(await sessionsOf(person), [
    { tenant_id: owner.tenantId, connection_id: id, confined_to: owner.tenantId, amr: ['fed'], acr: 'aal1' },
  ])
  t.match((await pages.visit('/sign-in/')).text, email)
  t.match(await service.mailTo(email, 'A new way to sign in'), { text: /Nordwind/ }, 'the person is told')

  t.comment('the known identity signs in, whatever address it names, also when the domain is lost')
  await query(database, `update domains set status = 'lost' where domain = '${domain}'`)
  await through(id, { sub, email: 'other@elsewhere.example' })
  t.equal((await sessionsOf(person)).length, 2)
  const stranger = await colleague(service, owner)
  await moveTo(stranger, `late@${domain}`)
  await proveAddress(service, stranger)
  t.equal((await through(id, { email: `late@${domain}` })).seen.status, 403, 'nothing new links')
  t.same(await identitiesOf(stranger), [])

  t.comment('an address that the provider marks as unverified links nothing')
  await query(database, `update domains set status = 'verified' where domain = '${domain}'`)
  const late = { sub: randomUUID(), email: `late@${domain}` }
  for (const email_verified of [false, 'false'])
    t.equal((await through(id, { ...late, email_verified })).seen.status, 403)
  t.same(await identitiesOf(stranger), [])
  await through(id, late)
  await through(id, { ...late, email_verified: false })
  t.equal((await sessionsOf(stranger)).length, 2, 'a known identity signs in')

  t.comment('a second account there links to no member by the address alone')
  t.equal((await through(id, { email: late.email })).seen.status, 403)
  t.equal((await identitiesOf(stranger)).length, 1)

  t.comment('who left the tenant signs in no more')
  await query(
    database,
    `delete from memberships where user_id = '${person.id}' and tenant_id = '${owner.tenantId}'`,
  )
  t.equal((await through(id, { sub })).seen.status, 403)
  t.equal((await sessionsOf(person)).length, 2)
})

t.test('whom a directory provisions signs in by the connection, whatever address it names', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const id = await connect(owner, { subject_attribute: 'oid', directory_subject: 'external_id' })
  const directory = await openDirectory(service, owner)
  const post = (email: string, externalId: string) =>
    expect(201, directory.post('/Users', user(email, { externalId })))
  const ada = await post(`ada@${name}`, 'oid-1')
  const known = await service.signUp()
  await moveTo(known, `known@${name}`)
  await proveAddress(service, known)
  const knownUser = await post(`known@${name}`, 'oid-2')
  t.match(await service.mailTo(`known@${name}`, 'A new way to sign in'), { text: /Nordwind/ })
  const signedIn = async (oid: string) => {
    const { pages, seen } = await through(id, { oid, email: 'other@elsewhere.example' })
    return seen.status === 403 ? null : (await pages.visit('/sign-in/')).text
  }
  t.match(await signedIn('oid-1'), `ada@${name}`)
  t.match(await signedIn('oid-2'), `known@${name}`)

  t.comment('a name that the directory gives to another person signs in that person alone')
  const rename = { op: 'replace', path: 'externalId', value: 'oid-3' }
  await expect(200, directory.patch(`/Users/${ada.id}`, patch(rename)))
  t.equal(await signedIn('oid-1'), null)
  t.match(await signedIn('oid-3'), `ada@${name}`)
  t.comment('a rename takes the link of no one, and gives none to an account that is older')
  const called = (id: string, value: string) =>
    expect(200, directory.patch(`/Users/${id}`, patch({ ...rename, value })))
  await expect(204, directory.delete(`/Users/${ada.id}`))
  const dora = await post(`dora@${name}`, 'oid-4')
  await called(dora.id, 'oid-3')
  t.equal(await signedIn('oid-4'), null)
  t.notMatch((await signedIn('oid-3')) ?? '', `dora@${name}`)
  await called(knownUser.id, 'oid-5')
  for (const oid of ['oid-2', 'oid-5']) t.equal(await signedIn(oid), null)
  await called(dora.id, 'oid-6')
  await post(`bea@${name}`, 'oid-3')
  t.match(await signedIn('oid-3'), `bea@${name}`)
  await post(`cleo@${name}`, 'cleo@elsewhere.example')
  const linked = await rows(
    `select subject from federated_identities where connection_id = '${id}' order by 1`,
  )
  t.same(
    linked.map(({ subject }) => subject),
    ['oid-3'],
    'an address is no subject',
  )
  t.match(await owner.get('/api/v1/audit-log/?action=identity:link'), {
    body: { results: [{ actor: { type: 'service_account', id: directory.account.id } }] },
  })
})

t.test('a member who did not prove the address starts anew', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const id = await connect(owner)
  const person = await colleague(service, owner)
  await moveTo(person, `ada@${name}`)
  await query(database, `update users set email_verified_at = null where id = '${person.id}'`)
  await through(id, { email: `ada@${name}` })
  t.match(await sessionsOf(person), [{ tenant_id: owner.tenantId }])
  t.equal((await person.get('/api/v1/users/me/')).status, 401, 'what was signed in before is not')
})

t.test('a borrowed domain names members alone, and none who did not prove the address', async (t) => {
  const [lender, borrower] = [await service.signUp(), await service.signUp()]
  const name = `${randomUUID()}.example`
  await verify(lender, name, { lentTo: [borrower.tenantId] })
  const id = await connect(borrower)
  const [proven, unproven] = [await colleague(service, borrower), await colleague(service, borrower)]
  await moveTo(proven, `proven@${name}`)
  await proveAddress(service, proven)
  await moveTo(unproven, `unproven@${name}`)
  await query(database, `update users set email_verified_at = null where id = '${unproven.id}'`)
  await through(id, { email: `proven@${name}` })
  t.equal((await sessionsOf(proven)).length, 1)
  t.equal((await through(id, { email: `unproven@${name}` })).seen.status, 403)
  t.same(await identitiesOf(unproven), [])
})

t.test('who may do more than the activator is refused before anything is linked', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const id = await connect(owner)
  const admin = await colleague(service, owner, 'admin')
  await moveTo(admin, `admin@${name}`)
  await proveAddress(service, admin)
  await query(
    database,
    `update connections set activator = '{"systemRoles":["member"],"permissions":[]}' where id = '${id}'`,
  )
  const { seen } = await through(id, { email: `admin@${name}` })
  t.equal(seen.status, 403)
  t.match(seen.text, /may do more/)
  t.same(await identitiesOf(admin), [])
})

t.test('what the provider saw lets a member in, and is no factor of their own', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const id = await connect(owner, { trusts_mfa: true })
  const person = await colleague(service, owner)
  await moveTo(person, `ada@${name}`)
  await proveAddress(service, person)
  const asked = { sub: randomUUID(), email: `ada@${name}`, amr: ['pwd', 'mfa'] }
  await through(id, asked)
  provider.lies = { claims: { auth_time: undefined } }
  await through(id, asked)
  const { amr } = asked
  const auth_time = Math.floor(service.now() / 1_000)
  provider.lies = { claims: { auth_time: undefined }, userinfo: { auth_time } }
  await through(id, asked)
  provider.lies = { claims: { amr: undefined }, userinfo: { amr } }
  await through(id, asked)
  provider.lies = {}
  const levels = (await sessionsOf(person)).map(({ acr }) => acr).sort()
  t.same(levels, ['aal1', 'aal1', 'aal1', 'aal2'], 'without a time, or by the userinfo, it does not count')
})

t.test('oidc-provider signs a member in on its own pages', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const { oidc, open } = await startNpmProvider(t, name)
  const id = await connect(owner, { oidc })
  open(`${service.deps.publicUrl()}/sign-in/callback/${id}/`)
  const person = await colleague(service, owner)
  await moveTo(person, `ada@${name}`)
  await proveAddress(service, person)
  const pages = openPages(service)
  await pages.visit(`/sign-in/with/${id}/`)
  const { refresh } = await pages.send({})
  const { url } = await answerOfPages(refresh!, service.url, { login: 'ada', password: 'any' })
  await pages.visit(`${url.pathname}${url.search}`)
  t.match((await pages.visit('/sign-in/')).text, `ada@${name} ·`)
  t.match(await identitiesOf(person), [{ provider: id, tenant_id: owner.tenantId }])
})

t.test('a sign-in of just now is asked of the provider, and its time is checked', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const id = await connect(owner)
  const person = await colleague(service, owner)
  await moveTo(person, `ada@${name}`)
  await proveAddress(service, person)
  const sub = randomUUID()
  const lastAt = async () =>
    (
      await rows(`select auth_time from sessions where connection_id = '${id}' order by id desc limit 1`)
    )[0].auth_time.getTime()
  const undated = { claims: { auth_time: undefined } }
  const longAgo = { claims: { auth_time: Math.floor(service.now() / 1_000) - 3_600 } }
  provider.lies = undated
  await through(id, { sub, email: `ada@${name}` })
  t.equal(await lastAt(), 0, 'it need not say when, and is not fresh then')
  provider.lies = longAgo
  await through(id, { sub })
  t.equal(await lastAt(), longAgo.claims.auth_time * 1_000)

  const freshly = async () => {
    const pages = openPages(service)
    await pages.visit(`/sign-in/with/${id}/?max_age=0`)
    const { refresh } = await pages.send({})
    t.equal(new URL(refresh!).searchParams.get('max_age'), '0')
    const { pathname, search } = new URL(provider.signIn(refresh!))
    return pages.visit(`${pathname}${search}`)
  }
  for (const lies of [undated, longAgo]) {
    provider.lies = lies
    t.equal((await freshly()).status, 400)
  }
  t.equal((await sessionsOf(person)).length, 2)
  provider.lies = {}
  await freshly()
  t.ok(service.now() - (await lastAt()) < 60_000)
})

t.test('a link leads to no address of a tenant by itself', async (t) => {
  const id = await connect(await service.signUp())
  const pages = openPages(service)
  const seen = await pages.visit(`/sign-in/with/${id}/`, { headers: { 'Sec-Fetch-Site': 'same-origin' } })
  t.match(seen, { status: 200, refresh: undefined })
})

t.test('a draft and a disabled connection sign no one in', async (t) => {
  const owner = await service.signUp()
  const id = await connect(owner)
  await owner.patch(`/api/v1/connections/${id}/`, { status: 'disabled' })
  const pages = openPages(service)
  t.equal((await pages.visit(`/sign-in/with/${id}/`)).status, 404)
})

t.test(
  'a sign-in that is under way when its connection is disabled or deleted keeps no session',
  async (t) => {
    for (const [end, isSecond] of [
      ['disabled', false],
      ['deleted', false],
      ['disabled', true],
    ] as const) {
      const owner = await service.signUp()
      const name = `${randomUUID()}.example`
      await verify(owner, name)
      const id = await connect(owner)
      const person = await colleague(service, owner)
      const email = `ada@${name}`
      await moveTo(person, email)
      await proveAddress(service, person)
      if (isSecond)
        await query(
          database,
          `update tenants set settings = settings || '{"require_mfa": true}' where id = '${owner.tenantId}'`,
        )
      const sub = randomUUID()
      const { pages } = await through(id, { sub, email })
      const code = isSecond ? codeIn(await service.mailTo(email, 'sign-in code')) : ''
      await withClient(database, async (held) => {
        await held.query('begin')
        // The sign-in has looked at the connection when it notes the entry of the member.
        await held.query(`select 1 from memberships where user_id = '${person.id}' for update`)
        const signingIn = isSecond ? pages.send({ code }) : through(id, { sub })
        await untilLocked(database, [signingIn])
        const path = `/api/v1/connections/${id}/`
        const ending = end === 'deleted' ? owner.delete(path) : owner.patch(path, { status: end })
        await untilLocked(database, [signingIn, ending]).catch(() => undefined)
        await held.query('rollback')
        await signingIn
        t.equal((await ending).status, end === 'deleted' ? 204 : 200)
      })
      const begun = await rows(
        `select end_reason from sessions where user_id = '${person.id}' and connection_id = '${id}'`,
      )
      t.equal(begun.length, isSecond ? 1 : 2)
      t.ok(
        begun.every(({ end_reason }) => end_reason === 'revoked'),
        `${end}, ${isSecond}`,
      )
    }
  },
)

t.test('those who look after a connection read its last sign-ins, and why one was refused', async (t) => {
  const owner = await service.signUp()
  const name = `${randomUUID()}.example`
  await verify(owner, name)
  const id = await connect(owner)
  const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
  const { id: department_id } = (await owner.post(departments, { name: 'Sales' })).body
  const mapping = [{ claim: 'groups', value: 'staff', roles: [], department_id }]
  await query(
    database,
    `update connections set mapping = '${JSON.stringify(mapping)}'::jsonb where id = '${id}'`,
  )
  const person = await colleague(service, owner)
  const email = `ada@${name}`
  await moveTo(person, email)
  await proveAddress(service, person)
  const at = `/api/v1/connections/${id}/sign-ins/`
  const newest = async () => (await owner.get(`${at}?page_size=1`)).body.results[0]
  const sub = randomUUID()
  await through(id, { sub, email, groups: ['staff', 'x'.repeat(600)], employee_number: '17' })
  t.match(await newest(), { outcome: 'signed_in', code: null, reason: null, user_id: person.id })
  const { groups, ...others } = (await newest()).claims
  t.same(others, { sub, email, iss: issuer, aud: client_id }, 'what no rule names is not kept')
  t.match(groups, /^\["staff","x{480,}…$/, 'a long value is cut')

  await through(id, { email: `stranger@${name}` })
  t.match(await newest(), { outcome: 'refused', code: 'sign_in_refused', user_id: null })
  t.match(await newest(), { reason: /No active member/, claims: { email: `stranger@${name}` } })
  provider.lies = { claims: { aud: 'another\u0000' } }
  await through(id, { sub, email })
  provider.lies = {}
  t.match(await newest(), { code: 'provider_refused', reason: /has the aud "another/, claims: null })
  const pages = openPages(service)
  await pages.visit(`/sign-in/with/${id}/`)
  const { pathname, search } = new URL(provider.deny((await pages.send({})).refresh!))
  await pages.visit(`${pathname}${search}`)
  t.match(await newest(), { code: 'provider_denied' })
  const begun = await tenants.begin(id, { sub }, pages)
  await pages.visit(`${begun.replace(/code=[^&]*/, 'error=server_error&error_description=Call+555')}`)
  t.match(
    await newest(),
    { code: 'provider_refused', reason: /server_error$/ },
    'the browser can write the rest',
  )
  t.equal((await owner.get(`${at}?outcome=refused`)).body.results.length, 4)

  const before = (days: number) =>
    `timestamptz '${new Date(service.now() - days * 86_400_000).toISOString()}'`
  t.comment('a provider that is asked again and again does not fill the table')
  await query(
    database,
    `insert into connection_sign_ins (tenant_id, connection_id, id, at, outcome)
     select tenant_id, id, gen_random_uuid(), ${before(1)}, 'signed_in' from connections, generate_series(1, 90)
     where id = '${id}'`,
  )
  await through(id, { sub, email })
  const kept = () => rows(`select at from connection_sign_ins where connection_id = '${id}'`)
  t.equal((await kept()).length, 54, 'refusals push no sign-in out')

  const [auditor, stranger] = [await colleague(service, owner, 'auditor'), await service.signUp()]
  t.equal((await auditor.get(at)).status, 200)
  t.equal((await (await colleague(service, owner)).get(at)).status, 403)
  t.equal((await stranger.get(at)).status, 404)

  t.comment('rows go with their time, their person and their connection')
  await query(database, `update connection_sign_ins set at = ${before(31)} where claims_sealed is null`)
  await deleteOutdated(service.worker!)
  t.equal((await kept()).length, 3)
  t.equal(
    (await person.delete('/api/v1/users/me/', { body: { current_password: person.password } })).status,
    204,
  )
  service.advance(120_000)
  await deleteOutdated(service.worker!)
  t.same(
    (await owner.get(at)).body.results.map(({ code }: Json) => code),
    ['sign_in_refused'],
  )
  t.match(await owner.delete(`/api/v1/connections/${id}/`), { status: 204 })
  t.same(await kept(), [])
})
