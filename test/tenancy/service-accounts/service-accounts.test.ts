import t from 'tap'
import { sharedService } from '../../helpers/shared-service.ts'
import { eventsOf, expect, foundFirm, look } from '../staff.ts'

const service = await sharedService(t, { workers: false })
const all = '/api/v1/service-accounts/'

t.test('a service account is created, read, listed, changed and deleted', async (t) => {
  const { owner, path, id: tenantId, role } = await foundFirm(service)
  const reader = await role('member:list', 'document:read')
  const body = { name: ' Nightly report ', description: 'Reads documents', roles: ['member', reader] }
  const account = await expect(201, owner.post(all, body))
  t.match(account, {
    name: 'Nightly report',
    description: 'Reads documents',
    roles: ['member', reader],
    department_id: null,
    attributes: {},
    status: 'active',
    membership_id: account.id,
    created_by: owner.id,
    last_used_at: null,
  })
  const at = `${all}${account.id}/`
  const read = await owner.get(at)
  t.same(read.body, account)
  const list = await expect(200, owner.get(`${all}?search=nightly&ordering=-name&status=active`))
  t.same([list.count, list.results], [1, [account]])
  t.same((await expect(200, owner.get(`${all}?status=disabled`))).results, [])

  const changed = await expect(200, owner.patch(at, { status: 'disabled', roles: [reader], name: 'Report' }))
  t.match(changed, { status: 'disabled', roles: [reader], name: 'Report', description: 'Reads documents' })
  const headers = { 'If-Match': String(read.headers.get('etag')) }
  t.match(await owner.delete(at, { headers }), { status: 412 }, 'it has changed since it was read')
  await expect(204, owner.delete(at))
  t.equal((await owner.get(at)).status, 404)
  t.same(await eventsOf(service, tenantId, 'tenant.service_account_'), [
    'tenant.service_account_created',
    'tenant.service_account_updated',
    'tenant.service_account_deleted',
  ])
  const audited = (await expect(200, owner.get('/api/v1/audit-log/'))).results
  t.match(audited[1], {
    action: 'service_account:update',
    target: { type: 'service_account', id: account.id },
    changes: { status: { before: 'active', after: 'disabled' } },
  })
  t.equal((await expect(200, owner.get(`${path}/members/`))).count, 1)
})

t.test('a service account is a member without a person, and no user', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  await hire('auditor')
  const { id } = await expect(201, owner.post(all, { name: 'Importer', role: 'admin' }))
  const members = await expect(200, owner.get(`${path}/members/`))
  t.equal(members.count, 3)
  t.match(members.results[2], {
    id,
    kind: 'service_account',
    user: null,
    user_id: null,
    email: null,
    service_account: { id, name: 'Importer' },
    roles: ['admin'],
    status: 'active',
  })
  t.match(members.results[0], { kind: 'user', user: { id: owner.id }, service_account: null })
  t.equal((await expect(200, owner.get(`${path}/members/?kind=service_account`))).count, 1)
  t.equal((await expect(200, owner.get(`${path}/members/?search=impo`))).results[0].id, id)
  const users = await expect(200, owner.get('/api/v1/users/'))
  t.same([users.count, users.results.length], [2, 2])
  t.equal((await expect(200, owner.get('/api/v1/users/?role=admin'))).count, 0)
  t.equal((await owner.get(`/api/v1/users/${id}/`)).status, 404)

  const member = `${path}/members/${id}/`
  await expect(200, owner.put(member, { status: 'suspended', roles: ['auditor'] }))
  t.match(await expect(200, owner.get(`${all}${id}/`)), { status: 'disabled', roles: ['auditor'] })
  t.match(await owner.delete(`${member}sessions/`), { status: 409, body: { code: 'invalid_state' } })
  await expect(204, owner.delete(member))
  t.equal((await owner.get(`${all}${id}/`)).status, 404)
})

