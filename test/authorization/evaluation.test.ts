import { randomUUID } from 'node:crypto'
import t from 'tap'
import { serviceResources } from '../../src/policy-engine/catalogue/actions.ts'
import { reservedResources } from '../../src/policy-engine/catalogue/reserved-names.ts'
import { serviceObjects } from '../../src/start/objects.ts'
import { colleague } from '../helpers/colleague.ts'
import { type Client, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { certified, customer, record } from './certification.ts'

const service = await sharedService(t)
const policies = '/api/v1/policies/'
const evaluation = '/access/v1/evaluation'
const user = (id: string, properties?: object) => ({ type: 'user', id, ...(properties && { properties }) })
async function decisionOf(asking: Client, question: object) {
  const { status, body } = await asking.post(evaluation, question)
  if (status !== 200) throw new Error(`Expected an answer, got ${status} ${JSON.stringify(body)}`)
  return body.decision
}

t.test('the questions of the AuthZEN certification get the required answers', async (t) => {
  const owner = await certified(service)
  const active = record('record-1', { status: 'active' })
  const archived = record('record-2', { status: 'archived' })
  const ask = (subject: object, name: string, resource: object, properties?: object) =>
    decisionOf(owner, { subject, action: { name, ...(properties && { properties }) }, resource })
  t.equal(await ask(customer('alice', { role: 'user' }), 'read', active), true)
  t.equal(await ask(customer('alice', { role: 'user' }), 'write', active), true)
  t.equal(await ask(customer('alice'), 'write', record('record-1')), true)
  t.equal(await ask(customer('bob'), 'read', active), true)
  t.equal(await ask(customer('bob', { role: 'user' }), 'write', active), false)
  t.equal(await ask(customer('alice', { role: 'user' }), 'write', archived), false)
  t.equal(await ask(customer('bob', { role: 'admin' }), 'write', archived), true)
  t.equal(await ask(customer('alice'), 'delete', active, { soft: true }), true)
  t.equal(await ask(customer('alice'), 'delete', active, { soft: false }), false)
  t.equal(await ask(customer('mallory'), 'read', active), false)
})

t.test('an answer has reasons and the id of the decision, which is kept', async (t) => {
  const owner = await certified(service)
  const question = { subject: customer('bob'), action: { name: 'write' }, resource: record('record-1') }
  const { body, headers } = await owner.post(evaluation, question, { headers: { 'x-request-id': 'pep-7' } })
  t.equal(headers.get('x-request-id'), 'pep-7')
  t.match(body, {
    decision: false,
    context: { effect: 'deny', reasons: [{ layer: String }], obligations: [] },
  })
  const kept = await owner.get(`/api/v1/decisions/${body.context.id}/`)
  t.match(kept.body, {
    effect: 'deny',
    action: 'record:write',
    subject: { id: 'bob', email: null },
    resource: { type: 'record', id: 'record-1' },
    request_id: 'pep-7',
  })
})

t.test('a resource that is not registered belongs to whom the question says, whatever its id', async (t) => {
  const owner = await service.signUp()
  await owner.post(policies, {
    ...{ name: 'Others only', effect: 'deny', actions: ['page:read'] },
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  })
  const read = (id: string, owner_id: string) => ({
    ...{ subject: user(owner.id), action: { name: 'read' } },
    resource: { type: 'page', id, properties: { owner_id } },
  })
  t.equal(await decisionOf(owner, read(owner.id, 'another person')), true)
  t.equal(await decisionOf(owner, read('another page', owner.id)), false)
})

/** Opens the link of the registration mail. */
async function verify({ email }: Client) {
  const token = tokenIn(await service.mailTo(email, 'Confirm'))
  await service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } })
}

t.test(
  'a member is found by id or verified address, with roles and permissions in this tenant',
  async (t) => {
    const owner = await service.signUp()
    const member = await colleague(service, owner)
    for (const person of [owner, member]) {
      t.equal(
        (
          await owner.post(evaluation, {
            subject: user(person.email),
            action: { name: 'member:list' },
            resource: { type: 'member', id: 'all' },
          })
        ).body.decision,
        false,
        'not by an unverified address',
      )
      await verify(person)
    }
    const ask = (id: string, name: string, resource: object) =>
      decisionOf(owner, { subject: user(id), action: { name }, resource })
    t.equal(await ask(owner.id, 'document:read', { type: 'document', id: '1' }), true)
    t.equal(await ask(member.id, 'document:read', { type: 'document', id: '1' }), false)
    t.equal(await ask(owner.email.toUpperCase(), 'member:create', { type: 'member', id: 'new' }), true)
    t.equal(await ask(member.email, 'member:create', { type: 'member', id: 'new' }), false)
    t.equal(await ask(member.email, 'member:list', { type: 'member', id: 'all' }), true)
    const stranger = await service.signUp()
    t.equal(await ask(stranger.id, 'member:list', { type: 'member', id: 'all' }), false)
  },
)

