import { randomUUID } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { cpuTime } from '../helpers/cpu-time.ts'
import { type Client, startService } from '../helpers/service.ts'
import { look } from '../tenancy/staff.ts'

const service = await startService(t)
const owner = await service.signUp()
const policies = '/api/v1/policies/'
const base = { name: 'x', effect: 'allow', actions: ['doc:read'] }
const leaf = { attribute: 'subject.email', operator: 'eq', value: 'a' }

const nested = (depth: number, inside: unknown): unknown =>
  depth === 0 ? inside : { all: [nested(depth - 1, inside)] }

const rules: [string, object, string?][] = [
  ['conditions five levels deep', { conditions: nested(5, leaf) }, 'too_large'],
  ['65 comparisons', { conditions: { all: Array(65).fill(leaf) } }, 'too_large'],
  ['257 list items', { conditions: { ...leaf, operator: 'in', value: Array(257).fill('a') } }, 'too_large'],
  ['more than 16 KiB', { conditions: { ...leaf, value: 'x'.repeat(17_000) } }, 'too_large'],
  [
    'a pattern that costs 134 ms',
    { conditions: { ...leaf, operator: 'matches', value: '(?i)\\pL{300}' } },
    'too_costly',
  ],
  [
    'a pattern of nested repetitions',
    { conditions: { ...leaf, operator: 'matches', value: '(.{32}){31}' } },
    'too_costly',
  ],
  ['an invalid pattern', { conditions: { ...leaf, operator: 'matches', value: '[' } }],
  ['a pattern with \\C', { conditions: { ...leaf, operator: 'matches', value: '\\C' } }],
  ['a pattern with (?<', { conditions: { ...leaf, operator: 'matches', value: '(?<n>a)' } }],
  ['a lookahead', { conditions: { ...leaf, operator: 'matches', value: '(?=a)' } }],
  ...[
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
    '10.0.0.0/x',
    '10.0.0.0/+8',
    '10.0.0.0/8/9',
    '10.0.0.0/255.0.0.0',
    '10.0.0.0/33',
    '::ffff:0:0/96',
  ].map((value): [string, object] => [
    `the network "${value}"`,
    { conditions: { attribute: 'environment.ip', operator: 'in_cidr', value } },
  ]),
  ['an unknown attribute', { conditions: { ...leaf, attribute: 'subject.__proto__' } }, 'unknown_attribute'],
  ['an attribute without category', { conditions: { ...leaf, attribute: 'email' } }, 'unknown_attribute'],
  ['an operator of another type', { conditions: { ...leaf, operator: 'lt' } }, 'operator_not_allowed'],
  ['an unknown operator', { conditions: { ...leaf, operator: 'eval' } }],
  ['a value of another type', { conditions: { ...leaf, value: 7 } }, 'type_mismatch'],
  ['two kinds of group at once', { conditions: { all: [leaf], any: [leaf] } }],
  ['a group without a list', { conditions: { all: leaf } }],
  ['conditions that are a text', { conditions: 'true' }],
  ['an unknown role', { subjects: { roles: ['nobody'] } }, 'unknown_role'],
  ['a malformed user', { subjects: { users: ['me'] } }, 'malformed_id'],
  ['a quorum of none', { effect: 'require_approval', approval: { quorum: 0 } }],
  ['a quorum of 21', { effect: 'require_approval', approval: { quorum: 21 } }],
  ['approvers without a role', { effect: 'require_approval', approval: { approver: { roles: [] } } }],
  ['an unknown obligation of the service', { actions: ['member:list'], obligations: [{ type: 'notify' }] }],
]

t.test('hostile rules are 422, each with its position', async (t) => {
  for (const [what, more, code] of rules) {
    const { status, body } = await owner.post(policies, { ...base, ...more })
    t.equal(status, 422, what)
    t.equal(body.code, 'policy_invalid', what)
    t.match(
      body.errors[0],
      { pointer: String, line: 1, column: Number, detail: String, ...(code && { code }) },
      what,
    )
  }
  t.equal((await owner.get(policies)).body.count, 0)
})

