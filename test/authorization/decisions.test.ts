import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'

t.setTimeout(120_000)
const service = await startService(t)
const decisions = '/api/v1/decisions/'
const policies = '/api/v1/policies/'

t.test('a denial can be read and explained by who may read decisions', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const refused = await member.get(policies)
  t.equal(refused.status, 403)
  const id = refused.body.decision_id

  t.match((await owner.get(`${decisions}${id}/`)).body, {
    id,
    effect: 'deny',
    action: 'policy:list',
    subject: { id: member.id, email: member.email },
    reasons: [{ code: 'missing_permission', layer: 'rbac' }],
    request_id: refused.headers.get('x-request-id'),
  })
  const { body } = await owner.get(`${decisions}${id}/explain/`)
  t.match(body.explanation[0], /policy:list.*denied/)
  t.ok(body.explanation.some((line: string) => /Roles held: member.*owner, admin, auditor/.test(line)))
})

t.test('an explanation shows what the conditions met, in the version of then', async (t) => {
  const owner = await service.signUp()
  const conditions = { all: [{ attribute: 'subject.email_verified', operator: 'eq', value: false }] }
  const { body: policy } = await owner.post(policies, {
    name: 'Verify first',
    effect: 'deny',
    actions: ['role:list', 'member:list'],
    conditions,
  })
  const refused = await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)
  t.equal(refused.status, 403)
  await owner.delete(`${policies}${policy.id}/`)
  const { body } = await owner.get(`${decisions}${refused.body.decision_id}/explain/`)
  t.match(body.trace, [{ policy_id: policy.id, applies: true }])
  t.ok(body.explanation.some((line: string) => line.includes('Verify first')))
  t.ok(body.explanation.some((line: string) => line.includes('the value is false')))
})

t.test('members read what is about themselves, without the tenant’s policies', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const other = await colleague(service, owner)
  await owner.post(policies, { name: 'A secret rule', effect: 'deny', actions: ['member:list'] })
  const mine = await member.get(`/api/v1/tenants/${owner.tenantId}/members/`)
  const theirs = await other.get(`/api/v1/tenants/${owner.tenantId}/members/`)
  const { body } = await member.get(decisions)
  t.ok(body.results.length > 0)
  t.ok(body.results.every(({ subject }: { subject: { id: string } }) => subject.id === member.id))
  t.notOk(JSON.stringify(body).includes('A secret rule'))
  t.equal('count' in body, false)
  const explained = await member.get(`${decisions}${mine.body.decision_id}/explain/`)
  t.equal(explained.status, 200)
  t.notOk(JSON.stringify(explained.body).includes('A secret rule'))
  t.equal((await member.get(`${decisions}${theirs.body.decision_id}/`)).status, 404)
  t.equal((await member.get(`${decisions}${theirs.body.decision_id}/explain/`)).status, 404)
})

t.test('changes are kept with who made them, and other tenants see nothing', async (t) => {
  const owner = await service.signUp()
  const made = await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })
  const { body } = await owner.get(decisions)
  const row = body.results.find(({ action }: { action: string }) => action === 'policy:create')
  t.match(row, { effect: 'allow', subject: { id: owner.id }, request_id: made.headers.get('x-request-id') })
  const stranger = await service.signUp()
  t.equal((await stranger.get(`${decisions}${row.id}/`)).status, 404)
  t.notOk(JSON.stringify((await stranger.get(decisions)).body).includes(owner.id))
})

t.test('a policy is tried without being written', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const { body: policy } = await owner.post(policies, {
    name: 'Own documents',
    effect: 'allow',
    actions: ['document:read'],
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  })
  const url = `${policies}${policy.id}/test/`
  const input = (owned: string) => ({
    subject: { id: member.id },
    action: 'document:read',
    resource: { type: 'document', id: '1', properties: { owner_id: owned } },
  })
  const { status, body } = await owner.post(url, input(member.id))
  t.equal(status, 200)
  t.match(body, {
    effect: 'allow',
    allowed: true,
    applies: true,
    missing_attributes: [],
    trace: { outcome: 'true' },
  })
  t.match((await owner.post(url, input(owner.id))).body, {
    effect: 'deny',
    applies: false,
    trace: { outcome: 'false' },
  })
  t.match((await owner.post(url, {})).body, {
    effect: 'allow',
    applies: false,
    missing_attributes: ['resource.owner_id'],
  })
  const cases = [
    { name: 'own', input: input(member.id), expect: 'allow' },
    { name: 'other', input: input(owner.id), expect: 'allow' },
  ]
  t.match((await owner.post(url, { cases })).body, {
    cases: [
      { name: 'own', effect: 'allow', expect: 'allow', passed: true },
      { name: 'other', effect: 'deny', expect: 'allow', passed: false },
    ],
    duration_us: Number,
  })
  const draft = { name: 'None', effect: 'deny', actions: ['document:*'] }
  t.match((await owner.post(url, { ...input(member.id), draft })).body, { effect: 'deny', applies: true })
  t.match(await owner.post(url, { draft: { ...draft, conditions: { attribute: 'x.y' } } }), {
    status: 422,
    body: { errors: [{ pointer: /^\/draft\/conditions/, line: 1, column: Number }] },
  })
  t.equal((await owner.get(`${policies}${policy.id}/`)).body.version, 1)
  t.equal((await member.post(url, {})).status, 403)
  const auditor = await colleague(service, owner, 'auditor')
  t.equal((await auditor.post(url, { subject: { roles: ['admin'] } })).body.effect, 'allow')
})

t.test('a preview lists the recorded decisions that would come out otherwise', async (t) => {
  const owner = await service.signUp()
  const { body: policy } = await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })
  const draft = { name: 'x', effect: 'deny', actions: ['attribute_definition:create'] }
  await owner.post('/api/v1/attribute-definitions/', { key: 'a', category: 'subject', data_type: 'ip' })
  const { status, body } = await owner.post(`${policies}${policy.id}/preview/`, { draft })
  t.equal(status, 200)
  t.match(body, {
    counts: { allow_to_deny: 1, deny_to_allow: 0 },
    flips: [{ action: 'attribute_definition:create', before: 'allow', after: 'deny' }],
  })
  t.equal(
    (await owner.post('/api/v1/attribute-definitions/', { key: 'b', category: 'subject', data_type: 'ip' }))
      .status,
    201,
  )
})
