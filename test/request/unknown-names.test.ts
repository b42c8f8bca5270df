import t from 'tap'
import { openDatabase } from '../helpers/event-log.ts'
import { type Json, loginOf } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const policies = '/api/v1/policies/'
const tenant = `/api/v1/tenants/${owner.tenantId}/`
const members = `${tenant}members/`
const invitations = `${tenant}invitations/`

const policy = {
  name: 'Approve invoices',
  effect: 'allow',
  actions: ['invoice:approve'],
  subjects: { roles: ['admin'] },
  conditions: { all: [{ attribute: 'subject.id', operator: 'eq', value: owner.id }] },
  obligations: [{ type: 'watermark', properties: { anything: true } }],
}

/** The refused members of an answer, as `pointer → meant`. */
const meantIn = ({ body }: { body: Json }) =>
  (body.errors as Json[]).map(({ pointer, code, meant }) => `${code} ${pointer} → ${meant}`)

t.test(
  'a policy with subject in place of subjects is refused, on each route that takes a policy',
  async (t) => {
    const { subjects, ...everyone } = policy
    const misspelt = { ...everyone, subject: subjects }
    const { body: stored } = await owner.post(policies, { ...policy, mode: 'shadow' })
    const one = `${policies}${stored.id}/`
    const refusals: [string, Promise<{ status: number; body: Json }>, string][] = [
      ['POST', owner.post(policies, misspelt), ''],
      ['PUT', owner.put(one, misspelt), ''],
      ['PATCH', owner.patch(one, { subject: subjects }), ''],
      ['test', owner.post(`${one}test/`, { draft: misspelt }), '/draft'],
      ['preview', owner.post(`${one}preview/`, { draft: misspelt }), '/draft'],
      ['test-draft', owner.post(`${policies}test-draft/`, { draft: misspelt }), '/draft'],
      ['preview-draft', owner.post(`${policies}preview-draft/`, { draft: misspelt }), '/draft'],
    ]
    for (const [route, asked, at] of refusals) {
      const answer = await asked
      t.match(answer, { status: 422, body: { code: 'policy_invalid' } }, route)
      t.same(meantIn(answer), [`unknown_member ${at}/subject → subjects`], route)
      t.match(answer.body.detail, /Did you mean subjects\?/, route)
    }
    t.equal((await owner.get(policies)).body.count, 1)
  },
)

t.test('an unknown member of a policy has its place and the nearest name, at every depth', async (t) => {
  const leaf = policy.conditions.all[0]
  const cases: [object, string][] = [
    [{ condition: policy.conditions }, '/condition → conditions'],
    [{ when: {} }, '/when → null'],
    [{ $schema: 'x' }, '/$schema → null'],
    [{ subjects: { role: ['admin'] } }, '/subjects/role → roles'],
    [{ conditions: { all: [{ ...leaf, valeu: 1 }] } }, '/conditions/all/0/valeu → value'],
    [{ conditions: { any: [{ all: [{ ...leaf, not: true }] }] } }, '/conditions/any/0/all/0/not → null'],
    [{ conditions: { all: [leaf], value: 1 } }, '/conditions/value → value'],
    [{ conditions: { al: [leaf] } }, '/conditions/al → all'],
    [{ conditions: { ...leaf, valueFrom: 'subject.id' } }, '/conditions/valueFrom → value_from'],
    [{ approval: { quorom: 2 } }, '/approval/quorom → quorum'],
    [{ approval: { approver: { role: ['owner'] } } }, '/approval/approver/role → roles'],
    [
      { obligations: [{ type: 'step_up', properties: { maxage: 60 } }] },
      '/obligations/0/properties/maxage → max_age',
    ],
    [
      { obligations: [{ type: 'mask_fields', properties: { field: ['x'] } }] },
      '/obligations/0/properties/field → fields',
    ],
    [{ obligations: [{ type: 'watermark', property: {} }] }, '/obligations/0/property → properties'],
  ]
  for (const [change, expected] of cases) {
    const answer = await owner.post(policies, { ...policy, ...change })
    t.equal(answer.status, 422, expected)
    t.same(meantIn(answer), [`unknown_member ${expected}`])
  }
  const text = '{\n  "name": "N",\n  "effect": "allow",\n  "actions": ["a:b"],\n  "subject": {}\n}'
  t.match(await owner.post(policies, text), {
    status: 422,
    body: { errors: [{ field: 'subject', line: 5, column: 14 }] },
  })
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`other_${n}`, n]))
  t.equal((await owner.post(policies, { ...policy, ...many })).body.errors.length, 20)
})

