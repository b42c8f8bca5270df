import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { type Client, startService } from '../helpers/service.ts'

t.setTimeout(120_000)
const service = await startService(t)
const policies = '/api/v1/policies/'
const leaf = (attribute: string, operator: string, value: unknown) => ({ attribute, operator, value })

t.test('denied rows are left out of a list, and the same row read alone is 403', async (t) => {
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

t.test('a change is decided by what is there, not by what the caller sends', async (t) => {
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

t.test('what is made is decided by what is sent', async (t) => {
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
  t.equal((await owner.post(departments, { name: '' })).status, 400, 'what is malformed is told first')
})

/** The body of an answer whose schema a policy has made untrue. */
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

t.test('a policy asks for a second factor before it permits', async (t) => {
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

t.test(
  'a gate that nobody can open denies, and says so; an owner changing policies is not stopped',
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

t.test('a shadow policy decides nothing', async (t) => {
  const owner = await service.signUp()
  await owner.post(policies, { name: 'x', effect: 'deny', actions: ['*'], mode: 'shadow' })
  t.equal((await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).status, 200)
})
