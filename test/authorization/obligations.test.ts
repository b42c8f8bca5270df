import fc from 'fast-check'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t)
const policies = '/api/v1/policies/'
const leaf = (attribute: string, operator: string, value: unknown) => ({ attribute, operator, value })

t.test('denied rows are left out of a list, and reading such a row alone is 403', async (t) => {
  const owner = await service.signUp()
  const hidden = await colleague(service, owner)
  const shown = await colleague(service, owner, 'auditor')
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const all = (await owner.get(members)).body.results
  await owner.post(policies, {
    name: 'Plain members stay hidden',
    effect: 'deny',
    actions: ['member:list'],
    conditions: leaf('resource.roles', 'contains', 'member'),
  })
  const { body } = await owner.get(members)
  const ids = body.results.map(({ user_id }: { user_id: string }) => user_id)
  t.same(ids, [owner.id, shown.id])
  const row = all.find(({ user_id }: { user_id: string }) => user_id === hidden.id)
  t.match(await owner.get(`${members}${row.id}/`), {
    status: 403,
    body: { reasons: [{ code: 'policy_deny' }] },
  })
  const open = all.find(({ user_id }: { user_id: string }) => user_id === shown.id)
  t.equal((await owner.get(`${members}${open.id}/`)).status, 200)
})

t.test('a change is decided by the stored values, not by those that the caller sends', async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  const member = await colleague(service, owner, 'auditor')
  const path = `/api/v1/tenants/${owner.tenantId}`
  await owner.post(policies, {
    name: 'Auditors are not touched',
    effect: 'deny',
    actions: ['member:update', 'member:delete'],
    conditions: leaf('resource.roles', 'contains', 'auditor'),
  })
  const rows = (await admin.get(`${path}/members/`)).body.results
  const of = (id: string) => rows.find(({ user_id }: { user_id: string }) => user_id === id).id
  t.equal((await admin.put(`${path}/members/${of(member.id)}/`, { roles: ['member'] })).status, 403)
  t.equal((await admin.delete(`${path}/members/${of(member.id)}/`)).status, 403)
  const other = await colleague(service, owner)
  const added = (await owner.get(`${path}/members/?user_id=${other.id}`)).body.results[0].id
  t.equal((await admin.put(`${path}/members/${added}/`, { status: 'suspended' })).status, 200)
})

t.test('a creation is decided by the values that are sent', async (t) => {
  const owner = await service.signUp()
  await owner.post(policies, {
    name: 'No secret departments',
    effect: 'deny',
    actions: ['department:create'],
    conditions: leaf('resource.name', 'starts_with', 'Secret'),
  })
  const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
  t.equal((await owner.post(departments, { name: 'Secret service' })).status, 403)
  t.equal((await owner.post(departments, { name: 'Sales' })).status, 201)
  t.equal((await owner.post(departments, { name: '' })).status, 400, 'the malformed field is reported first')
})

/** The body of an answer that does not match its schema because of a policy. */
async function unjudged({ access }: Client, path: string) {
  const response = await fetch(new URL(path, service.url), { headers: { authorization: `Bearer ${access}` } })
  return JSON.parse(await response.text())
}

t.test('masked fields are null, in lists and alone', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  await owner.post(policies, {
    name: 'Addresses are private',
    effect: 'allow',
    actions: ['user:list', 'user:read'],
    subjects: { roles: ['member'] },
    obligations: [{ type: 'mask_fields', properties: { fields: ['email', 'last_name'] } }],
  })
  const { results } = await unjudged(member, '/api/v1/users/')
  t.equal(results.length, 2)
  for (const row of results) t.match(row, { email: null, last_name: null, first_name: 'Test' })
  t.match(await unjudged(member, `/api/v1/users/${owner.id}/`), { email: null, first_name: 'Test' })
  t.match((await owner.get(`/api/v1/users/${owner.id}/`)).body, { email: owner.email })
})

t.test('a policy can require a second factor', async (t) => {
  const owner = await service.signUp()
  await owner.post(policies, {
    name: 'Departments need two factors',
    effect: 'allow',
    actions: ['department:create'],
    obligations: [{ type: 'step_up', properties: { max_age: 300 } }],
  })
  const refused = await owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name: 'Sales' })
  t.match(refused, {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal2', max_age: 300 },
  })
  t.match(refused.headers.get('www-authenticate'), /max_age="300"/)
})

/** Passes a second factor in the client's session: the code of a mail. */
async function showSecondFactor(client: Client) {
  await client.post('/api/v1/auth/otp/email/send/')
  const { text } = await service.mailTo(client.email, 'sign-in code')
  const { status } = await client.post('/api/v1/auth/otp/verify/', { code: /^\d{6}$/m.exec(text)?.[0] })
  if (status !== 200) throw new Error('The code of the mail was refused')
}

