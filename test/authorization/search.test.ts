import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { crowd } from '../helpers/crowd.ts'
import { numberedEventsOf, openDatabase } from '../helpers/event-log.ts'
import { type Client, startService } from '../helpers/service.ts'
import { tampered } from '../helpers/tampered.ts'
import { certified, customer, record } from './certification.ts'

const service = await startService(t, { actors: ['outbox-relay'] })
const user = (id: string) => ({ type: 'user', id })
const policies = '/api/v1/policies/'

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any
type Kind = 'subject' | 'resource' | 'action'

async function page(asking: Client, kind: Kind, question: object): Promise<Json> {
  const { status, body } = await asking.post(`/access/v1/search/${kind}`, question)
  if (status !== 200) throw new Error(`Expected an answer, got ${status} ${JSON.stringify(body)}`)
  return body
}

/** The ids (or names) of all results, page by page. */
async function found(asking: Client, kind: Kind, question: object, limit = 100): Promise<string[]> {
  const results: string[] = []
  for (let token = ''; ; ) {
    const answer = await page(asking, kind, { ...question, page: { token, limit } })
    results.push(...answer.results.map(({ id, name }: Json) => id ?? name))
    token = answer.page.next_token
    if (token === '') return results
  }
}

/** Which candidates of a question one evaluation each permits. */
async function evaluated(asking: Client, questions: { key: string; question: object }[]): Promise<string[]> {
  const evaluations = questions.map(({ question }) => question)
  const { body } = await asking.post('/access/v1/evaluations', { evaluations })
  return questions.filter((_one, index) => body.evaluations[index].decision).map(({ key }) => key)
}

t.test('the searches of the AuthZEN certification have the required results', async (t) => {
  const admin = await certified(service)
  const read = { name: 'read' }
  const people = { type: 'customer' }
  t.same(await found(admin, 'subject', { subject: people, action: read, resource: record('record-1') }), [
    'alice',
    'bob',
  ])
  const archived = record('record-2', { status: 'archived' })
  const admins = { ...people, candidates: [{ id: 'alice' }, { id: 'bob', properties: { role: 'admin' } }] }
  t.same(await found(admin, 'subject', { subject: admins, action: { name: 'write' }, resource: archived }), [
    'bob',
  ])
  const records = {
    type: 'record',
    candidates: [
      { id: 'record-1', properties: { status: 'active' } },
      { id: 'record-2', properties: { status: 'archived' } },
    ],
  }
  const readable = { subject: customer('alice'), action: read, resource: records }
  t.same(await found(admin, 'resource', readable), ['record-1', 'record-2'])
  const writable = { ...readable, action: { name: 'write' } }
  t.same(await found(admin, 'resource', writable), ['record-1'])
  const bob = customer('bob', { role: 'admin' })
  t.same(await found(admin, 'resource', { ...writable, subject: bob }), ['record-1', 'record-2'])
  const onRecord = { subject: customer('alice'), resource: record('record-1') }
  t.same(await found(admin, 'action', onRecord), ['read', 'write'])
  t.same(await found(admin, 'action', { subject: bob, resource: archived }), ['read', 'write'])
  const one = await page(admin, 'subject', {
    subject: people,
    action: read,
    resource: record('record-1'),
    context: { ip: '192.0.2.1' },
    page: { limit: 1 },
  })
  t.match(one, { results: [{ type: 'customer', id: 'alice' }], page: { next_token: /\w/, count: 1 } })
})

t.test('a search for members finds all who are permitted, page by page', async (t) => {
  const owner = await service.signUp()
  const ids = await crowd(service.databases.superuser, {
    id: owner.tenantId,
    size: 120,
    since: service.now(),
  })
  const definition = { category: 'subject', key: 'level', data_type: 'integer' }
  await owner.post('/api/v1/attribute-definitions/', definition)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const { results } = (await owner.get(`${members}?page_size=100`)).body
  const fives = results.filter((_one: Json, index: number) => index % 5 === 1)
  for (const { id } of fives) await owner.put(`${members}${id}/`, { attributes: { level: 5 } })
  await owner.put(`${members}${fives[0].id}/`, { status: 'suspended' })
  await owner.post(policies, {
    name: 'Seniors sign',
    effect: 'allow',
    actions: ['contract:sign'],
    conditions: { attribute: 'subject.level', operator: 'gte', value: 3 },
  })
  await owner.post(policies, {
    name: 'Own contracts are kept',
    effect: 'deny',
    actions: ['contract:shred'],
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  })
  const question = {
    subject: { type: 'user' },
    action: { name: 'sign' },
    resource: { type: 'contract', id: '7', properties: { owner_id: owner.id } },
  }
  const asked = [owner.id, ...ids]
    .sort()
    .map((id) => ({ key: id, question: { ...question, subject: user(id) } }))
  const permitted = await evaluated(owner, asked)
  t.equal(permitted.length, 20, '19 active seniors and the owner')
  for (const limit of [100, 7, 1])
    t.same(await found(owner, 'subject', question, limit), permitted, `${limit} a page`)
  const shredding = { ...question, action: { name: 'shred' } }
  t.same(await found(owner, 'subject', shredding), [], 'an owner keeps their own')
  const last = await page(owner, 'subject', { ...question, page: { limit: 20 } })
  t.match(last.page, { next_token: '', count: 20 }, 'no page follows the last result')
  t.equal(last.context.policy_revision, (await page(owner, 'subject', question)).context.policy_revision)
})