t.test('a policy, and a version of one, can be sent back as it was read', async (t) => {
  const { body: stored } = await owner.post(policies, policy)
  const one = `${policies}${stored.id}/`
  t.match(await owner.put(one, (await owner.get(one)).body), { status: 200, body: { version: 2 } })
  const { body: versions } = await owner.get(`${one}versions/`)
  const draft = { ...(await owner.get(one)).body, ...versions.results[0] }
  t.match(await owner.post(`${one}test/`, { draft }), { status: 200, body: { effect: String } })
  t.match(await owner.post(`${policies}preview-draft/`, { draft }), { status: 200 })
})

t.test('a policy that was stored with an unknown member can still be changed', async (t) => {
  const { body: stored } = await owner.post(policies, policy)
  const database = await openDatabase(t, service)
  const { rowCount } = await database.query(
    `update policies set rules = jsonb_set(rules, '{conditions,all,0,note}', '"why"') where id = $1`,
    [stored.id],
  )
  t.equal(rowCount, 1)
  const one = `${policies}${stored.id}/`
  t.match(await owner.patch(one, { is_active: false }), {
    status: 200,
    body: { is_active: false, conditions: { all: [{ note: 'why' }] } },
  })
  t.match(await owner.post(`${one}rollback/`, { version: 1 }), { status: 200 })
})

t.test('an unknown member of an attribute definition is refused', async (t) => {
  const definition = { key: 'tonnage', category: 'resource', data_type: 'integer' }
  const refused = await owner.post('/api/v1/attribute-definitions/', { ...definition, required: true })
  t.match(refused, { status: 400, body: { code: 'validation_error', required: [String] } })
  t.same(meantIn(refused), ['unknown_field /required → is_required'])
  const both = await owner.post('/api/v1/attribute-definitions/', { ...definition, datatype: 'x', key: '' })
  t.same(
    both.body.errors.map(({ field, code }: Json) => [field, code]),
    [
      ['datatype', 'unknown_field'],
      ['key', 'invalid_format'],
    ],
    'all faults at once',
  )
  const created = await owner.post('/api/v1/attribute-definitions/', {
    ...definition,
    id: 'x',
    created_at: 'x',
  })
  t.equal(created.status, 201, 'what the answer shows is ignored')
})

t.test(
  'a member of another body that misspells a field is refused, with the field that was meant',
  async (t) => {
    const email = 'guest@example.com'
    const cases: [string, object, string][] = [
      [invitations, { email, departmentId: null }, 'departmentId → department_id'],
      [invitations, { email, Department_ID: null }, 'Department_ID → department_id'],
      [invitations, { email, deparment_id: null }, 'deparment_id → department_id'],
      [invitations, { email, mesage: 'Hello' }, 'mesage → message'],
      [invitations, { email, Role: 'admin' }, 'Role → role'],
      [members, { user_id: owner.id, userId: owner.id }, 'userId → user_id'],
      [`${members}x/impersonate/`, { reasons: 'x' }, 'reasons → reason'],
      ['/api/v1/webhooks/', { url: 'https://example.com/', event_type: ['a.b'] }, 'event_type → event_types'],
      ['/api/v1/auth/login/', { ...loginOf(owner), tenantId: owner.tenantId }, 'tenantId → tenant_id'],
      ['/api/v1/auth/otp/verify/', { code: '123456', deviceType: 'totp' }, 'deviceType → device_type'],
    ]
    for (const [path, body, expected] of cases) {
      const answer = await owner.post(path, body)
      t.match(answer, { status: 400, body: { code: 'validation_error' } }, expected)
      t.same(meantIn({ body: { errors: [answer.body.errors[0]] } }), [`unknown_field /${expected}`])
    }
    const nested = await owner.patch(tenant, { settings: { requireMfa: true } })
    t.same(meantIn(nested), ['unknown_field /settings/requireMfa → require_mfa'])
    t.match(nested.body, { errors: [{ field: 'settings.requireMfa', detail: /Did you mean require_mfa\?/ }] })
    const missing = await owner.post(invitations, { emial: email })
    t.same(
      missing.body.errors.map(({ field, code }: Json) => [field, code]),
      [
        ['emial', 'unknown_field'],
        ['email', 'required'],
      ],
    )
    t.equal((await owner.get(invitations)).body.count, 0)
  },
)

