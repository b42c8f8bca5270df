import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { type Client, tokenIn } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { wrongCounts } from '../tenancy/staff.ts'

const service = await sharedService(t)
const begun = service.now()
const roles = (client: Client) => `/api/v1/tenants/${client.tenantId}/roles/`
const policies = '/api/v1/policies/'

const denyInvitations = {
  name: 'Nobody invites at night',
  effect: 'deny',
  actions: ['member:list'],
}

t.test('a policy applies from the next request on, until it is deleted', async (t) => {
  const owner = await service.signUp()
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  t.equal((await owner.get(members)).status, 200)

  const made = await owner.post(policies, denyInvitations)
  t.equal(made.status, 201)
  t.match(made.body, {
    name: 'Nobody invites at night',
    kind: 'json',
    effect: 'deny',
    actions: ['member:list'],
    resource_types: [],
    subjects: { roles: [], departments: [], users: [] },
    conditions: null,
    obligations: [],
    mode: 'enforce',
    priority: 0,
    valid_from: null,
    valid_until: null,
    is_active: true,
    version: 1,
    created_by: owner.id,
    warnings: [],
  })

  const refused = await owner.get(members)
  t.equal(refused.status, 403)
  t.match(refused.body, {
    code: 'permission_denied',
    decision_id: String,
    reasons: [{ code: 'policy_deny', layer: 'policy', policy_id: made.body.id }],
  })
  t.notOk('matched' in refused.body, 'only callers who can read policies see their names')

  t.equal((await owner.delete(`${policies}${made.body.id}/`)).status, 204)
  t.equal((await owner.get(members)).status, 200)
  t.equal((await owner.get(`${policies}${made.body.id}/`)).status, 404)
})

t.test('a policy about a role applies to its holders only, also after the role is renamed', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const made = await owner.post(policies, {
    ...denyInvitations,
    subjects: { roles: ['Member'] },
  })
  t.equal(made.status, 201)
  t.strictSame(made.body.subjects.roles, ['member'])
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  t.equal((await member.get(members)).status, 403)
  t.equal((await owner.get(members)).status, 200)
})

t.test('a deny overrides an allow, and an allow grants only actions that it can grant', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  t.equal((await member.get('/api/v1/attribute-definitions/')).status, 403)
  const allow = await owner.post(policies, {
    name: 'All may read the attributes',
    effect: 'allow',
    actions: ['attribute_definition:list', 'policy:list'],
  })
  t.match(allow.body.warnings, [{ code: 'not_grantable', pointer: '/actions/1', detail: /roles only/ }])
  t.equal((await member.get('/api/v1/attribute-definitions/')).status, 200)
  t.equal((await member.get(policies)).status, 403)
  await owner.post(policies, {
    name: 'But nobody does',
    effect: 'deny',
    actions: ['attribute_definition:*'],
  })
  t.equal((await member.get('/api/v1/attribute-definitions/')).status, 403)
})

t.test('an address proves nothing until it is verified', async (t) => {
  const owner = await service.signUp()
  const clerk = await colleague(service, owner)
  const conditions = { attribute: 'subject.email', operator: 'ends_with', value: '@example.com' }
  const body = { name: 'Our own', effect: 'allow', actions: ['report:read'], conditions }
  t.equal((await owner.post(policies, body)).status, 201)
  const question = {
    subject: { type: 'user', id: clerk.id },
    action: { name: 'read' },
    resource: { type: 'report', id: '1' },
  }
  const decision = async () => (await owner.post('/access/v1/evaluation', question)).body.decision
  t.equal(await decision(), false)
  const token = tokenIn(await service.mailTo(clerk.email, 'Confirm'))
  await service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } })
  t.equal(await decision(), true)
})

t.test('a deny never blocks an owner from policies, or anyone from their own profile', async (t) => {
  const owner = await service.signUp()
  t.equal(
    (await owner.post(policies, { name: 'Nothing at all', effect: 'deny', actions: ['*'] })).status,
    201,
  )
  const { status, body } = await owner.get(policies)
  t.equal(status, 200)
  t.equal(body.count, 1)
  t.equal((await owner.get('/api/v1/users/me/')).status, 200)
  t.equal((await owner.get('/api/v1/tenants/')).status, 200)
  t.equal((await owner.get(roles(owner))).status === 200, false)
  t.equal((await owner.put(`${policies}${body.results[0].id}/`, { is_active: false })).status, 200)
  t.equal((await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).status, 200)
  t.equal((await owner.delete(`${policies}${body.results[0].id}/`)).status, 204)
})

