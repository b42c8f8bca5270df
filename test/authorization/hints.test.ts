import { randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

// What an evaluation says of the attributes that policies read.

const service = await sharedService(t)
const owner = await service.signUp()
const member = await colleague(service, owner)

const define = async (category: string, key: string, data_type: string, more: object = {}) => {
  const answer = await owner.post('/api/v1/attribute-definitions/', { category, key, data_type, ...more })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
}
await define('resource', 'amount', 'integer')
await define('resource', 'currency', 'string', { source: 'caller' })
await define('resource', 'due', 'datetime')
await define('resource', 'labels', 'array')
await define('subject', 'clearance', 'integer')
await define('environment', 'channel', 'string')
const reads = [
  ...['resource.amount', 'resource.currency', 'resource.due', 'resource.labels', 'subject.clearance'],
  ...['environment.channel', 'environment.ip', 'resource.department_id'],
].map((attribute) => ({ attribute, operator: 'exists' }))
const policy = {
  name: 'All of them',
  effect: 'allow',
  actions: ['invoice:pay'],
  conditions: {
    all: [
      ...reads.slice(0, -1),
      { attribute: 'resource.department_id', operator: 'in_department', value: randomUUID() },
    ],
  },
}
await owner.post('/api/v1/policies/', policy)

const question = (parts: { resource?: object; subject?: object; context?: object }, id = '1') => ({
  subject: { type: 'user', id: member.id, properties: parts.subject ?? {} },
  action: { name: 'invoice:pay' },
  resource: { type: 'invoice', id, properties: parts.resource ?? {} },
  context: parts.context ?? {},
})
const ask = async (by: Client, ...asked: Parameters<typeof question>) =>
  (await by.post('/access/v1/evaluation', question(...asked))).body.context

const illTyped = {
  resource: {
    amount: '7',
    currency: 'x'.repeat(1025),
    due: 'tomorrow',
    labels: [{ a: 1 }],
    department_id: randomUUID(),
  },
  subject: { clearance: 1.5 },
  context: { channel: true },
}
const ofAll = [
  { name: 'resource.amount', expected: 'integer', got: 'string' },
  { name: 'resource.currency', expected: 'string', got: 'string of more than 1024 characters' },
  { name: 'resource.due', expected: 'datetime', got: 'string' },
  { name: 'resource.labels', expected: 'array', got: 'array of other values' },
  { name: 'subject.clearance', expected: 'integer', got: 'number' },
  { name: 'environment.channel', expected: 'string', got: 'boolean' },
  { name: 'resource.department_id', expected: 'department', got: 'unknown department' },
]
const byDecisions = (one: { decisions: number }, other: { decisions: number }) =>
  other.decisions - one.decisions
const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name)

t.test('values of another type are told apart from missing ones', async (t) => {
  const answer = await ask(owner, illTyped)
  t.same(answer.ill_typed_attributes.toSorted(byName), ofAll.toSorted(byName))
  t.same(answer.missing_attributes, ['environment.ip'])
  const missing = await ask(owner, {})
  t.same(missing.ill_typed_attributes, [])
  t.same(missing.missing_attributes.toSorted(), reads.map(({ attribute }) => attribute).toSorted())
  const explained = await owner.get(`/api/v1/decisions/${answer.id}/explain/`)
  t.same(explained.body.ill_typed_attributes.toSorted(byName), ofAll.toSorted(byName))
  const sentence = 'The value of resource.amount counts as missing: expected integer, got string.'
  t.ok(explained.body.explanation.includes(sentence))
  t.notOk(
    JSON.stringify(explained.body.explanation).includes('lacks attributes that policies read: resource'),
  )
})

t.test('a test of a policy names them, too', async (t) => {
  const { conditions } = policy
  const draft = { ...policy, conditions: { all: conditions.all.slice(0, 1) } }
  const input = { action: 'invoice:pay', resource: { type: 'invoice', properties: { amount: '7' } } }
  t.match((await owner.post('/api/v1/policies/test-draft/', { ...input, draft })).body, {
    applies: false,
    missing_attributes: [],
    ill_typed_attributes: [{ name: 'resource.amount', expected: 'integer', got: 'string' }],
  })
})

t.test('a plan names those that it knows, and leaves the resource to its filter', async (t) => {
  const { resource: _, ...parts } = illTyped
  const asked = { subject: { clearance: 1.5 }, context: { ...parts.context, ip: '10.0.0.1' } }
  const { body } = await owner.post('/access/v1/plan', { ...question(asked), resource: { type: 'invoice' } })
  t.match(body, { kind: 'never', missing_attributes: ['environment.ip'] })
  t.same(
    body.ill_typed_attributes.toSorted(byName),
    ofAll.filter(({ name }) => !name.startsWith('resource.')).toSorted(byName),
  )
  t.same(body.ignored_properties, ['environment.ip'])
})