t.test('members can ask only about themselves', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  await verify(member)
  const about = (id: string) => ({
    subject: user(id),
    action: { name: 'document:read' },
    resource: { type: 'document', id: '1' },
  })
  t.equal((await member.post(evaluation, about(member.id))).status, 200)
  t.equal((await member.post(evaluation, about(member.email))).status, 200)
  t.match(await member.post(evaluation, about(owner.id)), {
    status: 403,
    body: { code: 'permission_denied' },
  })
  t.equal((await member.post(evaluation, about('alice'))).status, 403)
  const disguised = { ...about(member.id), subject: customer(member.id) }
  t.equal((await member.post(evaluation, disguised)).status, 403)
  t.equal((await service.call('POST', evaluation, { body: about(member.id) })).status, 401)
})

t.test('a user who is not an active member is denied, even if a policy permits everyone', async (t) => {
  const owner = await service.signUp()
  const [suspended, removed, stranger] = [
    await colleague(service, owner),
    await colleague(service, owner),
    await service.signUp(),
  ]
  await owner.post(policies, { name: 'All read', effect: 'allow', actions: ['doc:read'] })
  const ask = (subject: object) =>
    owner.post(evaluation, { subject, action: { name: 'read' }, resource: { type: 'doc', id: '1' } })
  t.equal((await ask(user(removed.id))).body.decision, true)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const idOf = async ({ id }: Client) => (await owner.get(`${members}?user_id=${id}`)).body.results[0].id
  await owner.put(`${members}${await idOf(suspended)}/`, { status: 'suspended' })
  await owner.delete(`${members}${await idOf(removed)}/`)
  const denied = { decision: false, context: { reasons: [{ code: 'no_active_membership' }] } }
  for (const id of [suspended.id, removed.id, stranger.id, 'alice', owner.tenantId]) {
    t.match((await ask(user(id))).body, denied, id)
    t.match((await ask({ type: 'service_account', id })).body, denied, id)
  }
  t.equal((await ask(customer('alice'))).body.decision, true, 'a subject of the application is not a member')
})

t.test('a subject of another type is never treated as the member with the same id', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  await owner.post(policies, {
    name: 'This member reads',
    effect: 'allow',
    actions: ['doc:read'],
    subjects: { users: [member.id] },
  })
  const ask = (subject: object, name = 'doc:read', type = 'doc') =>
    decisionOf(owner, { subject, action: { name }, resource: { type, id: 'new' } })
  t.equal(await ask(user(member.id)), true)
  t.equal(await ask({ type: 'robot', id: member.id }), false)
  t.equal(await ask({ type: 'robot', id: owner.id }), false)
  t.equal(await ask({ type: 'robot', id: owner.id }, 'member:create', 'member'), false)
})

t.test('objects of the service are looked up in the tenant, and their stored fields are used', async (t) => {
  const [owner, neighbour] = [await service.signUp(), await service.signUp()]
  const member = await colleague(service, owner)
  const make = async (by: Client, name: string) =>
    (await by.post(`/api/v1/tenants/${by.tenantId}/departments/`, { name })).body.id
  const [open, secret, foreign] = [
    await make(owner, 'Open'),
    await make(owner, 'Secret'),
    await make(neighbour, 'Foreign'),
  ]
  await owner.post(policies, {
    name: 'Secret departments stay',
    effect: 'deny',
    actions: ['department:update'],
    conditions: { attribute: 'resource.name', operator: 'eq', value: 'Secret' },
  })
  const about = async (name: string, resource: object, subject = user(owner.id)) =>
    (await owner.post(evaluation, { subject, action: { name }, resource })).body
  const department = (id: string) => ({ type: 'department', id, properties: { name: 'Open' } })
  t.equal((await about('department:update', department(open))).decision, true)
  t.match(await about('department:update', department(secret)), {
    decision: false,
    context: { reasons: [{ code: 'policy_deny' }] },
  })
  const missing = { decision: false, context: { reasons: [{ code: 'not_found' }] } }
  for (const id of [foreign, randomUUID(), open.replaceAll('-', ''), 'x'])
    t.match(await about('department:update', department(id)), missing, id)
  t.match(await about('doc:read', department(foreign)), missing, 'by an action of the application, too')
  t.match(await about('department:update', { type: 'doc', id: open }), missing, 'of another type')
  t.match(await about('department:update', { type: 'member', id: open }), missing)
  t.equal((await about('tenant:read', { type: 'tenant', id: owner.tenantId })).decision, true)
  t.match(await about('tenant:read', { type: 'tenant', id: neighbour.tenantId }), missing)
  t.equal((await about('profile:update', { type: 'profile', id: member.id }, user(member.id))).decision, true)
  t.equal((await about('profile:update', { type: 'user', id: member.id })).decision, false)
  t.match(await about('user:read', { type: 'user', id: neighbour.id }), missing)
})

