import t from 'tap'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { untilLocked } from '../helpers/lock-waits.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { rowsOf, withClient } from '../helpers/query.ts'
import { startService, tokenIn } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'
import { memberOf, openDirectory, openFirm, patch, scimError, user } from './open-directory.ts'

const service = await startService(t)
const { superuser } = service.databases
const database = await openDatabase(t, service)
const foundFirm = () => openFirm(service)
const active = (value: boolean) => patch({ op: 'replace', path: 'active', value })
const named = (value: string) => patch({ op: 'replace', path: 'externalId', value })

t.test('a person does not lift what the directory holds', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const { id } = await expect(201, directory.post('/Users', user(`held@${domain}`)))
  const set = (status: string) => owner.patch(`${members}${id}/`, { status })
  await expect(200, set('suspended'))
  t.match(await directory.patch(`/Users/${id}`, active(false)), { status: 200, body: { active: false } })
  t.match(await set('active'), { status: 409, body: { code: 'held_by_directory' } })
  t.match(
    await directory.patch(`/Users/${id}`, active(true)),
    { status: 200, body: { active: false } },
    'a person suspended them, too',
  )
  await expect(200, directory.patch(`/Users/${id}`, patch({ op: 'add', path: 'title', value: 'Dr' })))
  t.match(await set('active'), { status: 200, body: { status: 'active' } })
  await expect(200, directory.patch(`/Users/${id}`, active(false)))
  t.match(await set('active'), { status: 409, body: { code: 'held_by_directory' } })
})

t.test('who comes another way becomes the User that waits for them', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const [ada, bea, cleo] = [await service.signUp(), await service.signUp(), await service.signUp()]
  await proveAddress(service, ada, bea)
  const waiting = await expect(201, directory.post('/Users', user(ada.email, { externalId: 'W-1' })))
  t.match(await expect(201, owner.post(members, { user_id: ada.id })), { id: waiting.id, external_id: 'W-1' })
  t.match(await directory.get('/Users'), { body: { totalResults: 2 } })
  t.match(await directory.patch(`/Users/${waiting.id}`, active(false)), { status: 200 })
  t.match(await memberOf(owner, members, ada.email), { id: waiting.id, status: 'suspended' })

  await expect(201, directory.post('/Users', user(bea.email, { active: false })))
  t.match(await expect(201, owner.post(members, { user_id: bea.id })), { status: 'suspended' })

  const apart = await expect(201, directory.post('/Users', user(cleo.email)))
  await expect(201, owner.post(members, { user_id: cleo.id }))
  t.not((await memberOf(owner, members, cleo.email)).id, apart.id, 'their address is not proven')
  t.match(await directory.patch(`/Users/${apart.id}`, active(false)), scimError(409, 'uniqueness'))
  t.match(await directory.delete(`/Users/${apart.id}`), scimError(409, 'uniqueness'))
})

t.test('a directory does not move a name that a person gave', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const { id } = await expect(201, directory.post('/Users', user(`ada@${domain}`, { externalId: 'A-1' })))
  await expect(200, directory.patch(`/Users/${id}`, named('A-2')))
  await expect(200, owner.patch(`${members}${id}/`, { external_id: 'given' }))
  t.match(await directory.patch(`/Users/${id}`, named('A-3')), scimError(409, 'mutability'))
  await expect(200, directory.patch(`/Users/${id}`, named('given')))
  t.match(await directory.patch(`/Users/${id}`, named('A-3')), scimError(409, 'mutability'))
  await expect(200, owner.patch(`${members}${id}/`, { external_id: null }))
  t.match(await directory.patch(`/Users/${id}`, named('A-3')), { status: 200, body: { externalId: 'A-3' } })
})

t.test('the audit log says which directory began an account anew', async (t) => {
  const { owner, directory, domain } = await foundFirm()
  const email = `squatted@${domain}`
  await service.register({ email })
  await expect(201, directory.post('/Users', user(email)))
  await expect(201, directory.post('/Users', user(`new@${domain}`)))
  for (const action of ['password:reset', 'email_verification:confirm', 'user:register'])
    t.match(await owner.get(`/api/v1/audit-log/?action=${action}`), {
      body: { results: [{ actor: { type: 'service_account', id: directory.account.id } }] },
    })
})

t.test('an invitation is accepted while no directory changes the User', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const person = await service.signUp()
  await expect(201, directory.post('/Users', user(person.email)))
  const token = tokenIn(await service.mailTo(person.email, 'invit'))
  await withClient(superuser, async (client) => {
    await client.query('begin')
    await client.query('select from tenants where id = $1 for no key update', [owner.tenantId])
    const accepted = person.post('/api/v1/invitations/accept/', { token })
    await untilLocked(superuser, [accepted])
    await client.query('rollback')
    t.equal((await accepted).status, 200)
  })
  t.match(await memberOf(owner, members, person.email), { status: 'active' })
})

