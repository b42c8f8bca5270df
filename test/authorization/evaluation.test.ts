import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { type Client, startService } from '../helpers/service.ts'

t.setTimeout(120_000)
const service = await startService(t)
const policies = '/api/v1/policies/'
const evaluation = '/access/v1/evaluation'
const user = (id: string, properties?: object) => ({ type: 'user', id, ...(properties && { properties }) })
const record = (id: string, properties?: object) => ({
  type: 'record',
  id,
  ...(properties && { properties }),
})

async function decisionOf(asking: Client, question: object) {
  const { status, body } = await asking.post(evaluation, question)
  if (status !== 200) throw new Error(`Expected an answer, got ${status} ${JSON.stringify(body)}`)
  return body.decision
}

/** The policies of the certification fixture of AuthZEN: alice, bob (role admin), record-1 and record-2 (archived). */
async function certified() {
  const owner = await service.signUp()
  const define = (category: string, key: string, data_type: string) =>
    owner.post('/api/v1/attribute-definitions/', { category, key, data_type })
  await define('subject', 'role', 'string')
  await define('action', 'soft', 'boolean')
  const leaf = (attribute: string, operator: string, value: unknown) => ({ attribute, operator, value })
  const alice = leaf('subject.id', 'eq', 'alice')
  const admin = leaf('subject.role', 'eq', 'admin')
  const archived = leaf('resource.status', 'eq', 'archived')
  const make = async (name: string, effect: string, action: string, conditions: object) => {
    const made = await owner.post(policies, { name, effect, actions: [action], conditions })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  }
  await make('All read', 'allow', 'record:read', leaf('subject.id', 'in', ['alice', 'bob']))
  await make('Alice and admins write', 'allow', 'record:write', { any: [alice, admin] })
  await make('Archived is read-only', 'deny', 'record:write', { all: [archived, { none: [admin] }] })
  await make('Alice deletes softly', 'allow', 'record:delete', {
    all: [alice, leaf('action.soft', 'eq', true)],
  })
  return owner
}

t.test('the questions of the AuthZEN certification are answered as it demands', async (t) => {
  const owner = await certified()
  const active = record('record-1', { status: 'active' })
  const archived = record('record-2', { status: 'archived' })
  const ask = (subject: object, name: string, resource: object, properties?: object) =>
    decisionOf(owner, { subject, action: { name, ...(properties && { properties }) }, resource })
  t.equal(await ask(user('alice', { role: 'user' }), 'read', active), true)
  t.equal(await ask(user('alice', { role: 'user' }), 'write', active), true)
  t.equal(await ask(user('bob'), 'read', active), true)
  t.equal(await ask(user('bob', { role: 'user' }), 'write', active), false)
  t.equal(await ask(user('alice', { role: 'user' }), 'write', archived), false)
  t.equal(await ask(user('bob', { role: 'admin' }), 'write', archived), true)
  t.equal(await ask(user('alice'), 'delete', active, { soft: true }), true)
  t.equal(await ask(user('alice'), 'delete', active, { soft: false }), false)
  t.equal(await ask(user('mallory'), 'read', active), false)
})

t.test('an answer says why, and names the decision, which is kept', async (t) => {
  const owner = await certified()
  const question = { subject: user('bob'), action: { name: 'write' }, resource: record('record-1') }
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

t.test('a member is known by id and by address, with roles and permissions of this tenant', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const ask = (id: string, name: string, resource: object) =>
    decisionOf(owner, { subject: user(id), action: { name }, resource })
  t.equal(await ask(owner.id, 'document:read', { type: 'document', id: '1' }), true)
  t.equal(await ask(member.id, 'document:read', { type: 'document', id: '1' }), false)
  t.equal(await ask(owner.email.toUpperCase(), 'member:create', { type: 'member', id: 'new' }), true)
  t.equal(await ask(member.email, 'member:create', { type: 'member', id: 'new' }), false)
  t.equal(await ask(member.email, 'member:list', { type: 'member', id: 'all' }), true)
  const stranger = await service.signUp()
  t.equal(await ask(stranger.id, 'member:list', { type: 'member', id: 'all' }), false)
})

t.test('members ask about themselves alone', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
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
  t.equal((await service.call('POST', evaluation, { body: about(member.id) })).status, 401)
})

t.test('what a caller sends never replaces what the service knows', async (t) => {
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

t.test('what is no question is 400, never an answer', async (t) => {
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
    { ...good, action: { name: 'GET' } },
    { ...good, action: { name: 'member:fly' } },
    { ...good, action: { name: '*' } },
    { ...good, resource: { type: 'record' } },
    { ...good, resource: { id: '1' } },
    { ...good, context: 'x' },
    { ...good, context: { blob: 'x'.repeat(40_000) } },
    { ...good, subject: user('a\u0000b') },
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

t.test('the metadata say where to ask', async (t) => {
  const { status, body } = await service.call('GET', '/.well-known/authzen-configuration')
  t.equal(status, 200)
  t.equal(body.policy_decision_point, service.url)
  t.equal(body.access_evaluation_endpoint, `${service.url}/access/v1/evaluation`)
})