t.test('every type of object of the service can be asked about', async (t) => {
  // Reserved names have no objects yet. A grant is a row of people: one of them is not found, and so denied. What people
  // authorize is an `oauth_client`. What a directory provisions are members.
  t.same(
    [...Object.keys(serviceObjects), ...reservedResources, 'oauth', 'oauth_grant', 'scim'].sort(),
    [...serviceResources].sort(),
  )
  const owner = await service.signUp()
  const about = async (type: string, verb: string, path: string) => {
    const { results } = (await owner.get(path)).body
    const question = {
      subject: user(owner.id),
      action: { name: verb },
      resource: { type, id: results[0].id },
    }
    t.match((await owner.post(evaluation, question)).body, { decision: true }, `${type}:${verb}`)
  }
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  await owner.post(`${tenant}invitations/`, { email: 'guest@example.com' })
  await owner.post('/api/v1/webhooks/', { url: 'https://receiver.example/', is_active: false })
  await owner.post(policies, { name: 'x', effect: 'allow', actions: ['doc:read'] })
  await about('member', 'update', `${tenant}members/`)
  await owner.post('/api/v1/service-accounts/', { name: 'Importer' })
  await about('service_account', 'update', '/api/v1/service-accounts/')
  await owner.post('/api/v1/users/me/keys/', { name: 'Laptop' })
  await about('api_key', 'rotate', '/api/v1/users/me/keys/')
  await about('role', 'update', `${tenant}roles/`)
  await about('invitation', 'cancel', `${tenant}invitations/`)
  await about('policy', 'read', policies)
  await about('attribute_definition', 'list', '/api/v1/attribute-definitions/')
  await about('webhook', 'update', '/api/v1/webhooks/')
  await about('session', 'delete', '/api/v1/auth/sessions/')
  await about('audit', 'list', '/api/v1/audit-log/')
  await about('event', 'list', '/api/v1/events/')
  await about('decision', 'read', '/api/v1/decisions/')
})

t.test(
  'an answer names missing attributes, and actions and types that the tenant does not know',
  async (t) => {
    const owner = await service.signUp()
    const member = await colleague(service, owner)
    await owner.post('/api/v1/attribute-definitions/', {
      category: 'resource',
      key: 'amount',
      data_type: 'integer',
    })
    await owner.post(policies, {
      name: 'Small ones',
      effect: 'allow',
      actions: ['invoice:pay'],
      conditions: {
        all: [
          { attribute: 'resource.amount', operator: 'lt', value: 100 },
          { attribute: 'subject.department_id', operator: 'exists' },
        ],
      },
    })
    await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, {
      name: 'Clerk',
      permissions: ['letter:read'],
    })
    const ask = async (by: Client, name: string, resource: object) =>
      (await by.post(evaluation, { subject: user(member.id), action: { name }, resource })).body.context
    const none = { missing_attributes: [], unknown_action: false, unknown_resource_type: false }
    const forgotten = await ask(owner, 'invoice:pay', { type: 'invoice', id: '1' })
    t.match(forgotten, { ...none, missing_attributes: ['resource.amount', 'subject.department_id'] })
    const illTyped = { type: 'invoice', id: '1', properties: { amount: '7' } }
    t.same((await ask(member, 'invoice:pay', illTyped)).missing_attributes, [])
    const misspelt = await ask(owner, 'invoice:pya', { type: 'invoice', id: '1' })
    t.match(misspelt, { ...none, unknown_action: true })
    t.match(await ask(owner, 'invioce:pay', { type: 'invioce', id: '1' }), {
      unknown_action: true,
      unknown_resource_type: true,
    })
    t.match(await ask(owner, 'letter:read', { type: 'letter', id: '1' }), none, 'a role names it')
    t.match(await ask(owner, 'member:list', { type: 'member', id: 'all' }), none, 'the service knows it')
    const explain = async (id: string) => (await owner.get(`/api/v1/decisions/${id}/explain/`)).body
    t.match(await explain(forgotten.id), {
      missing_attributes: ['resource.amount', 'subject.department_id'],
      unknown_action: false,
    })
    const explained = await explain(misspelt.id)
    t.match(explained, { unknown_action: true, unknown_resource_type: false })
    t.ok(
      explained.explanation.some((sentence: string) => sentence.includes('invoice:pya: check the spelling')),
    )
  },
)

