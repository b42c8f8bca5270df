import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { certified, customer, record } from './certification.ts'

const service = await sharedService(t)
const batches = '/access/v1/evaluations'
const read = { name: 'read' }
const write = { name: 'write' }
const user = (id: string) => ({ type: 'user', id })

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

async function ask(asking: Client, batch: object): Promise<Json> {
  const { status, body } = await asking.post(batches, batch)
  if (status !== 200) throw new Error(`Expected an answer, got ${status} ${JSON.stringify(body)}`)
  return body
}
const decisionsOf = async (asking: Client, batch: object) =>
  (await ask(asking, batch)).evaluations.map(({ decision }: Json) => decision)

const admin = await certified(service)
const archived = record('record-2', { status: 'archived' })
const active = record('record-1', { status: 'active' })

t.test('the batches of the AuthZEN certification get the required answers', async (t) => {
  const [alice, bob] = [customer('alice'), customer('bob')]
  const decisions = (batch: object) => decisionsOf(admin, batch)
  const two = [{ resource: record('record-1') }, { resource: record('record-2') }]
  t.equal((await decisions({ subject: alice, action: read, evaluations: two })).length, 2)
  const verbs = [{ action: read }, { action: write }]
  t.same(await decisions({ subject: bob, resource: active, evaluations: verbs }), [true, false])
  const records = [{ resource: active }, { resource: archived }]
  t.same(await decisions({ subject: alice, action: write, evaluations: records }), [true, false])
  const people = [{ subject: alice }, { subject: customer('bob', { role: 'admin' }) }]
  t.same(await decisions({ action: write, resource: archived, evaluations: people }), [false, true])
  const whole = [
    { subject: alice, action: read, resource: active },
    { subject: bob, action: write, resource: active },
  ]
  t.same(await decisions({ evaluations: whole }), [true, false])
  const typed = [{ resource: { id: 'record-1', properties: { status: 'active' } } }, { resource: archived }]
  const defaults = { subject: alice, action: write, resource: { type: 'record' } }
  t.same(await decisions({ ...defaults, evaluations: typed }), [true, false], 'a type can be a default')
  const context = { time: '2025-06-27T18:03:00-07:00' }
  const inherited = { subject: alice, action: read, context, evaluations: [...two, { context: {} }] }
  t.same(await decisions(inherited), [true, true, false])
})

t.test('a batch without items is one question', async (t) => {
  const question = { subject: customer('alice'), action: read, resource: active }
  for (const batch of [question, { ...question, evaluations: [] }]) {
    const { body, headers } = await admin.post(batches, batch, { headers: { 'x-request-id': 'pep-8' } })
    t.match(body, { decision: true, context: { effect: 'allow' } })
    t.notOk('evaluations' in body)
    t.equal(headers.get('x-request-id'), 'pep-8')
  }
  const faulty = await admin.post(batches, { ...question, resource: undefined, evaluations: [] })
  t.match(faulty, { status: 400, body: { errors: [{ field: 'resource' }] } })
})

t.test('an item replaces a default as a whole', async (t) => {
  const batch = {
    subject: customer('bob', { role: 'admin' }),
    action: write,
    resource: archived,
    evaluations: [{}, { subject: customer('bob') }, { resource: record('record-2') }],
  }
  t.same(await decisionsOf(admin, batch), [true, false, true])
  const evaluations = [{}, { resource: record('record-2') }]
  const decisions = await decisionsOf(admin, { ...batch, subject: customer('alice'), evaluations })
  t.same(decisions, [false, true], 'the status of the default does not count')
})