t.test('bodies that are not policies are refused before they are parsed', async (t) => {
  const large = await owner.post(policies, JSON.stringify({ ...base, description: 'x'.repeat(10_000_000) }))
  t.equal(large.status, 413)
  t.equal((await owner.post(policies, `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`)).status, 400)
  t.equal(
    (await owner.post(policies, '{"name":"\\ud800","effect":"deny","actions":["doc:read"]}')).status,
    400,
  )
  t.equal((await owner.post(policies, { ...base, name: 'a\0b' })).status, 400)
  t.equal((await owner.post(policies, { ...base, actions: ['Member:List'] })).status, 400)
  t.equal((await owner.post(policies, { ...base, actions: [] })).status, 400)
  t.equal((await owner.post(policies, { ...base, actions: Array(257).fill('doc:read') })).status, 400)
})

t.test('the cost of one decision is limited over all policies that it evaluates', async (t) => {
  const slow = Array.from({ length: 12 }, (_, n) => ({
    ...leaf,
    operator: 'matches',
    value: `^.*${n}.*[a-z]+.*$`,
  }))
  let refused: Awaited<ReturnType<Client['post']>> | undefined
  for (let n = 0; n < 60 && !refused; n++) {
    const answer = await owner.post(policies, { ...base, conditions: { any: slow } })
    if (answer.status !== 201) refused = answer
  }
  t.match(refused, { status: 422, body: { errors: [{ pointer: '/conditions' }] } })
  const question = {
    subject: { type: 'user', id: 'a' },
    action: { name: 'read' },
    resource: { type: 'doc', id: '1' },
  }
  const ms = await cpuTime(async () => {
    t.equal((await owner.post('/access/v1/evaluation', question)).body.decision, false)
  })
  t.ok(ms < 500, `${ms} ms`)
})

const numbered = (count: number) => Array.from({ length: count }, () => randomUUID())
const aboutMany = (more: object = {}) => ({
  name: 'About many people',
  effect: 'deny',
  actions: ['*'],
  subjects: { users: numbered(180) },
  conditions: { attribute: 'subject.email', operator: 'in', value: numbered(190) },
  ...more,
})

t.test('eight policies about 180 people each work like any others', async (t) => {
  const tenant = await service.signUp()
  for (let n = 0; n < 8; n++) t.equal((await tenant.post(policies, aboutMany())).status, 201)
  const ms = await cpuTime(async () => {
    t.equal((await tenant.get(`/api/v1/tenants/${tenant.tenantId}/members/`)).status, 200)
  })
  t.ok(ms < 500, `${ms} ms`)
  t.equal((await tenant.get(policies)).body.count, 8)
})

t.test('every write of a policy measures the slices that contain it', async (t) => {
  const tenant = await service.signUp()
  const wide = (more: object = {}) => aboutMany({ actions: ['doc:*'], ...more })
  const make = async (body: object) => (await tenant.post(policies, body)).body.id as string
  const shrunk = await make(wide())
  const url = `${policies}${shrunk}/`
  t.equal((await tenant.patch(url, { subjects: {}, conditions: null })).status, 200)
  const idle = await make(wide({ is_active: false }))
  let refused: Awaited<ReturnType<Client['post']>> | undefined
  for (let n = 0; n < 20 && !refused; n++) {
    const answer = await tenant.post(policies, wide({ actions: ['doc:read', `doc:x${n}`] }))
    if (answer.status !== 201) refused = answer
  }
  const tooLarge = {
    status: 422,
    body: {
      code: 'policy_invalid',
      errors: [
        { code: 'too_large', detail: /doc:read would take \d{6} bytes together; the limit is 262144/ },
      ],
    },
  }
  t.match(refused, tooLarge, 'created')
  t.match(await tenant.put(`${policies}${idle}/`, { is_active: true }), tooLarge, 'activated')
  t.match(await tenant.post(`${url}rollback/`, { version: 1 }), tooLarge, 'rolled back')
  t.match(await tenant.put(url, wide()), tooLarge, 'changed')
  t.match(await tenant.post(`${url}test/`, { draft: wide() }), tooLarge, 'tried')
  t.equal(
    (await tenant.post(policies, wide({ actions: ['other:read'] }))).status,
    201,
    'not in the same slice',
  )
  t.equal((await tenant.delete(`${policies}${shrunk}/`)).status, 204)
})