t.test('a preview counts the decisions in which a policy in shadow mode met such values', async (t) => {
  const owner = await service.signUp()
  const attribute = { category: 'resource', key: 'amount', data_type: 'integer' }
  await owner.post('/api/v1/attribute-definitions/', attribute)
  const large = { attribute: 'resource.amount', operator: 'gt', value: 100 }
  const inside = { attribute: 'environment.ip', operator: 'exists' }
  const trial = { name: 'Trial', effect: 'allow', actions: ['invoice:pay'], mode: 'shadow' }
  const { body: stored } = await owner.post('/api/v1/policies/', {
    ...trial,
    conditions: { any: [large, inside] },
  })
  const subject = { type: 'user', id: (await colleague(service, owner)).id }
  for (const amount of ['500', '600', [1], 700]) {
    const asked = question({ resource: { amount }, context: { ip: '10.0.0.1' } })
    await owner.post('/access/v1/evaluation', { ...asked, subject })
  }
  const illTyped = [
    { name: 'resource.amount', expected: 'integer', got: 'string', decisions: 2 },
    { name: 'resource.amount', expected: 'integer', got: 'array', decisions: 1 },
  ]
  const preview = `/api/v1/policies/${stored.id}/preview/`
  const { body } = await owner.post(preview, {})
  t.match(body, { evaluated: 4, not_replayable: 0, missing_attributes: {} })
  t.same(body.ill_typed_attributes.toSorted(byDecisions), illTyped)
  t.same(body.ignored_properties, { 'environment.ip': 4 })
  const draft = { ...trial, mode: 'enforce', conditions: large }
  const ofDraft = (await owner.post(preview, { draft })).body
  t.same(ofDraft.ill_typed_attributes.toSorted(byDecisions), illTyped)
  t.same(ofDraft.ignored_properties, {}, 'the draft does not read it')
})

t.test(
  'who may ask about themselves alone does not learn which attributes of members policies read',
  async (t) => {
    const answer = await ask(member, illTyped)
    const others = ofAll.filter(({ name }) => !name.startsWith('subject.'))
    t.same(answer.ill_typed_attributes.toSorted(byName), others.toSorted(byName))
    t.notOk(JSON.stringify(answer).includes('subject.clearance'))
  },
)

t.test('sent properties in whose place others count are named as ignored', async (t) => {
  await owner.put('/api/v1/resources/invoice/7/', { attributes: { amount: 7, due: '2026-11-21T00:00:00Z' } })
  const memberships = `/api/v1/tenants/${owner.tenantId}/members/`
  const { id } = (await owner.get(`${memberships}?user_id=${member.id}`)).body.results[0]
  await owner.patch(`${memberships}${id}/`, { attributes: { clearance: 3 } })
  const sent = {
    resource: { amount: 7, due: null, labels: ['a'], currency: 'EUR', colour: 'red' },
    subject: { clearance: 9 },
    context: { ip: '10.0.0.1', channel: 'web' },
  }
  const ignored = ['environment.ip', 'resource.amount', 'resource.labels', 'subject.clearance']
  const answer = await ask(owner, sent, '7')
  t.same(
    answer.ignored_properties.toSorted(),
    ignored,
    'an equal value is named, too, and no value that counts',
  )
  t.same((await ask(owner, sent, 'unregistered')).ignored_properties.toSorted(), [
    'environment.ip',
    'subject.clearance',
  ])
  t.same((await ask(member, sent, '7')).ignored_properties.toSorted(), ignored.slice(0, 3))
  const { body } = await owner.get(`/api/v1/decisions/${answer.id}/explain/`)
  t.same(body.ignored_properties.toSorted(), ignored)
  t.match(body.explanation.join(' '), /sends values that do not count.*resource\.amount/)
  t.same((await ask(owner, {}, '7')).ignored_properties, [])
})

t.test(
  'a question about an object of the service names each property that policies read as ignored',
  async (t) => {
    await owner.post('/api/v1/policies/', {
      name: 'Names',
      effect: 'deny',
      actions: ['department:update'],
      conditions: { attribute: 'resource.name', operator: 'eq', value: 'Works' },
    })
    const made = await owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name: 'Works' })
    const resource = { type: 'department', id: made.body.id, properties: { name: 'Sales', colour: 'red' } }
    const asked = { subject: { type: 'user', id: owner.id }, action: { name: 'department:update' }, resource }
    t.match((await owner.post('/access/v1/evaluation', asked)).body, {
      decision: false,
      context: { ignored_properties: ['resource.name'] },
    })
  },
)