t.test('a page token works for its own question, caller and tenant only', async (t) => {
  const [owner, other] = [await service.signUp(), await service.signUp()]
  const admin = await colleague(service, owner, 'admin')
  const member = await colleague(service, owner)
  await owner.post(policies, { name: 'All', effect: 'allow', actions: ['doc:read'] })
  await other.post(policies, { name: 'All', effect: 'allow', actions: ['doc:read'] })
  const question = {
    subject: { type: 'user' },
    action: { name: 'doc:read' },
    resource: { type: 'doc', id: '1' },
  }
  const first = await page(owner, 'subject', { ...question, page: { limit: 1 } })
  const token = first.page.next_token
  const next = await page(owner, 'subject', { ...question, page: { token, limit: 2 } })
  const everyone = [owner.id, admin.id, member.id].sort()
  t.same(
    [...first.results, ...next.results].map(({ id }: Json) => id),
    everyone,
    'another limit is no other question',
  )
  const refused = (asking: Client, changes: object, kind: Kind = 'subject') =>
    asking.post(`/access/v1/search/${kind}`, { ...question, page: { token }, ...changes })
  const invalid = { status: 400, body: { errors: [{ field: 'page.token', code: 'invalid' }] } }
  t.match(await refused(other, {}), invalid, 'another tenant')
  t.match(await refused(admin, {}), invalid, 'another caller')
  t.match(await refused(owner, { resource: { type: 'doc', id: '2' } }), invalid, 'another question')
  t.match(await refused(owner, { context: { x: 1 } }), invalid)
  t.match(await refused(owner, { subject: user(owner.id), resource: { type: 'doc' } }, 'resource'), invalid)
  for (const changed of [`${token}A`, tampered(token), token.slice(0, -4), 'x', token.toUpperCase()])
    t.match(await refused(owner, { page: { token: changed } }), invalid, 'tampered with')
  await owner.post(policies, { name: 'More', effect: 'allow', actions: ['doc:write'] })
  t.match(
    await refused(owner, {}),
    { status: 400, body: { errors: [{ field: 'page.token', code: 'outdated' }] } },
    'policies have changed',
  )
})

t.test('a search for resources of the service goes through the objects of the tenant', async (t) => {
  const [owner, other] = [await service.signUp(), await service.signUp()]
  const member = await colleague(service, owner)
  const make = async (by: Client, name: string) =>
    (await by.post(`/api/v1/tenants/${by.tenantId}/departments/`, { name })).body.id
  const open = [await make(owner, 'Open'), await make(owner, 'Garden')]
  await make(owner, 'Secret')
  await make(other, 'Foreign')
  await owner.post(policies, {
    name: 'Secret departments stay',
    effect: 'deny',
    actions: ['department:update'],
    resource_types: ['department'],
    conditions: { attribute: 'resource.name', operator: 'eq', value: 'Secret' },
  })
  const question = { subject: user(owner.id), action: { name: 'update' }, resource: { type: 'department' } }
  t.same(await found(owner, 'resource', question), open)
  t.same(await found(owner, 'resource', question, 1), open)
  t.same(await found(owner, 'resource', { ...question, subject: user(member.id) }), [])
  const members = { ...question, action: { name: 'member:update' } }
  t.same(await found(owner, 'resource', members), [], 'an action of another type')
  const own = { subject: user(member.id), action: { name: 'delete' }, resource: { type: 'member' } }
  t.equal((await found(member, 'resource', own)).length, 1, 'every member can leave')
  const types = [
    'user',
    'role',
    'policy',
    'webhook',
    'invitation',
    'tenant',
    'attribute_definition',
    'session',
  ]
  const more = ['audit', 'event', 'decision', 'approval_request', 'otp_device', 'profile']
  await owner.post('/api/v1/webhooks/', { url: 'https://receiver.example/', is_active: false })
  await owner.post(`/api/v1/tenants/${owner.tenantId}/invitations/`, { email: 'guest@example.com' })
  await numberedEventsOf(await openDatabase(t, service), owner.tenantId)
  for (const type of [...types, ...more]) {
    const verbs = await page(owner, 'action', { subject: user(owner.id), resource: { type, id: 'new' } })
    t.ok(Array.isArray(verbs.results), type)
    const verb =
      { user: 'read', tenant: 'read', session: 'delete', otp_device: 'delete', profile: 'update' }[type] ??
      'list'
    const name = type === 'webhook' ? 'update' : verb
    const results = await found(owner, 'resource', {
      subject: user(owner.id),
      action: { name },
      resource: { type },
    })
    t.equal(results.length > 0, !['approval_request', 'otp_device'].includes(type), type)
  }
})