t.test('the semantic says where a batch stops, and what was not asked is not logged', async (t) => {
  const items = [{ action: read }, { action: write }, { action: read }]
  const batch = { subject: customer('bob'), resource: active, evaluations: items }
  const stopping = (evaluations_semantic: string, evaluations: object[] = items) =>
    decisionsOf(admin, { ...batch, evaluations, options: { evaluations_semantic } })
  t.same(await stopping('execute_all'), [true, false, true])
  t.same(await stopping('deny_on_first_deny'), [true, false])
  t.same(await stopping('permit_on_first_permit'), [true])
  t.same(await stopping('permit_on_first_permit', [{ action: write }, {}, ...items]), [false, false, true])
  t.same(
    await stopping('deny_on_first_deny', [{ action: read }, {}, ...items]),
    [true, false],
    'a fault denies',
  )
  const asked = randomUUID()
  const denials = Array.from({ length: 3 }, () => ({ action: write, resource: record(asked) }))
  t.same(await stopping('deny_on_first_deny', denials), [false])
  const kept = (await admin.get(`/api/v1/decisions/?resource_id=${asked}`)).body.results
  t.match(kept, [{ action: 'record:write', effect: 'deny' }])
  t.equal(kept.length, 1)
})

t.test('a faulty item is denied with an error in its context, and the others are answered', async (t) => {
  const { evaluations } = await ask(admin, {
    subject: customer('alice'),
    action: read,
    evaluations: [
      { resource: active },
      {},
      'record-1',
      null,
      { resource: { type: 'record' } },
      { resource: active, action: { name: '' } },
      { resource: record('record-1', { x: 'y'.repeat(40_000) }) },
      { resource: active },
    ],
  })
  const error = (field: string) => ({
    decision: false,
    context: { error: { status: 400, code: 'validation_error', message: /\w/, errors: [{ field }] } },
  })
  t.match(evaluations, [
    { decision: true },
    error('resource'),
    error(''),
    error(''),
    error('resource.id'),
    error('action.name'),
    error('resource'),
    { decision: true },
  ])
})

t.test('a null, or an object without id, borrows nothing of the default but its type', async (t) => {
  const batch = {
    subject: customer('alice'),
    action: read,
    resource: active,
    context: { time: '2025-06-27T18:03:00-07:00' },
    evaluations: [
      { resource: null },
      { resource: {} },
      { resource: { id: null } },
      { resource: { type: null, id: 'record-1' } },
      { subject: null },
      { subject: { type: 'customer' } },
      { action: null },
      { action: {} },
      { context: null },
      { resource: { id: 'record-1' } },
    ],
  }
  const evaluations = (await ask(admin, batch)).evaluations as Json[]
  const faults = evaluations.map(({ context }) => context.error?.errors.map(({ field }: Json) => field))
  const resource = [['resource'], ['resource.id'], ['resource.id'], ['resource.type']]
  const others = [['subject'], ['subject.id'], ['action'], ['action.name'], ['context']]
  t.same(faults, [...resource, ...others, undefined])
  t.match(evaluations[0].context.error, { status: 400, message: 'Give resource as an object.' })
  t.match(evaluations[8].context.error, { message: /^Give context as an object/ })
  t.same(
    evaluations.map(({ decision }) => decision),
    [...Array(9).fill(false), true],
  )
})

t.test('members get answers about themselves, and an error for items about others', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const action = { name: 'doc:read' }
  const resource = { type: 'doc', id: '1' }
  await owner.post('/api/v1/policies/', { name: 'All read', effect: 'allow', actions: [action.name] })
  const evaluations = [
    { subject: user(member.id) },
    { subject: user(owner.id) },
    { subject: customer('alice') },
    { subject: user(member.id) },
  ]
  const refused = { decision: false, context: { error: { status: 403, code: 'permission_denied' } } }
  const body = await ask(member, { action, resource, evaluations })
  t.match(body.evaluations, [{ decision: true }, refused, refused, { decision: true }])
  t.same(await decisionsOf(owner, { action, resource, evaluations }), [true, true, true, true])
  const single = await member.post(batches, { subject: user(owner.id), action, resource })
  t.equal(single.status, 403, 'one question is refused as a whole')
})

