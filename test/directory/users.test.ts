import t from 'tap'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { query } from '../helpers/query.ts'
import { type Json, startService, tokenIn } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'
import { memberOf, openFirm, patch, scimError, user } from './open-directory.ts'

const service = await startService(t)
const database = await openDatabase(t, service)

const foundFirm = () => openFirm(service)
const listed = async (directory: { get(path: string): Promise<Json> }, filter: string) => {
  const { body } = await directory.get(`/Users?filter=${encodeURIComponent(filter)}`)
  return body.Resources?.map(({ userName }: Json) => userName) ?? body
}
t.test('a User with an address of a verified domain is a new person and a member', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `ada@${domain}`
  const made = await directory.post('/Users', user(email, { externalId: 'A-1', title: 'Countess' }))
  t.match(made, {
    status: 201,
    body: {
      schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
      userName: email,
      externalId: 'A-1',
      title: 'Countess',
      active: true,
      name: { givenName: 'Ada', familyName: 'Lovelace' },
      meta: { resourceType: 'User', created: String, version: /^W\/"\d+"$/ },
    },
  })
  const { id, meta } = made.body
  t.equal(made.headers.get('location'), meta.location)
  t.equal(made.headers.get('etag'), meta.version)
  t.match(await memberOf(owner, members, email), {
    id,
    email,
    email_verified: true,
    external_id: 'A-1',
    roles: ['member'],
    status: 'active',
    user: { first_name: 'Ada', last_name: 'Lovelace' },
  })
  t.match(await directory.get(`/Users/${id}`), { status: 200, body: made.body })
  t.match(await directory.post('/Users', user(email.toUpperCase())), {
    ...scimError(409, 'uniqueness'),
    body: { detail: new RegExp(id) },
  })
  const types = (await eventsOf(database, owner.tenantId)).map(({ type }) => type)
  for (const type of ['identity.user_created', 'tenant.member_added', 'directory.user_created'])
    t.ok(types.includes(type), type)
})

t.test('a member is a User before a directory posts them', async (t) => {
  const { owner, directory, members } = await foundFirm()
  await proveAddress(service, owner)
  const { id } = await memberOf(owner, members, owner.email)
  t.match(await directory.get(`/Users/${id}`), {
    body: { id, userName: owner.email, emails: [{ value: owner.email }] },
  })
  t.match(await directory.post('/Users', user(owner.email)), {
    ...scimError(409, 'uniqueness'),
    body: { detail: new RegExp(id) },
  })
  t.same(await listed(directory, `userName eq "${owner.email}"`), [owner.email])
  t.match(
    await directory.get('/Users'),
    { body: { totalResults: 1, Resources: [{ id }] } },
    'no service account',
  )
})

t.test('a member is no User of an address that they never proved', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `colleague@${domain}`
  const { id: user_id } = await service.register({ email })
  const { id } = await expect(201, owner.post(members, { user_id }))
  const { body } = await directory.get(`/Users/${id}`)
  t.match(body, { id, userName: id })
  t.notOk('emails' in body)
  for (const filter of [`userName eq "${email}"`, `emails.value eq "${email}"`, 'userName sw "colleague"'])
    t.match(await directory.get(`/Users?filter=${encodeURIComponent(filter)}`), { body: { totalResults: 0 } })
  const refused = await directory.post('/Users', user(email))
  t.match(refused, scimError(409, 'uniqueness'))
  t.notOk(JSON.stringify(refused.body).includes(id))
  await expect(200, directory.patch(`/Users/${id}`, patch({ op: 'replace', path: 'active', value: false })))
  t.match(await memberOf(owner, members, email), { id, status: 'suspended' })
})

t.test('a person with a proven address becomes a member, and a mail tells them', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `known@${domain}`
  const person = await service.register({ email })
  await query(
    service.databases.superuser,
    `update users set email_verified_at = now() where email = '${email}'`,
  )
  t.equal((await directory.post('/Users', user(email))).status, 201)
  t.match(await memberOf(owner, members, email), { user_id: person.id, email_verified: true })
  t.ok(tokenIn(await service.mailTo(email, 'added')), 'a link to leave')
  t.ok(await service.logIn(person), 'the password stays')
})

t.test('an address never proved is proven by the domain: what a stranger set up is gone', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `squatted@${domain}`
  const stranger = await service.logIn(await service.register({ email }))
  t.equal((await directory.post('/Users', user(email))).status, 201)
  t.match(await memberOf(owner, members, email), { user_id: stranger.id, email_verified: true })
  t.equal((await stranger.get('/api/v1/users/me/')).status, 401)
  await t.rejects(service.logIn(stranger), 'the password is gone')
})

