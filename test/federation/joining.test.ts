import { randomUUID } from 'node:crypto'
import t from 'tap'
import { addGroup } from '../directory/open-directory.ts'
import { colleague } from '../helpers/colleague.ts'
import { untilLocked } from '../helpers/lock-waits.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { query, rowsOf, withClient } from '../helpers/query.ts'
import { type Client, type Json, startService } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { expect } from '../tenancy/staff.ts'
import { activeConnection, verifiedDomain } from './active-connection.ts'
import { startProvider } from './provider.ts'

// People become members of a tenant by its connection, and get what its mapping gives. The tenant controls the provider.

const provider = await startProvider(t)
const service = await startService(t, {
  env: {
    FEDERATION_ALLOWED_HOSTS: 'localhost',
    RATE_LIMIT_OAUTH_PER_ADDRESS: '10000',
    RATE_LIMIT_ENABLED: 'true',
    RATE_LIMIT_REGISTER_PER_HOUR: '1000',
  },
})
const database = service.databases.superuser
const rows = (text: string) => rowsOf(database, text) as Promise<Json[]>

const moveTo = (person: Client, email: string) =>
  query(database, `update users set email = '${email}' where id = '${person.id}'`)
const personAt = async (email: string) =>
  (await rows(`select id, email_verified_at, first_name from users where email = '${email}'`))[0]
const membershipsAt = (email: string) =>
  rows(
    `select m.tenant_id, m.id, m.status, m.department_id from memberships m join users u on u.id = m.user_id where u.email = '${email}'`,
  )
const rolesAt = async (email: string, { tenantId }: Client) =>
  (
    await rows(
      `select r.name, mr.source, mr.connection_id from memberships m join users u on u.id = m.user_id
       join membership_roles mr on mr.tenant_id = m.tenant_id and mr.membership_id = m.id
       join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id
       where u.email = '${email}' and m.tenant_id = '${tenantId}' order by r.name`,
    )
  ).map(({ name, source }) => `${name} ${source}`)
const sessionsAt = (email: string) =>
  rows(
    `select s.tenant_id, s.confined_to from sessions s join users u on u.id = s.user_id where u.email = '${email}' and s.amr @> '{fed}'`,
  )

/** An owner whose tenant has a verified domain, and a connection by which people join. */
async function joinable(more: object = {}) {
  const owner = await service.signUp()
  const domain = `${randomUUID()}.example`
  await verifiedDomain(service, owner, domain)
  const id = await activeConnection(service, owner, provider, { jit: 'verified_domains', ...more })
  return { owner, domain, id }
}

const role = (owner: Client, name: string, ...permissions: string[]) =>
  expect(201, owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name, permissions }))

/** Begins a sign-in there as a person, and gives what brings the browser back. */
const leaving = async (id: string, person: Record<string, unknown>) => {
  provider.person = { sub: randomUUID(), email_verified: true, ...person }
  const pages = openPages(service)
  await pages.visit(`/sign-in/with/${id}/`, { headers: { 'Sec-Fetch-Site': 'same-origin' } })
  const begun = await pages.send({})
  const { pathname, search } = new URL(provider.signIn(begun.refresh!))
  return { pages, back: () => pages.visit(`${pathname}${search}`) }
}
const through = async (id: string, person: Record<string, unknown>) => (await leaving(id, person)).back()

t.test('a new person joins: a proven address, no tenant of their own, and no mail', async (t) => {
  const { owner, domain, id } = await joinable()
  const mails = await rows(`select template from mails where tenant_id = '${owner.tenantId}'`)
  const [email, sub] = [`ada@${domain}`, randomUUID()]
  const person = { sub, email, given_name: 'Ada', email_verified: undefined }
  await through(id, person)
  t.match(await personAt(email), { email_verified_at: Date, first_name: 'Ada' })
  t.match(await membershipsAt(email), [{ tenant_id: owner.tenantId, status: 'active' }])
  t.same(await rolesAt(email, owner), ['member manual'])
  t.same(await sessionsAt(email), [{ tenant_id: owner.tenantId, confined_to: owner.tenantId }])
  t.same(await rows(`select template from mails where tenant_id = '${owner.tenantId}'`), mails)
  await through(id, person)
  t.equal((await membershipsAt(email)).length, 1)
  t.equal((await sessionsAt(email)).length, 2)
  const { results } = (await owner.get(`/api/v1/connections/${id}/sign-ins/`)).body
  t.match(results, [{ outcome: 'signed_in' }, { outcome: 'joined', claims: { email } }])
  const { id: userId } = (await personAt(email))!
  t.match(
    await rows(
      `select type, data from events where tenant_id = '${owner.tenantId}' and data ->> 'user_id' = '${userId}'
       and type not like 'identity.login%' order by id`,
    ),
    [
      { type: 'identity.user_created' },
      { type: 'tenant.member_added', data: { user_id: userId } },
      { type: 'identity.identity_linked' },
    ],
  )
})