t.test('sign-in ignores other unknown members and repetitions of a field, which forms send', async (t) => {
  const register = { email: 'new@example.com', password: 'a quiet harbour' }
  const repeated = {
    password2: 'x',
    password_confirm: 'x',
    password_confirmation: 'x',
    terms: true,
    username: 'new',
    name: 'New',
    constructor: 1,
  }
  t.equal(
    (await service.call('POST', '/api/v1/auth/register/', { body: { ...register, ...repeated } })).status,
    201,
  )
  const short = { ...loginOf(owner), emai: 'x', rol: true }
  t.equal((await owner.post('/api/v1/auth/login/', short)).status, 200, 'names of less than five letters')
  const others = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`unrelated${n}`, n]))
  t.equal((await owner.post('/api/v1/auth/login/', { ...loginOf(owner), ...others })).status, 200)
})

t.test('what follows a standard of its own ignores unknown members', async (t) => {
  const question = {
    subject: { type: 'user', id: owner.id },
    action: { name: 'x:y' },
    resource: { type: 'x', id: '1' },
  }
  const asked = { ...question, Subject: 1, contxt: {}, resources: 1 }
  t.equal((await owner.post('/access/v1/evaluation', asked)).status, 200)
})

t.test('an unknown parameter of a GET is refused with the known ones, on details too', async (t) => {
  const filter = await owner.get(`${members}?rolle=member`)
  t.match(filter, {
    status: 400,
    body: {
      code: 'unknown_parameter',
      detail: /no parameter "rolle".*Did you mean role\?.*Known are page_size, cursor/,
      errors: [{ field: 'rolle', code: 'unknown_parameter', meant: 'role' }],
    },
  })
  t.ok(filter.body.known.includes('role') && filter.body.known.includes('search'))
  for (const path of [
    `${members}?page=2`,
    `${tenant}?expand=members`,
    '/api/v1/users/me/?format=xml',
    `${members}?=1`,
  ])
    t.match(await owner.get(path), { status: 400, body: { code: 'unknown_parameter' } }, path)
  t.same((await owner.get(`${tenant}?x=1`)).body.known, [])
  for (const path of [members, tenant, '/api/v1/users/me/'])
    for (const query of ['_=1', '_dc=2&_dc=3', 'utm_source=a&utm_medium=b', 'format=json'])
      t.equal((await owner.get(`${path}?${query}`)).status, 200, `${path}?${query}`)
  t.equal((await service.call('GET', `${members}?rolle=x`)).status, 401, 'only callers learn it')
  t.equal((await service.call('GET', '/healthz?rolle=x')).status, 200)
  t.equal((await owner.post('/api/v1/tenants/?rolle=x', { name: 'By POST' })).status, 201)
})

t.test('a page has 100 entries at most, and the description says so', async (t) => {
  t.equal((await owner.get(`${members}?page_size=1000`)).status, 200)
  const { body: document } = await service.call('GET', '/openapi.json')
  for (const [path, { get }] of Object.entries(document.paths as Json) as [string, Json][]) {
    const size = get?.parameters?.find(({ name }: Json) => name === 'page_size')
    if (size) t.equal(size.schema.maximum, 100, path)
    if (get && path.startsWith('/api/v1/')) t.ok(get.responses[400], path)
  }
})