t.test('another address is invited, and is a member with the id of the User once it accepts', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const person = await service.signUp()
  await query(
    service.databases.superuser,
    `update users set email_verified_at = now() where email = '${person.email}'`,
  )
  const { status, body } = await directory.post('/Users', user(person.email, { externalId: 'C-1' }))
  t.equal(status, 201)
  t.equal(body.active, true)
  t.same(await memberOf(owner, members, person.email), undefined)
  t.match(await directory.get('/Users'), { body: { totalResults: 2 } })
  t.same(await listed(directory, 'externalId eq "C-1"'), [person.email])
  t.equal(
    (await directory.patch(`/Users/${body.id}`, patch({ op: 'replace', path: 'title', value: 'Smith' })))
      .status,
    200,
  )
  const token = tokenIn(await service.mailTo(person.email, 'invit'))
  t.equal((await person.post('/api/v1/invitations/accept/', { token })).status, 200)
  t.match(await memberOf(owner, members, person.email), {
    id: body.id,
    external_id: 'C-1',
    roles: ['member'],
  })
  t.match(await directory.get(`/Users/${body.id}`), { body: { title: 'Smith', externalId: 'C-1' } })
  t.match(await directory.get('/Users'), { body: { totalResults: 2 } })
})

t.test('a User without an address waits for one', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const { body } = await directory.post('/Users', { userName: 'scanner', active: true })
  t.match(body, { userName: 'scanner', active: true })
  const email = `scanner@${domain}`
  const op = { op: 'Add', path: 'emails[type eq "work"].value', value: email }
  t.match(await directory.patch(`/Users/${body.id}`, patch(op)), {
    body: { emails: [{ type: 'work', value: email }] },
  })
  t.match(await memberOf(owner, members, email), { id: body.id, status: 'active' })
})

t.test('a User that is not active is suspended at once, and keys and sessions stay ended', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const person = await service.signUp()
  const { id } = await expect(201, owner.post(members, { user_id: person.id, roles: ['admin'] }))
  await person.switchTo(owner.tenantId)
  const { key } = await expect(201, person.post('/api/v1/users/me/keys/', { name: 'Mine' }))
  t.equal((await person.get(members)).status, 200)
  const off = patch({ op: 'Replace', path: 'active', value: 'False' })
  t.match(await directory.patch(`/Users/${id}`, off), { status: 200, body: { active: false } })
  t.equal((await person.get(members)).status, 401)
  const on = patch({ op: 'replace', value: { active: true } })
  t.match(await directory.patch(`/Users/${id}`, on), { status: 200, body: { active: true } })
  t.equal((await person.get(members)).status, 401, 'the session is over')
  t.equal((await service.call('GET', members, { token: key })).status, 401)
  t.match(await memberOf(owner, members, person.email), { status: 'active', roles: ['admin'] })

  await expect(200, owner.patch(`${members}${id}/`, { status: 'suspended' }))
  t.match(
    await directory.patch(`/Users/${id}`, on),
    { status: 200, body: { active: false } },
    'a person did that',
  )
})

t.test('a directory cannot remove the last owner, nor who made its key', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const own = await memberOf(owner, members, owner.email)
  const off = patch({ op: 'replace', path: 'active', value: false })
  t.match(await directory.patch(`/Users/${own.id}`, off), scimError(409, 'mutability'))
  t.match(await directory.delete(`/Users/${own.id}`), scimError(409, 'mutability'))
})

t.test('a deleted User is no member, and the person stays', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `leaver@${domain}`
  const { body } = await directory.post('/Users', user(email))
  t.equal((await directory.delete(`/Users/${body.id}`)).status, 204)
  t.match(await directory.get(`/Users/${body.id}`), scimError(404))
  t.same(await memberOf(owner, members, email), undefined)
  t.equal((await directory.post('/Users', user(email))).status, 201, 'and can come again')
  const again = await memberOf(owner, members, email)
  await expect(204, owner.delete(`${members}${again.id}/`))
  t.match(await directory.get(`/Users/${again.id}`), scimError(404), 'also when a person removes them')
  const waiting = await directory.post('/Users', { userName: 'waits' })
  t.equal((await directory.delete(`/Users/${waiting.body.id}`)).status, 204)
})