t.test('a row that needs a second factor is left out of a list, and the list has no count', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const users = '/api/v1/users/'
  t.equal((await member.get(users)).body.count, 2)
  await owner.post(policies, {
    name: 'Owners are shown after a second factor',
    effect: 'allow',
    actions: ['user:list', 'user:read'],
    subjects: { roles: ['member'] },
    conditions: leaf('resource.roles', 'contains', 'owner'),
    obligations: [{ type: 'step_up' }],
  })
  const seen = async () => (await member.get(users)).body
  t.match(await seen(), { count: null, results: [{ id: member.id }] })
  t.equal((await seen()).results.length, 1)
  t.match(await member.get(`${users}${owner.id}/`), {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal2' },
  })
  t.equal((await owner.get(users)).body.count, 2, 'the policy is not about owners')
  await showSecondFactor(member)
  t.equal((await seen()).results.length, 2)
  t.equal((await member.get(`${users}${owner.id}/`)).status, 200)
})

t.test('a step-up requires its class and its age', async (t) => {
  const owner = await service.signUp()
  const roles = `/api/v1/tenants/${owner.tenantId}/departments/`
  const { body: policy } = await owner.post(policies, {
    name: 'A sign-in of the last five minutes',
    effect: 'allow',
    actions: ['department:create'],
    obligations: [{ type: 'step_up', properties: { acr: 'aal1', max_age: 300 } }],
  })
  t.equal((await owner.post(roles, { name: 'One' })).status, 201)
  service.advance(301_000)
  t.match(await owner.post(roles, { name: 'Two' }), {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal1', max_age: 300 },
  })
  await showSecondFactor(owner)
  t.equal((await owner.post(roles, { name: 'Two' })).status, 201, 'a second factor renews the sign-in')
  const unknown = { obligations: [{ type: 'step_up', properties: { acr: 'aal3' } }] }
  t.match(await owner.put(`${policies}${policy.id}/`, unknown), {
    status: 422,
    body: { errors: [{ pointer: '/obligations/0/properties/acr' }] },
  })
})

t.test(
  'an allow that cannot grant its action adds no obligations, and its author gets a warning',
  async (t) => {
    const owner = await service.signUp()
    const { body } = await owner.post(policies, {
      name: 'Two factors for everything',
      effect: 'allow',
      actions: ['member:list', 'role:list', 'department:list'],
      obligations: [{ type: 'step_up' }, { type: 'mask_fields', properties: { fields: ['email', 'name'] } }],
    })
    t.same(
      body.warnings.map(({ code }: { code: string }) => code),
      ['not_grantable', 'not_grantable', 'not_grantable'],
    )
    const members = await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)
    t.match(members, { status: 200, body: { count: 1, results: [{ email: owner.email }] } })
  },
)