t.test('a person with a proven address is linked, joins, and is mailed how to undo both', async (t) => {
  const { owner, domain, id } = await joinable()
  const [person, email] = [await service.signUp(), `ada@${domain}`]
  await moveTo(person, email)
  await proveAddress(service, person)
  const before = await membershipsAt(email)
  await through(id, { email })
  const joined = (await membershipsAt(email)).filter(({ tenant_id }) => tenant_id === owner.tenantId)
  t.equal((await membershipsAt(email)).length, before.length + 1)
  t.same(await rolesAt(email, owner), ['member manual'])
  t.match(await service.mailTo(email, 'A new way to sign in'), { text: /Nordwind/ })
  const { text } = await service.mailTo(email, 'You were added')
  t.match(text, /Nordwind made you a member/)
  t.equal((await person.get('/api/v1/users/me/')).status, 200, 'what they had stays')

  t.comment('the link of the mail ends the membership; the next sign-in joins again')
  const token = /token=([\w-]+)/.exec(text)![1]
  t.equal((await service.call('POST', '/api/v1/tenants/leave/', { body: { token } })).status, 200)
  t.equal((await membershipsAt(email)).length, before.length)
  t.equal(joined.length, 1)
})

t.test('an account whose address was not proven starts anew, and joins', async (t) => {
  const { owner, domain, id } = await joinable()
  const [person, email] = [await service.signUp(), `ada@${domain}`]
  await moveTo(person, email)
  await query(database, `update users set email_verified_at = null where id = '${person.id}'`)
  await through(id, { email })
  t.same(await rolesAt(email, owner), ['member manual'])
  t.equal((await sessionsAt(email)).length, 1)
  t.match(await personAt(email), { id: person.id, email_verified_at: Date })
  t.equal((await person.get('/api/v1/users/me/')).status, 401, 'its maker is signed out')
  t.equal((await service.logIn(person).catch(() => null))?.access, undefined, 'and has no password')
})

t.test('by a borrowed domain new people join, and none who did not prove the address', async (t) => {
  const [lender, borrower] = [await service.signUp(), await service.signUp()]
  const domain = `${randomUUID()}.example`
  await verifiedDomain(service, lender, domain, [borrower.tenantId])
  const off = await activeConnection(service, borrower, provider)
  t.equal((await through(off, { email: `ada@${domain}` })).status, 403, 'not without jit')
  const id = await activeConnection(service, borrower, provider, { jit: 'verified_domains' })
  await through(id, { email: `ada@${domain}` })
  t.match(await membershipsAt(`ada@${domain}`), [{ tenant_id: borrower.tenantId }])
  const unproven = await service.signUp()
  await moveTo(unproven, `bob@${domain}`)
  await query(database, `update users set email_verified_at = null where id = '${unproven.id}'`)
  t.equal((await through(id, { email: `bob@${domain}` })).status, 403)
  t.equal((await unproven.get('/api/v1/users/me/')).status, 200)
})