const moved = (email: string) =>
  patch({ op: 'replace', path: 'emails', value: [{ value: email, primary: true }] })
/** A person whom a directory made, and who has chosen a password since. */
async function choosePassword(email: string) {
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email } })
  const token = tokenIn(await service.mailTo(email, 'password'))
  const password = 'a-fine-long-passphrase-7'
  await expect(
    200,
    service.call('POST', '/api/v1/auth/password/reset/confirm/', { body: { token, password } }),
  )
}
/** How many tokens were mailed for it. */
const countLinks = async (address: string) =>
  (await rowsOf(superuser, `select from link_tokens where email = '${address}'`)).length

t.test('the account follows while it is that of the directory alone', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const { id } = await expect(201, directory.post('/Users', user(`ada@${domain}`)))
  const rename = { op: 'replace', value: { 'name.familyName': 'Byron', active: true } }
  await expect(200, directory.patch(`/Users/${id}`, patch(rename)))
  await expect(200, directory.patch(`/Users/${id}`, moved(`ada.byron@${domain}`)))
  t.match(await memberOf(owner, members, `ada.byron@${domain}`), {
    id,
    email_verified: true,
    user: { first_name: 'Ada', last_name: 'Byron' },
  })
  await expect(200, directory.patch(`/Users/${id}`, moved('ada@elsewhere.example')))
  t.match(await memberOf(owner, members, `ada.byron@${domain}`), { id }, 'another domain moves nothing')
  t.match(await owner.get('/api/v1/audit-log/?action=profile:update'), {
    body: {
      results: [
        { actor: { type: 'service_account' }, changes: { email: { after: `ada.byron@${domain}` } } },
        {},
      ],
    },
  })
})

t.test('the account of a person moves once the new mailbox confirms it, and can be taken back', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const [old, next] = [`bea@${domain}`, `bea.new@${domain}`]
  const { id } = await expect(201, directory.post('/Users', user(old)))
  await choosePassword(old)
  service.advance(60_000)
  const rename = patch({ op: 'replace', path: 'name.familyName', value: 'Other' })
  await expect(200, directory.patch(`/Users/${id}`, rename))
  t.match(await directory.patch(`/Users/${id}`, moved(next)), { body: { emails: [{ value: next }] } })
  t.match(
    await memberOf(owner, members, old),
    { id, user: { last_name: 'Lovelace' } },
    'nothing moves as yet',
  )
  const token = tokenIn(await service.mailTo(next, 'Confirm'))
  const confirm = (used: string) =>
    service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token: used } })
  await expect(200, confirm(token))
  t.match(await confirm(token), { status: 400, body: { code: 'token_invalid' } })
  t.match(await memberOf(owner, members, next), { id, email_verified: true })
  const undo = tokenIn(await service.mailTo(old, 'address'))
  await expect(200, service.call('POST', '/api/v1/auth/email/undo/', { body: { token: undo } }))
  t.match(await memberOf(owner, members, old), { id })
})

t.test(
  'who verifies a domain of their own does not move the account of an owner, nor of others, into it',
  async (t) => {
    const { owner, directory, domain, members } = await foundFirm()
    await proveAddress(service, owner)
    const person = await service.signUp()
    await proveAddress(service, person)
    await expect(201, owner.post(members, { user_id: person.id }))
    const colleague = await expect(201, directory.post('/Users', user(`cleo@${domain}`)))
    await expect(200, owner.patch(`${members}${colleague.id}/`, { roles: ['owner'] }))
    for (const [email, to] of [
      [owner.email, `owner@${domain}`],
      [person.email, `person@${domain}`],
      [`cleo@${domain}`, `cleo.new@${domain}`],
    ] as const) {
      const { id } = await memberOf(owner, members, email)
      await expect(200, directory.patch(`/Users/${id}`, moved(to)))
      t.match(await memberOf(owner, members, email), { id }, email)
      t.equal(await countLinks(to), 0, 'the mailbox there gets no link')
    }
  },
)

t.test('an address that waits to be confirmed moves nothing once the directory names another', async (t) => {
  const { directory, domain } = await foundFirm()
  const [old, next] = [`dora@${domain}`, `dora.new@${domain}`]
  const { id } = await expect(201, directory.post('/Users', user(old)))
  await choosePassword(old)
  await expect(200, directory.patch(`/Users/${id}`, moved(next)))
  const token = tokenIn(await service.mailTo(next, 'Confirm'))
  await expect(200, directory.patch(`/Users/${id}`, moved(old)))
  t.match(await service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }), {
    status: 400,
    body: { code: 'token_invalid' },
  })
})