const fields = ['email', 'roles', 'status', 'invited_by', 'invited_by.email', 'last_name']
const obligation = fc.oneof(
  fc
    .subarray(fields, { minLength: 1 })
    .map((masked) => ({ type: 'mask_fields', properties: { fields: masked } })),
  fc
    .record(
      { acr: fc.constantFrom('aal1', 'aal2'), max_age: fc.constantFrom(60, 100_000) },
      { requiredKeys: [] },
    )
    .map((properties) => ({ type: 'step_up', properties })),
)
const condition = fc.option(
  fc.constantFrom(
    leaf('resource.roles', 'contains', 'member'),
    leaf('resource.email', 'ends_with', '@example.com'),
    leaf('resource.email', 'starts_with', 'guest1'),
    { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
    leaf('subject.acr', 'eq', 'aal1'),
  ),
  { freq: 1 },
)
const rule = fc.record({
  effect: fc.constantFrom('allow', 'allow', 'allow', 'allow', 'deny'),
  subjects: fc.constantFrom({}, {}, { roles: ['member'] }, { roles: ['auditor'] }),
  conditions: condition,
  obligations: fc.array(obligation, { maxLength: 2 }),
})
const shown = leaf('resource.roles', 'contains', 'member')
const stepUp = [{ type: 'step_up', properties: {} }]
/** One of each kind, so that every outcome occurs even with few generated rules. */
const kinds: object[] = [
  { effect: 'deny', subjects: {}, conditions: shown, obligations: [] },
  { effect: 'deny', subjects: {}, conditions: null, obligations: [] },
  { effect: 'allow', subjects: {}, conditions: shown, obligations: stepUp },
  { effect: 'allow', subjects: {}, conditions: null, obligations: stepUp },
]
const agreements = Number(process.env.AGREEMENT_RUNS ?? 15)

t.test('with any policies, a list has the rows that can be read alone, with the same content', async (t) => {
  const owner = await service.signUp()
  const [weak, strong] = [await colleague(service, owner), await colleague(service, owner)]
  await showSecondFactor(strong)
  service.advance(400_000)
  const invitations = `/api/v1/tenants/${owner.tenantId}/invitations/`
  for (const name of ['guest1', 'guest2'])
    await owner.post(invitations, { email: `${name}.${process.pid}@example.com` })
  const lists = [
    { path: '/api/v1/users/', ids: [owner.id, weak.id, strong.id] },
    {
      path: invitations,
      ids: (await owner.get(invitations)).body.results.map(({ id }: { id: string }) => id),
    },
  ]
  const asked = async (client: Client, path: string) => {
    const response = await fetch(new URL(path, service.url), {
      headers: { authorization: `Bearer ${client.access}` },
    })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const met: Record<string, number> = {}
  const agree = async (client: Client, { path, ids }: (typeof lists)[number]) => {
    const list = await asked(client, path)
    const rows = new Map<string, unknown>(list.body.results?.map((row: { id: string }) => [row.id, row]))
    for (const id of ids) {
      const alone = await asked(client, `${path}${id}/`)
      met[`${list.status} ${alone.status}`] = (met[`${list.status} ${alone.status}`] ?? 0) + 1
      const same = alone.status === 200 ? rows.has(id) : !rows.has(id)
      if (!same) throw new Error(`${path} ${list.status} ${[...rows.keys()]}, alone ${alone.status} ${id}`)
      if (alone.status === 200) t.same(rows.get(id), alone.body)
    }
    if (list.status === 200 && rows.size < ids.length) t.equal(list.body.count, null)
  }
  const details = ['user:read', 'invitation:list']
  const drawn = fc.constantFrom([...details, 'user:list'], details)
  const generated: fc.Arbitrary<object[]> = fc.array(rule, { minLength: 1, maxLength: 3 })
  const property = fc.asyncProperty(generated, drawn, async (rules, actions) => {
    const made = []
    for (const each of rules) made.push(await owner.post(policies, { name: 'x', actions, ...each }))
    for (const client of [weak, strong]) for (const list of lists) await agree(client, list)
    for (const { body } of made) await owner.delete(`${policies}${body.id}/`)
  })
  const examples = kinds.map((kind): [object[], string[]] => [[kind], details])
  await fc.assert(property, { seed: 20_261_121, numRuns: agreements, endOnFailure: true, examples })
  for (const outcome of ['200 200', '200 401', '200 403', '401 401', '403 403'])
    t.ok(met[outcome], `${outcome} ${JSON.stringify(met)}`)
})

t.test(
  'a gate without possible approvers denies with that reason; an owner can still change policies',
  async (t) => {
    const owner = await service.signUp()
    const admin = await colleague(service, owner, 'admin')
    const gate = {
      name: 'Four eyes',
      effect: 'require_approval',
      actions: ['role:create', 'policy:create'],
      approval: { approver: { roles: ['auditor'] } },
    }
    t.equal((await owner.post(policies, gate)).status, 201)
    const role = { name: 'x', permissions: [] }
    const refused = await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, role)
    t.match(refused, {
      status: 403,
      body: {
        code: 'permission_denied',
        reasons: [{ code: 'no_eligible_approver' }, { code: 'policy_gate' }],
      },
    })
    t.equal((await admin.post(policies, gate)).status, 403)
    t.equal((await owner.post(policies, gate)).status, 201)
  },
)

t.test('a role that a policy names cannot be deleted', async (t) => {
  const owner = await service.signUp()
  const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
  const { body: role } = await owner.post(roles, { name: 'Contractor', permissions: ['doc:read'] })
  const policy = await owner.post(policies, {
    name: 'x',
    effect: 'deny',
    actions: ['doc:read'],
    subjects: { roles: ['contractor'] },
  })
  t.same(policy.body.subjects.roles, ['Contractor'])
  t.match(await owner.delete(`${roles}${role.id}/`), { status: 409, body: { code: 'role_in_use' } })
  t.equal((await owner.put(`${roles}${role.id}/`, { name: 'Guest' })).status, 200)
  t.same((await owner.get(`${policies}${policy.body.id}/`)).body.subjects.roles, ['Guest'])
  await owner.delete(`${policies}${policy.body.id}/`)
  t.equal((await owner.delete(`${roles}${role.id}/`)).status, 204)
})

t.test('a shadow policy does not affect decisions', async (t) => {
  const owner = await service.signUp()
  await owner.post(policies, { name: 'x', effect: 'deny', actions: ['*'], mode: 'shadow' })
  t.equal((await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).status, 200)
})
