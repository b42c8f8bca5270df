import pg from 'pg'
import t from 'tap'
import { workBudget, workLimits } from '../../src/limits/work-budget.ts'
import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { startService } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const policies = '/api/v1/policies/'

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

const membersOf = async (owner: Client): Promise<Json[]> =>
  (await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).body.results
const pathTo = async (owner: Client, member: Client) => {
  const found = (await membersOf(owner)).find(({ user_id }) => user_id === member.id)
  return `/api/v1/permissions/?member_id=${found.id}`
}
const permissionsOf = async (owner: Client, member: Client): Promise<Record<string, Json>> => {
  const { status, body } = await owner.get(await pathTo(owner, member))
  if (status !== 200 || !body.complete) throw new Error(JSON.stringify(body))
  return Object.fromEntries(body.permissions.map((one: Json) => [one.permission, one]))
}
async function policyOf(owner: Client, policy: object): Promise<Json> {
  const { status, body } = await owner.post(policies, { name: 'Rule', ...policy })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}

t.test('an owner is permitted everything, and nothing is written about it', async (t) => {
  const owner = await service.signUp()
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  t.teardown(() => client.end())
  const path = await pathTo(owner, owner)
  const rows = async () =>
    (await client.query('select count(*)::int as n from decisions where tenant_id = $1', [owner.tenantId]))
      .rows[0].n
  const before = await rows()
  const { body } = await owner.get(path)
  t.ok(body.permissions.length > 50)
  for (const { permission, permitted, approval, depends_on } of body.permissions)
    t.same(
      { permitted, approval, depends_on },
      { permitted: 'always', approval: 'never', depends_on: [] },
      permission,
    )
  t.equal(await rows(), before)
})

t.test('roles permit always, for own objects, or never', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const role = await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, {
    name: 'Clerk',
    permissions: ['invoice:list', 'order:*', 'webhook:list'],
  })
  t.equal(role.status, 201)
  const clerk = await colleague(service, owner, 'Clerk')
  t.match(await permissionsOf(owner, member), {
    'policy:create': { permitted: 'never', reasons: [{ code: 'missing_permission' }] },
    'member:list': { permitted: 'always', reasons: [{ code: 'role_grant' }] },
    'decision:read': {
      permitted: 'sometimes',
      reasons: [{ code: 'not_owner' }],
      depends_on: ['resource.owner_id'],
    },
  })
  t.match(await permissionsOf(owner, clerk), {
    'invoice:list': { permitted: 'always' },
    'order:*': { permitted: 'always' },
    'webhook:list': { permitted: 'always' },
    'webhook:create': { permitted: 'never' },
  })
})

t.test('policies take away, add, and ask for approvals: always or in some cases', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const define = (category: string, key: string, data_type: string) =>
    owner.post('/api/v1/attribute-definitions/', { category, key, data_type })
  await define('resource', 'amount', 'integer')
  await define('subject', 'level', 'integer')
  const large = { attribute: 'resource.amount', operator: 'gt', value: 100 }
  const night = { attribute: 'environment.hour', operator: 'lt', value: 6 }
  const never = await policyOf(owner, { name: 'Closed', effect: 'deny', actions: ['webhook:list'] })
  await policyOf(owner, { effect: 'deny', actions: ['policy:create'], subjects: { users: [member.id] } })
  await policyOf(owner, { name: 'Night', effect: 'deny', actions: ['role:create'], conditions: night })
  const some = await policyOf(owner, { effect: 'deny', actions: ['invoice:pay'], conditions: large })
  await policyOf(owner, { effect: 'allow', actions: ['invoice:read'], conditions: large })
  await policyOf(owner, { effect: 'require_approval', actions: ['department:create'] })
  await policyOf(owner, { effect: 'require_approval', actions: ['invoice:send'], conditions: large })
  const level = { attribute: 'subject.level', operator: 'gte', value: 3 }
  await policyOf(owner, { effect: 'deny', actions: ['event:list'], conditions: level })
  await policyOf(owner, { effect: 'deny', mode: 'shadow', actions: ['role:list'] })
  await policyOf(owner, { effect: 'deny', actions: ['audit:list'], is_active: false })

  const ofOwner = await permissionsOf(owner, owner)
  t.match(ofOwner, {
    'webhook:list': {
      permitted: 'never',
      reasons: [{ code: 'policy_deny', policy_id: never.id }],
      matched: [{ policy_id: never.id, name: 'Closed' }],
    },
    'policy:create': { permitted: 'always' },
    'role:create': { permitted: 'sometimes', matched: [{ name: 'Night' }], depends_on: ['environment.hour'] },
    'invoice:pay': {
      permitted: 'sometimes',
      reasons: [{ code: 'policy_deny', policy_id: some.id }],
      depends_on: ['resource.amount'],
    },
    'invoice:read': { permitted: 'always', matched: [] },
    'department:create': { permitted: 'always', approval: 'always' },
    'invoice:send': { permitted: 'always', approval: 'sometimes', depends_on: ['resource.amount'] },
    'event:list': { permitted: 'never' },
    'role:list': { permitted: 'always', matched: [] },
    'audit:list': { permitted: 'always' },
  })
  t.match(
    await permissionsOf(owner, member),
    {
      'invoice:read': { permitted: 'sometimes', depends_on: ['resource.amount'] },
      'invoice:send': { permitted: 'never', approval: 'never' },
    },
    'an allow adds for some objects',
  )
  const { id } = (await membersOf(owner)).find(({ user_id }) => user_id === owner.id)
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/members/${id}/`, { attributes: { level: 1 } })
  t.match(
    await permissionsOf(owner, owner),
    { 'event:list': { permitted: 'always' } },
    'what is known decides',
  )
})

t.test('a suspended member is permitted nothing', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const { id } = (await membersOf(owner)).find(({ user_id }) => user_id === member.id)
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/members/${id}/`, { status: 'suspended' })
  for (const { permitted, reasons } of Object.values(await permissionsOf(owner, member)))
    t.match({ permitted, reasons }, { permitted: 'never', reasons: [{ code: 'no_active_membership' }] })
})