t.test('each change is a version, and an earlier version can be restored', async (t) => {
  const owner = await service.signUp()
  const { body: first } = await owner.post(policies, { ...denyInvitations, change_reason: 'Audit 7' })
  const url = `${policies}${first.id}/`
  const second = await owner.patch(url, { effect: 'allow', actions: ['doc:read'] })
  t.match(second.body, { version: 2, effect: 'allow', name: denyInvitations.name })
  t.not(second.body.checksum, first.checksum)
  const third = await owner.post(`${url}rollback/`, { version: 1 })
  t.match(third.body, { version: 3, effect: 'deny', checksum: first.checksum })
  const versions = await owner.get(`${url}versions/`)
  t.match(versions.body.results, [
    { version: 3, reason: 'Back to version 1', effect: 'deny' },
    { version: 2, effect: 'allow', actions: ['doc:read'] },
    { version: 1, reason: 'Audit 7', author: { id: owner.id, email: owner.email } },
  ])
  t.equal((await owner.post(`${url}rollback/`, { version: 9 })).status, 404)
  const audit = await owner.get(`/api/v1/audit-log/?target_id=${first.id}`)
  t.match(audit.body.results, [
    { action: 'policy:update', changes: { effect: { before: 'allow', after: 'deny' } } },
    { action: 'policy:update', changes: { effect: { before: 'deny', after: 'allow' } } },
    { action: 'policy:create', actor: { id: owner.id } },
  ])
})

t.test('a policy applies between valid_from and valid_until', async (t) => {
  const owner = await service.signUp()
  const at = (seconds: number) => new Date(service.now() + seconds * 1000).toISOString()
  const made = await owner.post(policies, { ...denyInvitations, valid_from: at(60), valid_until: at(120) })
  t.equal(made.status, 201)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  t.equal((await owner.get(members)).status, 200)
  service.advance(60_000)
  t.equal((await owner.get(members)).status, 403)
  service.advance(60_000)
  t.equal((await owner.get(members)).status, 200)
  const reversed = await owner.post(policies, {
    ...denyInvitations,
    valid_from: at(120),
    valid_until: at(60),
  })
  t.match(reversed, { status: 400, body: { errors: [{ field: 'valid_until' }] } })
})

t.test('a fault in the rules is 422 with its position, in a plain field 400', async (t) => {
  const owner = await service.signUp()
  const text = `{"name": "x", "effect": "deny", "actions": ["doc:read"],
  "conditions": {"all": [
    {"attribute": "subject.email_verified", "operator": "eq", "value": true},
    {"attribute": "subject.shoe_size", "operator": "eq", "value": 43}]}}`
  const refused = await owner.post(policies, text)
  t.equal(refused.status, 422)
  t.match(refused.body, {
    code: 'policy_invalid',
    errors: [{ code: 'unknown_attribute', pointer: /^\/conditions\/all\/1/, line: 4, column: Number }],
  })
  t.equal(refused.body.errors[0].line, 4)
  for (const [field, value] of Object.entries({
    name: '',
    effect: 'maybe',
    actions: ['member:fly'],
    mode: 'on',
    priority: 1.5,
    valid_from: 'soon',
    is_active: 'yes',
    kind: 'yaml',
    resource_types: ['A B'],
  })) {
    const { status, body } = await owner.post(policies, { ...denyInvitations, [field]: value })
    t.equal(status, 400, field)
    t.match(body.errors[0].field, new RegExp(`^${field}`))
  }
})

t.test(
  'members cannot read policies, auditors cannot write them; ids of other tenants are 404',
  async (t) => {
    const owner = await service.signUp()
    const { body: policy } = await owner.post(policies, denyInvitations)
    const member = await colleague(service, owner)
    const auditor = await colleague(service, owner, 'auditor')
    const stranger = await service.signUp()
    const url = `${policies}${policy.id}/`
    t.equal((await member.get(url)).status, 403)
    t.equal((await member.post(policies, {})).status, 403)
    t.equal((await auditor.get(url)).status, 200)
    t.equal((await auditor.put(url, {})).status, 403)
    for (const call of [stranger.get(url), stranger.put(url, { name: 'y' }), stranger.delete(url)])
      t.equal((await call).status, 404)
    t.equal((await stranger.get(policies)).body.count, 0)
  },
)

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service, begun), [])
})

t.test('of many faults the first ones are reported', async (t) => {
  const owner = await service.signUp()
  const roles = Array.from({ length: 200 }, (_, n) => `Missing ${n}`)
  const policy = { name: 'Many', effect: 'allow', actions: ['ship:steer'], subjects: { roles } }
  const few = await owner.post('/api/v1/policies/', policy)
  t.match(few, { status: 422, body: { code: 'policy_invalid' } })
  t.same([few.body.errors.length, few.body.errors[49].pointer], [50, '/subjects/roles/49'])
  const long = await owner.post('/api/v1/policies/', { ...policy, checksum: 'x'.repeat(240_000) })
  t.equal(long.status, 422)
  t.equal(long.body.errors.length, 4, 'fewer in a long text')
})