t.test('members search for their own resources and actions, and never for subjects', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, {
    name: 'Clerk',
    permissions: ['letter:read'],
  })
  await owner.post(policies, { name: 'All write', effect: 'allow', actions: ['letter:write', 'paper:fold'] })
  const letter = { type: 'letter', id: '1' }
  t.same(await found(member, 'action', { subject: user(member.id), resource: letter }), ['write'])
  t.same(await found(owner, 'action', { subject: user(owner.id), resource: letter }), ['read', 'write'])
  const unknown = { subject: user(member.id), resource: { type: 'stone', id: '1' } }
  t.same(await found(member, 'action', unknown), [], 'an action that nothing names is no result')
  const write = { action: { name: 'write' }, resource: { type: 'letter', candidates: [letter] } }
  t.same(await found(member, 'resource', { ...write, subject: user(member.id) }), ['1'])
  for (const [kind, question] of [
    ['action', { subject: user(owner.id), resource: letter }],
    ['resource', { ...write, subject: user(owner.id) }],
    ['subject', { subject: { type: 'user' }, action: write.action, resource: letter }],
  ] as const)
    t.match(await member.post(`/access/v1/search/${kind}`, question), { status: 403 }, kind)
})

t.test('a search that is no search is 400', async (t) => {
  const owner = await service.signUp()
  const resource = { type: 'doc', id: '1' }
  const subjects = { subject: { type: 'user' }, action: { name: 'read' }, resource }
  const bad: [Kind, object, string][] = [
    ['subject', { ...subjects, subject: {} }, 'subject.type'],
    ['subject', { ...subjects, subject: 'user' }, 'subject'],
    ['subject', { ...subjects, resource: { type: 'doc' } }, 'resource.id'],
    ['subject', { ...subjects, action: { name: '' } }, 'action.name'],
    ['subject', { ...subjects, page: { limit: 0 } }, 'page.limit'],
    ['subject', { ...subjects, page: { limit: '5' } }, 'page.limit'],
    ['subject', { ...subjects, page: [] }, 'page'],
    ['resource', { ...subjects, resource: { type: 'doc' } }, 'subject.id'],
    [
      'resource',
      { ...subjects, subject: user('x'), resource: { type: 'doc', candidates: [{}] } },
      'resource.candidates.0.id',
    ],
    [
      'resource',
      { ...subjects, subject: user('x'), resource: { type: 'doc', candidates: Array(1_001).fill(resource) } },
      'resource.candidates',
    ],
    ['action', { subject: user('x'), resource, context: { text: 'x'.repeat(33_000) } }, 'context'],
    [
      'subject',
      { ...subjects, resource: { ...resource, properties: { text: 'x'.repeat(33_000) } } },
      'resource',
    ],
    [
      'resource',
      {
        ...subjects,
        subject: user('x'),
        resource: { type: 'doc', candidates: [{ id: '1', properties: { text: 'x'.repeat(33_000) } }] },
      },
      'resource.candidates.0',
    ],
    ['action', { subject: user('x') }, 'resource'],
    ['action', { resource }, 'subject'],
  ]
  for (const [kind, question, field] of bad)
    t.match(
      await owner.post(`/access/v1/search/${kind}`, question),
      { status: 400, body: { errors: [{ field }] } },
      field,
    )
})
