import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect } from '../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })
const evaluation = '/access/v1/evaluation'

const owner = await service.signUp()
const member = await colleague(service, owner)
await expect(
  201,
  owner.post('/api/v1/policies/', { name: 'Invoices', effect: 'deny', actions: ['invoice:pay'] }),
)
await expect(
  201,
  owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name: 'Clerk', permissions: ['invoice:read'] }),
)

const question = (by: Client, name: string, type: string, id = '1') => ({
  subject: { type: 'user', id: by.id },
  action: { name },
  resource: { type, id },
})
const ask = (by: Client, name: string, type: string, id?: string) =>
  expect(200, by.post(evaluation, question(by, name, type, id)))
const codesIn = ({ context }: { context: { reasons: { code: string }[] } }) =>
  context.reasons.map(({ code }) => code)

t.test('a name that can be no action is denied, also for an owner, and named as the reason', async (t) => {
  for (const [name, type] of [
    ['fly', 'invoice:x'],
    ['GET /', 'invoice'],
    ['*', 'invoice'],
    ['invoice:*', 'invoice'],
    ['a:b:c', 'invoice'],
    ['read', 'Invoice of May'],
    ['fly', 'member'],
    ['member:fly', 'invoice'],
    ['toString', 'member'],
    ['İstanbul <b>', 'invoice'],
    ['read', 'constructor '],
  ] as const)
    for (const by of [owner, member]) {
      const answer = await ask(by, name, type)
      t.match(answer, { decision: false, context: { effect: 'deny', unknown_action: true } }, name)
      t.equal(codesIn(answer)[0], 'unknown_action', `${name} on ${type}`)
    }
})

t.test('what nothing names is a reason of a denial, before the missing permission', async (t) => {
  const known = await ask(member, 'read', 'invoice')
  t.same(codesIn(known), ['missing_permission'])
  t.match(known.context, { unknown_action: false, unknown_resource_type: false })
  const misspelt = await ask(member, 'raed', 'invoice')
  t.same(codesIn(misspelt), ['unknown_action', 'missing_permission'])
  t.match(misspelt.context, { unknown_action: true, unknown_resource_type: false })
  t.match(misspelt.context.reasons[0].message, /invoice:raed.*check the spelling/)
  const foreign = await ask(member, 'read', 'invioce')
  t.same(codesIn(foreign), ['unknown_action', 'unknown_resource_type', 'missing_permission'])
  const explained = await expect(200, owner.get(`/api/v1/decisions/${foreign.context.id}/explain/`))
  t.same(codesIn({ context: explained }), codesIn(foreign), 'the log has the same reasons')
  const sentences = explained.explanation.filter((text: string) => text.includes('check the spelling'))
  t.equal(sentences.length, 2, 'each is explained once')
  const ofOwner = await ask(owner, 'raed', 'invoice')
  t.match(
    ofOwner,
    { decision: true, context: { unknown_action: true } },
    'owners hold every action of an application',
  )
})

t.test('an action without a colon is a verb of the type, also of one of the service', async (t) => {
  for (const [verb, type, decision] of [
    ['list', 'member', true],
    ['read', 'user', true],
    ['create', 'department', false],
    ['read', 'member', false],
  ] as const) {
    const id = type === 'user' ? member.id : 'new'
    const [short, full] = [await ask(member, verb, type, id), await ask(member, `${type}:${verb}`, type, id)]
    t.equal(short.decision, decision, `${verb} on ${type}`)
    t.same({ ...short.context, id: 0 }, { ...full.context, id: 0 })
  }
})

t.test('in a batch, an unknown name is an answer and no error', async (t) => {
  const { evaluations } = await expect(
    200,
    owner.post('/access/v1/evaluations', {
      subject: { type: 'user', id: owner.id },
      resource: { type: 'invoice', id: '1' },
      evaluations: [{ action: { name: 'read' } }, { action: { name: 'GET /' } }, { action: { name: '' } }],
    }),
  )
  t.match(evaluations, [
    { decision: true },
    { decision: false, context: { reasons: [{ code: 'unknown_action' }] } },
    { decision: false, context: { error: { errors: [{ field: 'action.name' }] } } },
  ])
})

t.test('searches with unknown names are empty, also for an owner', async (t) => {
  const { subject, resource } = question(owner, 'x', 'invoice')
  const nothing = { results: [], page: { next_token: '', count: 0 } }
  const search = (kind: string, body: object) => expect(200, owner.post(`/access/v1/search/${kind}`, body))
  for (const name of ['GET /', 'member:fly', '*']) {
    const action = { name }
    t.match(await search('subject', { subject: { type: 'user' }, action, resource }), nothing, name)
    const candidates = [{ id: '1' }]
    t.match(await search('resource', { subject, action, resource: { type: 'invoice', candidates } }), nothing)
  }
  const fly = { name: 'fly' }
  t.match(await search('resource', { subject, action: fly, resource: { type: 'member' } }), nothing)
  t.match(
    await search('subject', { subject: { type: 'spaceship' }, action: { name: 'read' }, resource }),
    nothing,
  )
  t.match(await search('action', { subject, resource: { type: 'spaceship', id: '1' } }), nothing)
  t.match(await search('action', { subject, resource: { type: 'Space ship', id: '1' } }), nothing)
})

t.test('plans, approvals and tests of policies take unknown names as evaluations do', async (t) => {
  const plan = (name: string, type: string) =>
    owner.post('/access/v1/plan', { action: { name }, resource: { type } })
  t.match(await plan('GET /', 'invoice'), { status: 200, body: { kind: 'never' } })
  t.match(await plan('read', 'Invoice of May'), { status: 200, body: { kind: 'never' } })
  t.match(await plan('read', 'invoice'), { status: 200, body: { kind: 'always' } })
  const requested = await owner.post('/api/v1/approval-requests/', {
    action: 'GET /',
    resource: { type: 'invoice', id: '1' },
  })
  t.match(requested, {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'unknown_action' }] },
  })
  const { results } = await expect(200, owner.get('/api/v1/policies/'))
  const tried = await expect(
    200,
    owner.post(`/api/v1/policies/${results[0].id}/test/`, {
      action: 'member:fly',
      resource: { type: 'member' },
    }),
  )
  t.match(tried, { effect: 'deny', allowed: false, reasons: [{ code: 'unknown_action' }] })
})

t.test('a preview decides a recorded question with an unknown name as a denial again', async (t) => {
  await ask(member, 'invoice:x y', 'invoice')
  const draft = { name: 'All', effect: 'allow', actions: ['*', 'invoice:*'] }
  const { flips } = await expect(200, owner.post('/api/v1/policies/preview-draft/', { draft }))
  const flipped = flips.map(({ action }: { action: string }) => action)
  t.ok(flipped.includes('invoice:raed'), 'what can be an action')
  t.notOk(flipped.includes('invoice:x y'))
})