t.test('Users are filtered, sorted and paged', async (t) => {
  const { owner, directory, domain } = await foundFirm()
  await proveAddress(service, owner)
  for (const name of ['bea', 'cleo', 'dora'])
    await expect(
      201,
      directory.post('/Users', user(`${name}@${domain}`, { displayName: `The ${name}`, externalId: name })),
    )
  await expect(201, directory.post('/Users', { userName: 'Emil', displayName: 'The emil', active: false }))
  const at = (name: string) => `${name}@${domain}`
  for (const [filter, names] of Object.entries({
    [`userName eq "${at('BEA')}"`]: [at('bea')],
    'userName eq "emil"': ['Emil'],
    'externalId eq "cleo"': [at('cleo')],
    'externalId eq "CLEO"': [],
    'displayName sw "the"': [at('bea'), at('cleo'), at('dora'), 'Emil'],
    'displayName co "EO" or userName ew "il"': [at('cleo'), 'Emil'],
    'displayName sw "the" and not (active eq true)': ['Emil'],
    'active eq "False"': ['Emil'],
    [`emails[value eq "${at('dora')}"]`]: [at('dora')],
    [`emails.value eq "${at('dora')}"`]: [at('dora')],
    'meta.created lt "2000-01-01T00:00:00Z"': [],
    'id eq "no-id"': [],
    'externalId pr': [at('bea'), at('cleo'), at('dora')],
    'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "emil"': ['Emil'],
  }))
    t.same(await listed(directory, filter), names, filter)
  for (const filter of [
    'userName',
    'title eq "x"',
    'password eq "x"',
    'userName eq',
    'active gt true',
    '('.repeat(500),
  ])
    t.match(
      await directory.get(`/Users?filter=${encodeURIComponent(filter)}`),
      scimError(400, 'invalidFilter'),
      filter,
    )
  const page = await directory.get('/Users?sortBy=userName&sortOrder=descending&startIndex=2&count=2')
  t.match(page, { body: { totalResults: 5, startIndex: 2, itemsPerPage: 2 } })
  const all = [owner.email, at('bea'), at('cleo'), at('dora'), 'emil'].sort().reverse()
  t.same(
    page.body.Resources.map(({ userName }: Json) => userName.toLowerCase()),
    all.slice(1, 3),
  )
  t.match(await directory.get('/Users?count=0'), { body: { totalResults: 5, Resources: [] } })
  t.match(await directory.get('/Users?startIndex=50'), { body: { totalResults: 5, Resources: [] } })
  const search = { attributes: ['userName'], filter: 'userName eq "emil"', count: 10 }
  const { body } = await directory.post('/Users/.search', search)
  t.same(Object.keys(body.Resources[0]).sort(), ['id', 'schemas', 'userName'])
  const less = await directory.get(
    '/Users?excludedAttributes=emails,userName&filter=externalId%20eq%20%22bea%22',
  )
  t.match(less.body.Resources, [{ userName: at('bea') }], 'the name is always there')
  t.notOk('emails' in less.body.Resources[0])
})

t.test('a version that is not the newest changes nothing', async (t) => {
  const { directory } = await foundFirm()
  const { body, headers } = await directory.post('/Users', { userName: 'kept' })
  const tag = headers.get('etag')!
  const rename = patch({ op: 'replace', path: 'displayName', value: 'New' })
  t.equal((await directory.patch(`/Users/${body.id}`, rename, { headers: { 'if-match': tag } })).status, 200)
  t.match(
    await directory.patch(`/Users/${body.id}`, rename, { headers: { 'if-match': tag } }),
    scimError(412),
  )
  t.match(await directory.put(`/Users/${body.id}`, { userName: 'kept' }), {
    status: 200,
    body: { userName: 'kept' },
  })
  t.match(await directory.post('/Users', 'x'.repeat(2_000_000)), scimError(413))
  t.match(await directory.post('/Users', '<x/>', { headers: { 'content-type': 'text/xml' } }), scimError(415))
  t.match(await directory.post('/Users', '{'), scimError(400, 'invalidSyntax'))
  t.match(await directory.post('/Users', {}), scimError(400, 'invalidValue'))
})

t.test('what a policy denies of members, a directory cannot do', async (t) => {
  const { owner, directory, domain } = await foundFirm()
  const { body } = await directory.post('/Users', user(`stays@${domain}`))
  const deny = { name: 'No changes', effect: 'deny', actions: ['member:*', 'invitation:create'] }
  await expect(201, owner.post('/api/v1/policies/', deny))
  t.match(await directory.post('/Users', user(`new@${domain}`)), scimError(403))
  t.match(await directory.post('/Users', user('new@elsewhere.example')), scimError(403))
  t.match(
    await directory.patch(`/Users/${body.id}`, patch({ op: 'replace', path: 'active', value: false })),
    scimError(403),
  )
  t.match(await directory.delete(`/Users/${body.id}`), scimError(403))
  t.equal((await directory.post('/Users', { userName: 'nobody' })).status, 201)
})

