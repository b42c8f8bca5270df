import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { wrongCounts } from '../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })
const begun = service.now()
const definitions = '/api/v1/attribute-definitions/'
const policies = '/api/v1/policies/'
const clearance = { key: 'clearance', category: 'subject', data_type: 'integer' }

t.test('the built-in attributes come first, and cannot be deleted or defined again', async (t) => {
  const owner = await service.signUp()
  const { body } = await owner.get(`${definitions}?page_size=5`)
  t.match(body.results[0], { key: 'id', category: 'subject', data_type: 'string', is_system: true })
  t.ok(body.count > 20)
  const second = await owner.get(body.next)
  t.equal(second.body.results.length, 5)
  t.not(second.body.results[0].id, body.results[0].id)
  const first = `${definitions}${body.results[0].id}/`
  t.match((await owner.get(first)).body, body.results[0])
  t.match(await owner.delete(first), { status: 403, body: { code: 'permission_denied' } })
  const again = await owner.post(definitions, { ...clearance, key: 'email' })
  t.match(again, { status: 409, body: { code: 'key_taken' } })
})

t.test('a tenant can define attributes, each key once', async (t) => {
  const owner = await service.signUp()
  const made = await owner.post(definitions, clearance)
  t.equal(made.status, 201)
  t.match(made.body, {
    ...clearance,
    display_name: 'clearance',
    allowed_values: null,
    is_required: false,
    description: '',
    is_system: false,
  })
  t.match(await owner.post(definitions, clearance), { status: 409, body: { code: 'key_taken' } })
  t.equal((await owner.post(definitions, { ...clearance, category: 'resource' })).status, 201)
  const stranger = await service.signUp()
  t.equal((await stranger.get(`${definitions}${made.body.id}/`)).status, 404)
  t.equal((await stranger.delete(`${definitions}${made.body.id}/`)).status, 404)
  const last = (await owner.get(`${definitions}?page_size=100`)).body.results.at(-2)
  t.equal(last.key, 'clearance')
})

t.test('invalid attributes are refused with the name of the field', async (t) => {
  const owner = await service.signUp()
  for (const [field, value] of Object.entries({
    key: 'Shoe Size',
    category: 'person',
    data_type: 'text',
    allowed_values: ['high'],
    is_required: 'yes',
    description: 'x'.repeat(2001),
  })) {
    const { status, body } = await owner.post(definitions, { ...clearance, [field]: value })
    t.equal(status, 400, field)
    t.match(body.errors[0].field, new RegExp(`^${field}`))
  }
  for (const key of ['constructor', 'prototype', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', '1st'])
    t.equal((await owner.post(definitions, { ...clearance, key })).status, 400, key)
})

t.test('keys are compared exactly, and no two of a category differ by case alone', async (t) => {
  const owner = await service.signUp()
  const define = (key: string, category = 'resource') =>
    owner.post(definitions, { key, category, data_type: 'string' })
  t.match(await define('ownerID'), { status: 201, body: { key: 'ownerID', display_name: 'ownerID' } })
  const taken = { status: 409, body: { code: 'key_taken' } }
  for (const key of ['ownerID', 'ownerid', 'OwnerId']) t.match(await define(key), taken, key)
  t.match(await define('OWNER_ID'), taken, 'a built-in one in another case')
  t.equal((await define('ownerid', 'subject')).status, 201, 'of another category')
  t.equal((await define('Z9_'.repeat(21))).status, 201, '63 characters')
  t.equal((await define('Z9_'.repeat(21).concat('x'))).status, 400)
  const policy = (attribute: string) => ({
    name: attribute,
    effect: 'allow',
    actions: ['todo:update'],
    conditions: { attribute, operator: 'eq', value: 'ada' },
  })
  t.equal((await owner.post(policies, policy('resource.ownerID'))).status, 201)
  t.match(
    await owner.post(policies, policy('resource.ownerid')),
    {
      status: 422,
      body: { errors: [{ pointer: '/conditions/attribute', detail: /resource\.ownerID/ }] },
    },
    'the fault names it as it is',
  )
  const ask = async (properties: object) => {
    const resource = { type: 'todo', id: '1', properties }
    const question = { subject: { type: 'customer', id: 'ada' }, action: { name: 'update' }, resource }
    return (await owner.post('/access/v1/evaluation', question)).body.decision
  }
  t.equal(await ask({ ownerID: 'ada' }), true)
  t.equal(await ask({ ownerid: 'ada' }), false)
  const register = (attributes: object) => owner.put('/api/v1/resources/todo/2/', { attributes })
  t.equal((await register({ ownerID: 'ada' })).status, 201)
  t.match(await register({ ownerid: 'ada' }), {
    status: 400,
    body: { errors: [{ field: 'attributes.ownerid' }] },
  })
})

t.test('members have attributes with capital letters', async (t) => {
  const owner = await service.signUp()
  const { body: made } = await owner.post(definitions, { ...clearance, key: 'clearanceLevel' })
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const { results } = (await owner.get(members)).body
  const own = `${members}${results[0].id}/`
  t.equal((await owner.put(own, { attributes: { clearancelevel: 5 } })).status, 400)
  t.match(await owner.put(own, { attributes: { clearanceLevel: 5 } }), {
    status: 200,
    body: { attributes: { clearanceLevel: 5 } },
  })
  t.match(await owner.delete(`${definitions}${made.id}/`), {
    status: 409,
    body: { code: 'attribute_in_use' },
  })
})

t.test('an attribute that a policy reads cannot be deleted before the policy', async (t) => {
  const owner = await service.signUp()
  const { body: definition } = await owner.post(definitions, clearance)
  const policy = await owner.post(policies, {
    name: 'Cleared people',
    effect: 'allow',
    actions: ['document:read'],
    conditions: { attribute: 'subject.clearance', operator: 'gte', value: 3 },
  })
  t.equal(policy.status, 201)
  const url = `${definitions}${definition.id}/`
  t.match(await owner.delete(url), { status: 409, body: { code: 'attribute_in_use' } })
  await owner.delete(`${policies}${policy.body.id}/`)
  t.equal((await owner.delete(url)).status, 204)
  t.equal((await owner.get(url)).status, 404)
})

t.test('members and auditors read, owners and admins write', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const auditor = await colleague(service, owner, 'auditor')
  const admin = await colleague(service, owner, 'admin')
  t.equal((await member.get(definitions)).status, 403)
  t.equal((await auditor.get(definitions)).status, 200)
  t.equal((await auditor.post(definitions, clearance)).status, 403)
  t.equal((await admin.post(definitions, clearance)).status, 201)
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service, begun), [])
})