t.test('no one joins without jit, by a lost domain, or past the limits of the tenant', async (t) => {
  const { owner, domain, id } = await joinable()
  const refused = async (what: string, connection = id) => {
    const email = `${randomUUID()}@${domain}`
    t.equal((await through(connection, { email })).status, 403, what)
    t.equal(await personAt(email), undefined, `${what}: nothing is stored`)
  }
  await refused('without jit', await activeConnection(service, owner, provider))
  t.equal((await through(id, { email: `un@${domain}`, email_verified: false })).status, 403, 'unverified')
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  await expect(200, owner.patch(tenant, { settings: { allowed_email_domains: ['elsewhere.example'] } }))
  await refused('another domain than the tenant accepts')
  await expect(200, owner.patch(tenant, { settings: { allowed_email_domains: [domain] } }))
  t.equal((await through(id, { email: `ada@${domain}` })).status, 200)

  t.comment('who was suspended stays so, and who was deactivated joins nothing')
  await query(database, `update memberships set status = 'suspended' where email = 'ada@${domain}'`)
  t.equal((await through(id, { email: `ada@${domain}` })).status, 403)
  t.match(await membershipsAt(`ada@${domain}`), [{ status: 'suspended' }])
  const person = await service.signUp()
  await moveTo(person, `bob@${domain}`)
  await proveAddress(service, person)
  await query(database, `update users set is_active = false where id = '${person.id}'`)
  t.equal((await through(id, { email: `bob@${domain}` })).status, 403)
  t.same(
    (await membershipsAt(`bob@${domain}`)).filter(({ tenant_id }) => tenant_id === owner.tenantId),
    [],
  )

  t.comment('the domain is lost while the person is at the provider')
  const late = await leaving(id, { email: `late@${domain}` })
  await query(database, `update domains set status = 'lost' where domain = '${domain}'`)
  t.equal((await late.back()).status, 403)
  t.equal(await personAt(`late@${domain}`), undefined)
})

t.test('a policy that denies member:create refuses, before anything is stored', async (t) => {
  const { owner, domain, id } = await joinable()
  await expect(
    201,
    owner.post('/api/v1/policies/', {
      name: 'No interns',
      effect: 'deny',
      actions: ['member:create'],
      conditions: { all: [{ attribute: 'subject.email', operator: 'starts_with', value: 'intern' }] },
    }),
  )
  const email = `intern@${domain}`
  const known = await service.signUp()
  await moveTo(known, `intern2@${domain}`)
  await proveAddress(service, known)
  t.equal((await through(id, { email })).status, 403)
  t.equal(await personAt(email), undefined)
  t.equal((await through(id, { email: `intern2@${domain}` })).status, 403)
  t.same(await rows(`select id from federated_identities where user_id = '${known.id}'`), [])
  t.equal((await through(id, { email: `ada@${domain}` })).status, 200)
})

t.test('two first sign-ins at the same time make one person and one member', async (t) => {
  const { domain, id } = await joinable()
  for (const known of [false, true]) {
    const [email, sub] = [`${known}@${domain}`, randomUUID()]
    if (known) {
      const person = await service.signUp()
      await moveTo(person, email)
      await proveAddress(service, person)
    }
    const own = (await membershipsAt(email)).length
    const both = [await leaving(id, { sub, email }), await leaving(id, { sub, email })]
    const statuses = (await Promise.all(both.map(({ back }) => back()))).map(({ status }) => status)
    t.ok(statuses.includes(200), statuses.join())
    t.equal((await membershipsAt(email)).length, own + 1)
    t.equal((await rows(`select id from federated_identities where subject = '${sub}'`)).length, 1)
    t.equal((await through(id, { sub, email })).status, 200)
  }
})