t.test(
  'the link that undoes a change of address works also when a directory vouched for the new one',
  async (t) => {
    const person = await service.signUp()
    await proveAddress(service, person)
    service.advance(60_000)
    const { owner, directory, domain, members } = await foundFirm()
    const email = `taken@${domain}`
    await expect(200, person.patch('/api/v1/users/me/', { email }))
    service.advance(60_000)
    await expect(201, directory.post('/Users', user(email)))
    t.match(await memberOf(owner, members, email), { user_id: person.id, email_verified: true })
    const token = tokenIn(await service.mailTo(person.email, 'address was changed'))
    await expect(200, service.call('POST', '/api/v1/auth/email/undo/', { body: { token } }))
    t.same(await memberOf(owner, members, email), undefined, 'and takes the membership along')
  },
)

t.test('an account that is proven meanwhile does not start anew', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const email = `meanwhile@${domain}`
  const person = await service.logIn(await service.register({ email }))
  await withClient(superuser, async (client) => {
    await client.query('begin')
    await client.query('update users set email_verified_at = now() where id = $1', [person.id])
    const posted = directory.post('/Users', user(email))
    await untilLocked(superuser, [posted])
    await client.query('commit')
    t.equal((await posted).status, 201)
  })
  t.match(await memberOf(owner, members, email), { user_id: person.id })
  t.equal((await person.get('/api/v1/users/me/')).status, 200, 'sessions go on')
  t.ok(await service.logIn(person), 'the password stays')
})

const enterprise = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
const own = 'urn:ietf:params:scim:schemas:extension:bailiwick:2.0:User'

t.test('department, manager and attributes of the tenant become those of the member', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  t.notOk(JSON.stringify((await directory.get('/Schemas')).body).includes(own))
  for (const [key, data_type] of [
    ['level', 'integer'],
    ['external', 'boolean'],
    ['projects', 'array'],
    ['grade', 'string'],
  ])
    await expect(201, owner.post('/api/v1/attribute-definitions/', { key, category: 'subject', data_type }))
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  const sales = await expect(201, owner.post(`${tenant}departments/`, { name: 'Sales' }))
  t.match((await directory.get(`/Schemas/${own}`)).body, {
    id: own,
    attributes: [
      { name: 'external', type: 'boolean' },
      { name: 'grade', type: 'string' },
      { name: 'level', type: 'integer' },
      { name: 'projects', multiValued: true },
    ],
  })
  t.match((await directory.get('/ResourceTypes/User')).body.schemaExtensions, [{}, { schema: own }])

  const boss = await expect(201, directory.post('/Users', user(`boss@${domain}`)))
  const bossId = (await memberOf(owner, members, `boss@${domain}`)).user_id
  const email = `ada@${domain}`
  const sent = {
    [enterprise]: { department: 'sales', manager: { value: boss.id } },
    [own]: { level: '7', external: 'False', projects: ['x', 'y'], unknown: 'kept' },
  }
  const { id, schemas } = await expect(201, directory.post('/Users', user(email, sent)))
  t.same(schemas.slice(1), [enterprise, own])
  t.match(await memberOf(owner, members, email), {
    department_id: sales.id,
    manager_id: bossId,
    attributes: { level: 7, external: false, projects: ['x', 'y'] },
  })

  await expect(200, owner.patch(`${members}${id}/`, { attributes: { level: 7, grade: 'A' } }))
  const change = (...operations: object[]) => directory.patch(`/Users/${id}`, patch(...operations))
  await expect(
    200,
    change(
      { op: 'Replace', path: `${enterprise}:manager`, value: '' },
      { op: 'add', path: `${own}:level`, value: 8 },
      { op: 'remove', path: `${own}:external` },
    ),
  )
  const after = await memberOf(owner, members, email)
  t.match(after, { department_id: sales.id, manager_id: null })
  t.same(after.attributes, { level: 8, grade: 'A' }, 'what a person gave and took stays')
  await expect(200, change({ op: 'replace', path: `${enterprise}:department`, value: 'Nowhere' }))
  t.match(await memberOf(owner, members, email), { department_id: null }, 'an unknown name gives none')
  t.match(await change({ op: 'add', path: `${own}:level`, value: 'high' }), scimError(400, 'invalidValue'))
  const set = { level: 3, projects: ['z'] }
  await expect(200, owner.patch(`${members}${id}/`, { attributes: set }))
  await expect(200, change({ op: 'add', path: `${own}:grade`, value: 'B' }))
  t.same((await memberOf(owner, members, email)).attributes, { ...set, grade: 'B' }, 'value by value')
  await expect(200, change({ op: 'replace', value: { title: 'Dr', [`${own}:level`]: 9 } }))
  t.match(await memberOf(owner, members, email), { attributes: { level: 9 } })
})