t.test('members see their own permissions, without the policies', async (t) => {
  const owner = await service.signUp()
  const [member, other] = [await colleague(service, owner), await colleague(service, owner)]
  await owner.post('/api/v1/attribute-definitions/', {
    category: 'subject',
    key: 'level',
    data_type: 'integer',
  })
  const conditions = { attribute: 'subject.level', operator: 'gt', value: 1 }
  await policyOf(owner, { name: 'Secret rule', effect: 'allow', actions: ['invoice:read'], conditions })
  const own = await member.get(await pathTo(owner, member))
  t.equal(own.status, 200)
  const invoice = own.body.permissions.find(({ permission }: Json) => permission === 'invoice:read')
  t.match(invoice, { permitted: 'sometimes', depends_on: [], matched: [] })
  t.notOk(JSON.stringify(own.body).includes('Secret rule'))
  t.match(await member.get(await pathTo(owner, other)), { status: 403, body: { code: 'permission_denied' } })
  const stranger = await service.signUp()
  t.equal((await stranger.get(await pathTo(owner, member))).status, 404)
  t.same((await member.get('/api/v1/permissions/')).body, own.body, 'one’s own are the default')
  t.match(await owner.get(`/api/v1/permissions/?member_id=${member.id}`), {
    status: 404,
    body: { code: 'not_found', detail: /the id of the membership, not of the user\.$/ },
  })
  t.match(await member.get('/api/v1/permissions/?member_id=x'), {
    status: 400,
    body: { errors: [{ field: 'member_id' }] },
  })
})

const opa = await resolveOpa({
  install: process.env.CI === 'true',
  print: (line: string) => t.comment(line),
}).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message

t.test(
  'what a rule of the installation permits after a fresh second factor is permitted sometimes',
  { skip },
  async (t) => {
    const rules = `package authz.platform.careful

deny contains "Show a second factor." if {
\tinput.action == "webhook:create"
\tinput.attrs["subject.acr"] != "aal2"
}

deny contains "Sign in again." if {
\tinput.action == "role:create"
\tinput.attrs["subject.auth_age"] > 600
}

deny contains "Never." if input.action == "role:delete"
`
    const env = { POLICIES_DIR: t.testdir({ 'careful.rego': rules }), OPA_PATH: String(opa) }
    const strict = await startService(t, { env, workers: false })
    const owner = await strict.signUp()
    const expected = {
      'webhook:create': {
        permitted: 'sometimes',
        reasons: [{ code: 'platform_rule' }],
        depends_on: ['subject.acr'],
      },
      'role:create': { permitted: 'sometimes', depends_on: ['subject.auth_age'] },
      'role:delete': { permitted: 'never', depends_on: [] },
      'webhook:list': { permitted: 'always', depends_on: [] },
    }
    t.match(await permissionsOf(owner, owner), expected)
    const { body: account } = await owner.post('/api/v1/service-accounts/', {
      name: 'Program',
      roles: ['admin'],
    })
    const { body } = await owner.get(`/api/v1/permissions/?member_id=${account.id}`)
    const ofAccount = Object.fromEntries(body.permissions.map((one: Json) => [one.permission, one]))
    t.match(ofAccount, { 'webhook:create': { permitted: 'never' } }, 'a key has no second factor')
  },
)

t.test('members see that a second factor decides about their own permissions', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const conditions = { attribute: 'subject.acr', operator: 'ne', value: 'aal2' }
  await policyOf(owner, { effect: 'deny', actions: ['member:list'], conditions })
  const { body } = await member.get('/api/v1/permissions/')
  const list = body.permissions.find(({ permission }: Json) => permission === 'member:list')
  t.match(list, { permitted: 'sometimes', depends_on: ['subject.acr'] })
})

t.test('a person’s lists are decided one at a time; what waits beyond the limit is refused', async (t) => {
  const owner = await service.signUp()
  const path = await pathTo(owner, owner)
  const { promise: turn, resolve: release } = Promise.withResolvers<void>()
  const held = workBudget.inTurn('permissions', { userId: owner.id, tenantId: owner.tenantId }, () => turn)
  const asked = Array.from({ length: workLimits.permissions.maxWaiting + 1 }, () => owner.get(path))
  t.match(await Promise.race(asked), { status: 503, body: { code: 'overloaded' } })
  release()
  await held
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, workLimits.permissions.maxWaiting)
})