t.test('what a directory is refused leaves the account of another as it is', async (t) => {
  const { owner, directory, domain } = await foundFirm()
  const email = `kept@${domain}`
  const stranger = await service.logIn(await service.register({ email }))
  const isKept = async (why: string) => t.equal((await stranger.get('/api/v1/users/me/')).status, 200, why)
  await expect(201, directory.post('/Users', { userName: 'taken' }))
  t.match(
    await directory.post('/Users', user('taken', { emails: [{ value: email }] })),
    scimError(409, 'uniqueness'),
  )
  await isKept('the name is taken')
  const waiting = await expect(201, directory.post('/Users', { userName: 'waits' }))
  const headers = { 'if-match': 'W/"99"' }
  t.match(await directory.put(`/Users/${waiting.id}`, user(email), { headers }), scimError(412))
  await isKept('the version is old')
  const at = `/api/v1/tenants/${owner.tenantId}/`
  const allow = (allowed_email_domains: string[]) =>
    expect(200, owner.patch(at, { settings: { allowed_email_domains } }))
  await allow(['elsewhere.example', owner.email.split('@')[1]!])
  t.match(await directory.post('/Users', user(email)), scimError(400))
  await isKept('the tenant does not accept the domain')
  await allow([])
  await expect(
    201,
    owner.post('/api/v1/policies/', { name: 'No', effect: 'deny', actions: ['member:create'] }),
  )
  t.match(await directory.post('/Users', user(email)), scimError(403))
  await isKept('a policy denies it')
})

t.test('an invitation that a directory takes over gives no role that its inviter has lost', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const [inviter, person] = [await service.signUp(), await service.signUp()]
  const { id } = await expect(201, owner.post(members, { user_id: inviter.id, roles: ['owner'] }))
  await inviter.switchTo(owner.tenantId)
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  await expect(201, inviter.post(`${tenant}invitations/`, { email: person.email, roles: ['admin'] }))
  await expect(200, owner.patch(`${members}${id}/`, { roles: directory.account.roles }))
  await expect(201, directory.post('/Users', user(person.email)))
  await query(
    service.databases.superuser,
    `update users set email_verified_at = now() where email = '${person.email}'`,
  )
  const token = tokenIn(await service.mailTo(person.email, 'invit'))
  t.match(await person.post('/api/v1/invitations/accept/', { token }), {
    status: 400,
    body: { code: 'invitation_invalid' },
  })
  t.same(await memberOf(owner, members, person.email), undefined)
})

t.test('a directory neither removes nor lifts what a person suspended', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `banned@${domain}`
  const { id } = await expect(201, directory.post('/Users', user(email)))
  const set = (active: boolean) =>
    expect(200, directory.patch(`/Users/${id}`, patch({ op: 'replace', path: 'active', value: active })))
  await set(false)
  await expect(200, owner.patch(`${members}${id}/`, { status: 'suspended' }))
  t.match(await set(true), { active: false }, 'a person took the suspension over')
  t.match(await directory.delete(`/Users/${id}`), scimError(409, 'mutability'))
  t.match(await memberOf(owner, members, email), { id, status: 'suspended' })
  await expect(200, owner.patch(`${members}${id}/`, { status: 'active' }))
  await set(false)
  t.equal((await directory.delete(`/Users/${id}`)).status, 204, 'its own suspension is no obstacle')
})

t.test('an expired invitation that is sent again escapes no directory', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const invitations = `/api/v1/tenants/${owner.tenantId}/invitations/`
  for (const [change, expected] of [
    [{ active: false }, { status: 'suspended' }],
    [{ emails: [{ value: 'other@elsewhere.example' }], active: false }, { status: 'active' }],
  ] as const) {
    const person = await service.signUp()
    const { id } = await expect(201, directory.post('/Users', user(person.email)))
    await service.mailTo(person.email, 'invit')
    const { superuser } = service.databases
    await query(superuser, `update invitations set expires_at = created_at where email = '${person.email}'`)
    await query(superuser, `delete from captured_mails where recipient = '${person.email}'`)
    await expect(200, directory.put(`/Users/${id}`, user(person.email, change)))
    const [invitation] = (await expect(200, owner.get(`${invitations}?email=${person.email}`))).results
    await expect(200, owner.post(`${invitations}${invitation.id}/resend/`))
    const token = tokenIn(await service.mailTo(person.email, 'invit'))
    await expect(200, person.post('/api/v1/invitations/accept/', { token }))
    const member = await memberOf(owner, members, person.email)
    t.match(member, expected)
    t.equal(member.id === id, expected.status === 'suspended', 'who has another address is another User')
  }
})

t.test('a tenant has a bounded number of Users who wait', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const { id } = await memberOf(owner, members, owner.email)
  await query(
    service.databases.superuser,
    `insert into directory_users (tenant_id, id, user_name, display_name, active, is_pending, document, created_at, updated_at)
     select '${owner.tenantId}', case when i = 1 then '${id}' else gen_random_uuid() end, 'w' || i, '', true, true, '{}', now(), now() from generate_series(1, 10000) i`,
  )
  t.equal((await directory.post('/Users', { userName: 'the last' })).status, 201, 'one of them is a member')
  t.match(await directory.post('/Users', { userName: 'one more' }), scimError(409))
  t.equal((await directory.post('/Users', user(`more@${domain}`))).status, 201, 'members are not counted')
})