t.test('a service account is never an owner, and has no role above that of its creator', async (t) => {
  const { owner, path, hire, role } = await foundFirm(service)
  const asOwner = {
    status: 400,
    body: { roles: ['A service account cannot be an owner. Give it the role admin, or one of your own.'] },
  }
  t.match(await owner.post(all, { name: 'Root', roles: ['owner'] }), asOwner)
  const { id } = await expect(201, owner.post(all, { name: 'Plain' }))
  t.match(await owner.patch(`${all}${id}/`, { roles: ['owner'] }), asOwner)
  t.match(await owner.put(`${path}/members/${id}/`, { roles: ['owner'] }), asOwner)
  const clerk = await hire(await role('service_account:*'))
  t.match(await clerk.post(all, { name: 'Strong', roles: ['admin'] }), { status: 403 })
  t.match(await clerk.patch(`${all}${id}/`, { roles: ['admin'] }), { status: 403 })
  await expect(200, clerk.patch(`${all}${id}/`, { description: 'Mine' }))
  const plain = await hire('member')
  t.match(await plain.get(all), { status: 403 })
  t.match(await plain.post(all, { name: 'Mine' }), { status: 403 })
})

t.test('bad input is refused by the name of its field', async (t) => {
  const { owner } = await foundFirm(service)
  const refused = async (body: object, field: string) =>
    t.match(await owner.post(all, body), { status: 400, body: { errors: [{ field }] } }, field)
  await refused({}, 'name')
  await refused({ name: ' ' }, 'name')
  await refused({ name: 'x'.repeat(121) }, 'name')
  await refused({ name: 'A', description: 'x'.repeat(2001) }, 'description')
  await refused({ name: 'A', roles: [] }, 'roles')
  await refused({ name: 'A', roles: ['nobody'] }, 'roles')
  await refused({ name: 'A', department_id: owner.id }, 'department_id')
  await refused({ name: 'A', attributes: { unknown: 1 } }, 'attributes.unknown')
  const { id } = await expect(201, owner.post(all, { name: 'A' }))
  t.match(await owner.patch(`${all}${id}/`, { status: 'gone' }), { status: 400 })
  const stranger = await service.signUp()
  t.match(await stranger.get(`${all}${id}/`), { status: 404 }, 'of another tenant')
})

t.test('a tenant has a limited number of service accounts', async (t) => {
  const { owner, id } = await foundFirm(service)
  await look(
    service,
    `with accounts as (
       insert into memberships (tenant_id, id, kind, email, first_name, joined_at, updated_at)
       select $1, gen_random_uuid(), 'service_account', '', 'Filler', now(), now() from generate_series(1, 100))
     update row_counts set rows = rows + 100 where tenant_id = $1 and relation = 'memberships'`,
    [id],
  )
  t.match(await owner.post(all, { name: 'One more' }), { status: 409, body: { code: 'limit_reached' } })
})

t.test('AuthZEN knows service accounts by their own type', async (t) => {
  const { owner, role, hire } = await foundFirm(service)
  const reader = await role('document:read')
  const { id } = await expect(201, owner.post(all, { name: 'Reader', roles: [reader] }))
  const clerk = await hire(reader)
  const ask = async (type: string, of: string) => {
    const subject = { type, id: of }
    const question = { subject, action: { name: 'document:read' }, resource: { type: 'document', id: '1' } }
    return (await expect(200, owner.post('/access/v1/evaluation/', question))).decision
  }
  t.equal(await ask('service_account', id), true)
  t.equal(await ask('user', id), false, 'it is no user')
  t.equal(await ask('service_account', clerk.id), false, 'a user is no service account')
  t.equal(await ask('user', clerk.id), true)
  const search = async (type: string) => {
    const question = {
      subject: { type },
      action: { name: 'document:read' },
      resource: { type: 'document', id: '1' },
    }
    const { results } = await expect(200, owner.post('/access/v1/search/subject/', question))
    return results.map((found: { id: string }) => found.id).sort()
  }
  t.same(await search('service_account'), [id])
  t.same(await search('user'), [clerk.id, owner.id].sort())
  await expect(200, owner.patch(`${all}${id}/`, { status: 'disabled' }))
  t.equal(await ask('service_account', id), false)
  t.same(await search('service_account'), [])
})