t.test('hour and weekday follow the time zone of the tenant', async (t) => {
  const owner = await service.signUp()
  const inAuckland = new Date(service.now() + 13 * 3_600_000)
  const leaf = (attribute: string, value: number) => ({ attribute, operator: 'eq', value })
  const { body: policy } = await owner.post(policies, {
    name: 'Now in Auckland',
    effect: 'allow',
    actions: ['doc:read'],
    conditions: {
      all: [
        leaf('environment.hour', inAuckland.getUTCHours()),
        leaf('environment.weekday', inAuckland.getUTCDay() || 7),
      ],
    },
  })
  const ask = () =>
    decisionOf(owner, {
      subject: customer('alice'),
      action: { name: 'read' },
      resource: { type: 'doc', id: '1' },
    })
  t.equal(await ask(), false)
  const settings = { time_zone: 'Pacific/Auckland' }
  const changed = await owner.patch(`/api/v1/tenants/${owner.tenantId}/`, { settings })
  t.match(changed.body.settings, settings)
  t.equal(await ask(), true)
  const winter = { subject: { type: 'customer', id: 'alice' }, context: { time: '2026-07-04T13:30:00Z' } }
  const tried = (await owner.post(`${policies}${policy.id}/test/`, winter)).body
  for (const time of ['yesterday', '4 July 2026', 42])
    t.match(
      await owner.post(`${policies}${policy.id}/test/`, { ...winter, context: { time } }),
      { status: 400, body: { errors: [{ field: 'context.time' }] } },
      `${time} is no RFC 3339 time`,
    )
  t.match(
    tried.trace.of,
    [{ actual: 1 }, { actual: 7 }],
    'on a Sunday: without summer time the difference is one hour less',
  )
})

t.test('values that a caller sends never replace stored values', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const leaf = { attribute: 'subject.email_verified', operator: 'eq', value: true }
  await owner.post(policies, { name: 'Verified', effect: 'allow', actions: ['doc:read'], conditions: leaf })
  const question = {
    subject: user(member.id, { email_verified: true, id: owner.id }),
    action: { name: 'doc:read' },
    resource: { type: 'doc', id: '1' },
  }
  t.equal(await decisionOf(owner, question), false)
  const steal = { ...question, resource: { type: 'member', id: '1' }, action: { name: 'member:create' } }
  t.equal(await decisionOf(owner, { ...steal, context: { tenant_id: 'x' } }), false)
})

t.test('an invalid question is 400', async (t) => {
  const owner = await service.signUp()
  const good = { subject: user('alice'), action: { name: 'read' }, resource: record('1') }
  const bad = [
    {},
    { ...good, subject: undefined },
    { ...good, subject: 'alice' },
    { ...good, subject: { type: 'user' } },
    { ...good, subject: { type: 'user', id: 7 } },
    { ...good, subject: { type: 'user', id: '' } },
    { ...good, action: {} },
    { ...good, action: { name: 7 } },
    { ...good, resource: { type: 'record' } },
    { ...good, resource: { id: '1' } },
    { ...good, context: 'x' },
    { ...good, context: { blob: 'x'.repeat(40_000) } },
    { ...good, subject: user('a\u0000b') },
    { ...good, action: { name: 'a\u0000b' } },
    { ...good, resource: { type: 'a\u0000b', id: '1' } },
    '{"subject": {"type": "user", "id": "\\ud800"}, "action": {"name": "read"}, "resource": {"type": "r", "id": "1"}}',
    '[]',
    '{"subject"',
  ]
  for (const body of bad) {
    const { status } = await owner.post(evaluation, body)
    t.equal(status, 400, JSON.stringify(body).slice(0, 80))
  }
  const text = await owner.post(evaluation, 'x', { headers: { 'content-type': 'text/plain' } })
  t.equal(text.status, 415)
  t.equal((await owner.post(evaluation, { ...good, extra: 1 })).status, 200)
})

t.test('the metadata name the evaluation endpoint', async (t) => {
  const { status, body } = await service.call('GET', '/.well-known/authzen-configuration')
  t.equal(status, 200)
  t.equal(body.policy_decision_point, service.url)
  t.equal(body.access_evaluation_endpoint, `${service.url}/access/v1/evaluation`)
})