t.test('a batch finds each member and object of the service, by id and address', async (t) => {
  const owner = await service.signUp()
  const [member, stranger] = [await colleague(service, owner), await service.signUp()]
  const department = `/api/v1/tenants/${owner.tenantId}/departments/`
  const { id } = (await owner.post(department, { name: 'Sales' })).body
  const update = { action: { name: 'department:update' }, resource: { type: 'department', id } }
  const evaluations = [
    { subject: user(owner.id), ...update },
    { subject: user(member.id), ...update },
    { subject: user(stranger.id), ...update },
    { subject: user(owner.email), ...update },
    { subject: user(owner.id), ...update, resource: { type: 'department', id: randomUUID() } },
    { subject: user(owner.id), action: { name: 'create' }, resource: { type: 'department', id: 'new' } },
    { subject: user(owner.id), action: { name: 'letter:raed' }, resource: { type: 'letter', id: '1' } },
  ]
  const { evaluations: answers } = await ask(owner, { evaluations })
  t.match(answers, [
    { decision: true },
    { decision: false, context: { reasons: [{ code: 'missing_permission' }] } },
    { decision: false, context: { reasons: [{ code: 'no_active_membership' }] } },
    { decision: false, context: { reasons: [{ code: 'no_active_membership' }] } },
    { decision: false, context: { reasons: [{ code: 'not_found' }] } },
    { decision: true },
    { decision: true, context: { unknown_action: true, unknown_resource_type: true } },
  ])
})

t.test('members at the top that would be repeated too often are refused', async (t) => {
  const batch = { subject: user(admin.id), action: read, resource: active }
  const context = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]))
  const refused = { status: 400, body: { code: 'validation_error' } }
  t.match(await admin.post(batches, { ...batch, context: context(5_000), evaluations: [{}] }), {
    ...refused,
    body: { errors: [{ field: 'context', detail: /32 KiB at most.* has \d+ bytes/ }] },
  })
  t.match(
    await admin.post(batches, { ...batch, context: context(1_000), evaluations: Array(500).fill({}) }),
    { ...refused, body: { errors: [{ field: 'evaluations', detail: /2 MiB together.* have \d+ bytes/ }] } },
  )
})

t.test('the items of a batch and the members at the top count together', async (t) => {
  const item = { resource: record('record-1', { status: 'x'.repeat(500) }) }
  const top = { subject: user(admin.id), action: { ...read, properties: { x: 'x'.repeat(2_000) } } }
  t.match(await admin.post(batches, { ...top, evaluations: Array(900).fill(item) }), {
    status: 400,
    body: { errors: [{ field: 'evaluations', detail: /2 MiB/ }] },
  })
})

t.test('1,000 questions are answered at once, and 1,001 are refused', async (t) => {
  const items = (count: number) =>
    Array.from({ length: count }, (_none, index) => ({
      resource: record(`r-${index}`, { status: index % 2 ? 'archived' : 'active' }),
    }))
  const batch = { subject: customer('alice'), action: write }
  const decisions = await decisionsOf(admin, { ...batch, evaluations: items(1_000) })
  t.equal(decisions.filter(Boolean).length, 500)
  t.match(await admin.post(batches, { ...batch, evaluations: items(1_001) }), {
    status: 400,
    body: { errors: [{ field: 'evaluations', detail: /1000/ }] },
  })
})

t.test('a batch that is no batch is 400', async (t) => {
  const question = { subject: customer('alice'), action: read, resource: active }
  const bad: [object, string][] = [
    [{ ...question, evaluations: {} }, 'evaluations'],
    [{ ...question, evaluations: 'all' }, 'evaluations'],
    [{ ...question, subject: 'alice', evaluations: [{}] }, 'subject'],
    [{ ...question, context: [], evaluations: [{}] }, 'context'],
    [{ ...question, options: { evaluations_semantic: 'first' } }, 'options.evaluations_semantic'],
    [{ ...question, options: 7, evaluations: [{}] }, 'options'],
  ]
  for (const [batch, field] of bad)
    t.match(await admin.post(batches, batch), { status: 400, body: { errors: [{ field }] } }, field)
})

t.test('the metadata name every endpoint, and the issuer and audience of tokens', async (t) => {
  const { body } = await service.call('GET', '/.well-known/authzen-configuration')
  const { policy_decision_point: base, issuer, audience, ...endpoints } = body
  t.match(decodeJwt(admin.access), { iss: issuer, aud: audience })
  t.equal(base, service.deps.publicUrl())
  for (const [name, address] of Object.entries<string>(endpoints)) {
    t.ok(address.startsWith(`${base}/access/v1/`), name)
    const { status } = await admin.post(new URL(address).pathname, {})
    t.equal(status, 400, `${name} is there`)
  }
})