t.test('policies that cannot be evaluated block a tenant, but its owner can repair them', async (t) => {
  const tenant = await service.signUp()
  const admin = await colleague(service, tenant, 'admin')
  const { body: policy } = await tenant.post(policies, aboutMany())
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  t.teardown(() => client.end())
  // A release that did not measure slices could have stored this.
  await client.query(
    `update policies set compiled = jsonb_set(compiled, '{subjects,users}',
       (select jsonb_agg(gen_random_uuid()) from generate_series(1, 20000))) where id = $1`,
    [policy.id],
  )
  await client.query('update tenants set policy_revision = policy_revision + 1 where id = $1', [
    tenant.tenantId,
  ])
  const members = `/api/v1/tenants/${tenant.tenantId}/members/`
  const closed = { status: 503, body: { code: 'authorization_unavailable' } }
  t.match(await tenant.get(members), closed)
  const ms = await cpuTime(async () => {
    t.match(await tenant.get(members), closed)
  })
  t.ok(ms < 150, `a slice that is too large is not evaluated: ${ms} ms`)
  t.match(await admin.get(policies), closed)
  t.equal((await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).status, 200)
  t.equal((await tenant.get(policies)).body.count, 1)
  t.equal((await tenant.get(`${policies}${policy.id}/`)).status, 200)
  t.equal((await tenant.delete(`${policies}${policy.id}/`)).status, 204)
  t.equal((await tenant.get(members)).status, 200)
  t.equal((await admin.get(policies)).status, 200)
})

t.test('questions about types and actions that no policy names share one slice', async (t) => {
  const tenant = await service.signUp()
  await tenant.post(policies, aboutMany({ actions: ['doc:*'] }))
  await tenant.post(policies, { ...base, resource_types: ['page'] })
  let revision = 0
  for (let n = 0; n < 20; n++) {
    const { body } = await tenant.post('/access/v1/evaluation', {
      subject: { type: 'user', id: 'a' },
      action: { name: `doc:x${n}` },
      resource: { type: `type-${n}`, id: '1' },
    })
    revision = body.context.policy_revision
  }
  const kept = await service.deps.policyCache.load({ tenantId: tenant.tenantId, userId: tenant.id }, revision)
  const slice = (type: string, action: string) => kept.slice(type, action, service.now())
  t.equal(slice('type-1', 'doc:x1'), slice('type-21', 'doc:x21'))
  t.equal(
    slice('type-1', 'doc:x1'),
    slice('page', 'doc:x1'),
    'a name that adds no policy does not create a slice',
  )
  t.not(slice('type-1', 'doc:x1'), slice('page', 'doc:read'))
  t.equal(slice('type-1', 'other:x1').text, slice('page', 'other:x2').text)
})

t.test('without an answer of the engine access is denied, and the next request works', async (t) => {
  const { access } = service.deps
  const { decide } = access
  const broken = { ...access }
  t.teardown(() => Object.assign(access, broken))
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const odd = {
    ...service.deps.access,
    decide: (query: Parameters<typeof decide>[0]) =>
      decide({ ...query, slice: { ...query.slice, text: '{' } }),
  }
  Object.assign(access, odd)
  const refused = await owner.get(members)
  t.match(refused, { status: 503, body: { code: 'authorization_unavailable' } })
  t.ok(Number(refused.headers.get('retry-after')) > 0)
  Object.assign(access, broken)
  t.equal((await owner.get(members)).status, 200)
})

t.test('policies are limited to 500', async (t) => {
  const many = await service.signUp()
  const make = () => many.post(policies, { ...base, is_active: false })
  t.equal((await make()).status, 201)
  await look(
    service,
    `insert into policies select (jsonb_populate_record(p, jsonb_build_object('id', gen_random_uuid()))).*
     from policies p, generate_series(1, 498) where tenant_id = '${many.tenantId}'`,
  )
  t.same((await Promise.all([make(), make(), make()])).map(({ status }) => status).sort(), [201, 409, 409])
  t.match(await make(), { status: 409, body: { code: 'limit_reached' } })
  t.equal((await many.get(`${policies}?is_active=false&page_size=1`)).body.count, 500)
  t.equal((await many.get(`${policies}?action=doc:read&effect=deny`)).body.count, 0)
  t.equal((await many.get(`${policies}?effect=maybe`)).status, 400)
})