t.test('the mapping gives and takes back its own roles, and the first department', async (t) => {
  const { owner, domain } = await joinable()
  const { id: sales } = await role(owner, 'Sales', 'document:read')
  await role(owner, 'Writer', 'document:update')
  const path = `/api/v1/tenants/${owner.tenantId}`
  const department = async (name: string) =>
    (await expect(201, owner.post(`${path}/departments/`, { name }))).id
  const [north, south] = [await department('North'), await department('South')]
  const mapping = [
    { claim: 'groups', value: 'sales', roles: [sales] },
    { claim: 'groups', value: 'north', roles: ['Sales', 'Writer'], department_id: north },
    { claim: 'site', value: 'south', department_id: south },
  ]
  const id = await activeConnection(service, owner, provider, { jit: 'verified_domains', mapping })
  const [email, sub] = [`ada@${domain}`, randomUUID()]
  const says = (more: object) => through(id, { sub, email, ...more })
  const versionOf = async () =>
    (
      await rows(
        `select version from memberships where email = '${email}' and tenant_id = '${owner.tenantId}'`,
      )
    )[0]!.version

  await says({ groups: ['north', 'other'], site: 'south' })
  t.same(await rolesAt(email, owner), ['Sales connection', 'Writer connection', 'member manual'])
  const [member] = await membershipsAt(email)
  t.equal(member!.department_id, north)
  const version = await versionOf()
  await says({ groups: ['north', 'other'], site: 'south' })
  t.equal(await versionOf(), version, 'what is so already changes nothing')

  t.comment('a person gives Writer: it stays when the group goes')
  const at = `${path}/members/${member!.id}/`
  await expect(200, owner.patch(at, { roles: ['member', 'Sales'] }))
  await expect(200, owner.patch(at, { roles: ['member', 'Sales', 'Writer'] }))
  t.same(await rolesAt(email, owner), ['Sales connection', 'Writer manual', 'member manual'])
  await says({ groups: 'sales' })
  t.same(await rolesAt(email, owner), ['Sales connection', 'Writer manual', 'member manual'])
  t.equal((await membershipsAt(email))[0]!.department_id, north, 'no rule that fits has one')
  await says({ groups: ['Sales', { value: 'sales' }], site: 'south' })
  t.same(await rolesAt(email, owner), ['Writer manual', 'member manual'])
  t.equal((await membershipsAt(email))[0]!.department_id, south)
  t.match(
    await rows(
      `select action, actor_id, changes from audit_log where target_id = '${member!.id}' order by id desc limit 1`,
    ),
    [{ action: 'member:update', actor_id: null, changes: { connection: { after: id } } }],
  )

  t.comment('the connection takes its roles along')
  await says({ groups: 'sales' })
  t.same(await rolesAt(email, owner), ['Sales connection', 'Writer manual', 'member manual'])
  const changed = await versionOf()
  await expect(204, owner.delete(`/api/v1/connections/${id}/`))
  t.same(await rolesAt(email, owner), ['Writer manual', 'member manual'])
  t.equal(await versionOf(), `${Number(changed) + 1}`)
})

t.test('a role that a rule of the directory gives, too, stays when the claim goes', async (t) => {
  const { owner, domain, id } = await joinable({
    mapping: [{ claim: 'groups', value: 'all', roles: ['auditor'] }],
  })
  const [email, sub] = [`ada@${domain}`, randomUUID()]
  await through(id, { sub, email, groups: 'all' })
  t.same(await rolesAt(email, owner), ['auditor connection', 'member manual'])
  const group = await addGroup(service, owner)
  const [member] = await membershipsAt(email)
  await query(
    database,
    `insert into directory_group_members (tenant_id, group_id, member_id) values ('${owner.tenantId}', '${group}', '${member!.id}')`,
  )
  await expect(201, owner.post('/api/v1/directory/rules/', { group, roles: ['auditor'] }))
  await through(id, { sub, email })
  t.same(await rolesAt(email, owner), ['auditor directory', 'member manual'])
})

t.test('a mapping gives nothing above its activator, and no one becomes an owner', async (t) => {
  const { owner, domain } = await joinable()
  const { id: grown } = await role(owner, 'Grown', 'document:read')
  const mapping = [{ claim: 'groups', value: 'all', roles: ['admin', 'Grown', 'auditor'] }]
  const id = await activeConnection(service, owner, provider, { jit: 'verified_domains', mapping })
  await query(
    database,
    `update connections set activator = '{"systemRoles":["member","auditor"],"permissions":[]}' where id = '${id}'`,
  )
  const [email, sub] = [`ada@${domain}`, randomUUID()]
  t.equal((await through(id, { sub, email, groups: ['all'] })).status, 200)
  t.same(await rolesAt(email, owner), ['auditor connection', 'member manual'])

  t.comment('written past the checks')
  const [{ id: ownerRole }] = (await rows(
    `select id from roles where tenant_id = '${owner.tenantId}' and name = 'owner'`,
  )) as [Json]
  await query(
    database,
    `update connections set mapping = '[{"claim":"groups","value":"all","roles":["${ownerRole}","${grown}"],"department_id":"${randomUUID()}"}]',
       activator = '{"systemRoles":["owner"],"permissions":[]}' where id = '${id}'`,
  )
  t.equal((await through(id, { sub, email, groups: ['all'] })).status, 200)
  t.same(await rolesAt(email, owner), ['Grown connection', 'member manual'])
  t.match(await membershipsAt(email), [{ department_id: null }], 'a department that is gone')
})