t.test('no fault of a name or of a value keeps a directory from suspending a member', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const definition = { key: 'level', category: 'subject', data_type: 'integer' }
  await expect(201, owner.post('/api/v1/attribute-definitions/', definition))
  for (const [change, fault] of [
    ['PUT', 'name'],
    ['PATCH', 'name'],
    ['PUT', 'value'],
    ['PATCH', 'value'],
    ['PUT', 'given'],
  ] as const) {
    const email = `${fault}.${change}@${domain}`.toLowerCase()
    const sent = user(email, { externalId: `${fault}.${change}` })
    const { id } = await expect(201, directory.post('/Users', sent))
    if (fault === 'name') {
      const { id: user_id } = await service.register({ email: `later.${email}` })
      await expect(
        200,
        directory.patch(`/Users/${id}`, patch({ op: 'replace', path: 'userName', value: `later.${email}` })),
      )
      await expect(201, owner.post(members, { user_id }))
      Object.assign(sent, { userName: `later.${email}` })
    }
    if (fault === 'given') await expect(200, owner.patch(`${members}${id}/`, { external_id: 'given' }))
    const wrong = fault === 'value' ? { [own]: { level: 'high' } } : {}
    const off =
      change === 'PUT'
        ? directory.put(`/Users/${id}`, { ...sent, ...wrong, active: false })
        : directory.patch(
            `/Users/${id}`,
            patch({
              op: 'replace',
              value: { active: false, ...(fault === 'value' && { [`${own}:level`]: 'high' }) },
            }),
          )
    t.match(await off, { status: 200, body: { active: false } }, `${change} ${fault}`)
    t.match(await memberOf(owner, members, email), { id, status: 'suspended' })
    if (fault === 'given') t.match(await memberOf(owner, members, email), { external_id: 'given' })
  }
  const known = await expect(201, directory.post('/Users', user(`known@${domain}`)))
  const taking = { op: 'replace', value: { active: false, userName: `value.put@${domain}` } }
  t.match(await directory.patch(`/Users/${known.id}`, patch(taking)), {
    status: 200,
    body: { active: false, userName: `known@${domain}` },
  })
})

t.test('who accepts an invitation is described with the next change', async (t) => {
  const { owner, directory, members } = await foundFirm()
  const person = await service.signUp()
  const sales = await expect(
    201,
    owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name: 'Sales' }),
  )
  const sent = user(person.email, { [enterprise]: { department: 'Sales' } })
  const { id } = await expect(201, directory.post('/Users', sent))
  const token = tokenIn(await service.mailTo(person.email, 'invit'))
  await expect(200, person.post('/api/v1/invitations/accept/', { token }))
  await expect(200, directory.put(`/Users/${id}`, sent))
  t.match(await memberOf(owner, members, person.email), { department_id: sales.id })
})

t.test('two directories at once make no member twice and lose no event', async (t) => {
  const { owner, directory, domain, members } = await foundFirm()
  const other = await openDirectory(service, owner)
  const both = [directory, other]
  const names = Array.from({ length: 12 }, (_, i) => `p${i}@${domain}`)
  const made = await Promise.all(names.flatMap((name) => both.map((one) => one.post('/Users', user(name)))))
  const statuses = made.map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 201).length, names.length)
  t.equal(statuses.filter((status) => status === 409).length, names.length)
  const ids = made.filter(({ status }) => status === 201).map(({ body }) => body.id as string)
  const group = await expect(201, directory.post('/Groups', { displayName: 'All' }))
  await Promise.all(
    ids.flatMap((id) =>
      both.map((one) =>
        one.patch(`/Groups/${group.id}`, patch({ op: 'add', path: 'members', value: [{ value: id }] })),
      ),
    ),
  )
  t.equal((await directory.get(`/Groups/${group.id}`)).body.members.length, ids.length)
  const off = await Promise.all(
    ids.flatMap((id) => both.map((one) => one.patch(`/Users/${id}`, active(false)))),
  )
  t.ok(
    off.every(({ status }) => status === 200),
    'each is told the same',
  )
  const { results } = await expect(200, owner.get(`${members}?status=suspended&page_size=50`))
  t.equal(results.length, ids.length)
  const [{ changed }] = await rowsOf(
    superuser,
    `select count(*)::int as changed from audit_log where tenant_id = '${owner.tenantId}' and action = 'member:update' and changes ? 'status'`,
  )
  t.equal(changed, ids.length, 'each member is suspended once')
  const events = await eventsOf(database, owner.tenantId)
  for (const id of ids)
    t.same(
      events
        .filter(({ subject }) => subject === id)
        .map(({ type }) => type)
        .toSorted(),
      ['directory.user_created', 'directory.user_updated', 'tenant.member_added', 'tenant.member_updated'],
    )
})