t.test('no role of a connection outlives it, also of a sign-in at the same time', async (t) => {
  const mapping = [{ claim: 'groups', value: 'all', roles: ['auditor'] }]
  const { owner, domain, id } = await joinable({ mapping })
  const [email, sub] = [`ada@${domain}`, randomUUID()]
  await through(id, { sub, email })
  const { back } = await leaving(id, { sub, email, groups: 'all' })
  await withClient(database, async (held) => {
    await held.query('begin')
    await held.query(`select 1 from memberships where email = '${email}' for update`)
    const signingIn = back()
    await untilLocked(database, [signingIn])
    const deletion = owner.delete(`/api/v1/connections/${id}/`)
    await untilLocked(database, [signingIn, deletion])
    await held.query('rollback')
    await Promise.all([signingIn, expect(204, deletion)])
  })
  t.same(await rolesAt(email, owner), ['member manual'])
})

t.test('another address gets an invitation, and the page says the same to all', async (t) => {
  const { owner, id } = await joinable()
  await proveAddress(service, owner)
  const [member, other] = [await colleague(service, owner), await service.signUp()]
  await proveAddress(service, member)
  const fresh = `${randomUUID()}@elsewhere.example`
  const invited = async () =>
    (
      await rows(
        `select email, invited_by from invitations where tenant_id = '${owner.tenantId}' order by id`,
      )
    ).map(({ email, invited_by }) => [email, invited_by])
  const pages: (string | undefined)[] = []
  for (const email of [fresh, fresh, other.email, member.email]) {
    const { status, text } = await through(id, { email })
    t.equal(status, 403)
    pages.push(/<p class="alert[^>]*>([^<]*)/.exec(text)?.[1])
  }
  t.match(pages, Array(4).fill(/not a member of this organisation yet/))
  t.equal(new Set(pages).size, 1)
  t.same(await invited(), [
    [fresh, owner.id],
    [other.email, owner.id],
  ])
  t.equal(await personAt(fresh), undefined, 'no account before the address is proved')
  t.match(await service.mailTo(fresh), { text: /invitation/ })

  t.comment('neither where a policy denies it, nor without jit')
  await expect(
    201,
    owner.post('/api/v1/policies/', {
      name: 'No invitations',
      effect: 'deny',
      actions: ['invitation:create'],
      conditions: { all: [{ attribute: 'subject.id', operator: 'ne', value: owner.id }] },
    }),
  )
  t.equal((await through(id, { email: `${randomUUID()}@elsewhere.example` })).status, 403)
  const off = await activeConnection(service, owner, provider)
  t.notMatch((await through(off, { email: `x${fresh}` })).text, /invite you/)
  t.equal((await invited()).length, 2)
})

t.test('a provider that names others reaches none of them, also with jit', async (t) => {
  const { id } = await joinable()
  const others: Client[] = []
  for (let n = 0; n < 2; n++) {
    const owner = await service.signUp()
    await proveAddress(service, owner)
    others.push(owner, await colleague(service, owner))
  }
  const state = () =>
    rows(
      `select u.id, u.email, u.password_hash, u.email_verified_at, u.version,
         (select count(*) from sessions s where s.user_id = u.id) sessions,
         (select count(*) from federated_identities f where f.user_id = u.id) identities,
         (select count(*) from memberships m where m.user_id = u.id) memberships
       from users u order by 1`,
    )
  const before = await state()
  for (const { email, id: sub } of others)
    for (const said of [{ email }, { sub, email: email.toUpperCase() }, { sub }])
      t.equal((await through(id, said)).status, 403)
  t.same(await state(), before)
})
