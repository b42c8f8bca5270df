import t from 'tap'
import { refusesUnknownFields } from '../../src/request/body/validate-body.ts'
import { listRoutes } from '../../src/start/app.ts'
import type { Client, Json } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const owner = await service.signUp()
const tenant = `/api/v1/tenants/${owner.tenantId}/`
const members = `${tenant}members/`
const invitations = `${tenant}invitations/`
const webhooks = '/api/v1/webhooks/'
const accounts = '/api/v1/service-accounts/'
const ownKeys = '/api/v1/users/me/keys/'
const { body: account } = await owner.post(accounts, { name: 'reporter' })
const keys = `${accounts}${account.id}/keys/`
const [membership] = (await owner.get(members)).body.results

type Method = 'post' | 'put' | 'patch'
const refusalOf = async (method: Method, path: string, body: object, by: Client = owner) => {
  const answer = await by[method](path, body)
  if (answer.status !== 400)
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body as Json
}

t.test(
  'a member that no field reads is refused where dropping it would give more than was meant',
  async (t) => {
    const email = 'guest@example.com'
    const cases: [Method, string, object, string][] = [
      ['post', keys, { name: 'q', permissions: ['order:read'], expiry: 3600 }, 'permissions, expiry'],
      ['post', keys, { name: 'q', expires_at: '2030-01-01T00:00:00.000Z' }, 'expires_at'],
      ['post', ownKeys, { name: 'q', permissions: ['order:read'] }, 'permissions'],
      ['patch', tenant, { require_mfa: true }, 'require_mfa'],
      ['patch', tenant, { settings: { mfa: true } }, 'settings.mfa'],
      ['put', tenant, { settings: { mfa: true } }, 'settings.mfa'],
      ['post', '/api/v1/tenants/', { name: 'Looms', settings: { require_mfa: true } }, 'settings'],
      ['post', '/api/v1/tenants/', { name: 'Looms', slag: 'looms' }, 'slag'],
      ['post', webhooks, { url: 'https://example.com/', events: ['tenant.*'] }, 'events'],
      ['post', webhooks, { url: 'https://example.com/', secret: 'x', status: 'disabled' }, 'secret, status'],
      ['put', '/api/v1/resources/order/1/', { amount: 5 }, 'amount'],
      ['post', accounts, { name: 'x', permissions: ['order:read'] }, 'permissions'],
      ['post', accounts, { name: 'x', status: 'disabled' }, 'status'],
      ['post', accounts, { name: 'x', managr_id: owner.id }, 'managr_id'],
      ['post', accounts, { name: 'x', manager_id: owner.id }, 'manager_id'],
      ['patch', `${accounts}${account.id}/`, { rols: ['admin'] }, 'rols'],
      [
        'post',
        invitations,
        { email, role_names: ['admin'], expires_in: 60, note: 'hi' },
        'role_names, expires_in, note',
      ],
      ['post', invitations, { email, rols: ['admin'] }, 'rols'],
      ['post', invitations, { email, expires_at: '2030-01-01T00:00:00.000Z' }, 'expires_at'],
      ['patch', `${members}${membership.id}/`, { rols: ['member'] }, 'rols'],
      ['post', members, { user_id: owner.id, status: 'suspended' }, 'status'],
      [
        'post',
        `${members}${membership.id}/impersonate/`,
        { reason: 'A ticket of theirs', expires_in: 60 },
        'expires_in',
      ],
      ['post', `${tenant}roles/`, { name: 'Clerk', scopes: ['order:read'] }, 'scopes'],
      ['post', '/api/v1/policies/test-draft/', { case: [] }, 'case'],
      ['patch', '/api/v1/users/me/', { is_admin: true, password: 'x' }, 'is_admin, password'],
    ]
    for (const [method, path, body, expected] of cases) {
      const refusal = await refusalOf(method, path, body)
      const unknown = refusal.errors.filter(({ code }: Json) => code === 'unknown_field')
      t.equal(unknown.map(({ field }: Json) => field).join(', '), expected, `${method} ${path}`)
      t.equal(refusal.code, 'validation_error')
      t.ok(
        unknown.every(({ detail }: Json) => / Known are [a-z_, ]+\.$/.test(detail)),
        unknown[0]?.detail,
      )
    }
    t.equal((await owner.get(invitations)).body.count, 0)
    t.equal((await owner.get(keys)).body.count, 0)
    t.equal((await owner.get(webhooks)).body.count, 0)
  },
)

t.test('the refusal names the nearest field and all fields', async (t) => {
  const { errors } = await refusalOf('post', invitations, { email: 'guest@example.com', rols: ['admin'] })
  t.same(errors, [
    {
      field: 'rols',
      pointer: '/rols',
      code: 'unknown_field',
      detail:
        'There is no field "rols" here. Did you mean roles? Known are email, roles, role, department_id, external_id, message.',
      meant: 'roles',
    },
  ])
  const { errors: none } = await refusalOf('post', '/api/v1/approval-requests/x/cancel/', { force: true })
  t.match(none, [{ detail: 'There is no field "force" here. There is none at all.', meant: null }])
})

t.test('each fault in the form of a body has a pointer, a parameter has none', async (t) => {
  const { errors } = await refusalOf('post', webhooks, { event_types: ['tenant.*', 5] })
  t.match(errors, [
    { field: 'url', code: 'required', pointer: '/url' },
    { field: 'event_types.1', pointer: '/event_types/1' },
  ])
  const { body } = await owner.get(`${members}?page_size=none`)
  t.notOk('pointer' in body.errors[0], 'nothing in a body')
})

t.test('what was read can be sent back', async (t) => {
  const { body: role } = await owner.post(`${tenant}roles/`, { name: 'Clerk', permissions: ['order:read'] })
  const { body: webhook } = await owner.post(webhooks, { url: 'https://example.com/hooks' })
  const { body: department } = await owner.post(`${tenant}departments/`, { name: 'Mill' })
  await owner.post('/api/v1/attribute-definitions/', {
    key: 'amount',
    category: 'resource',
    data_type: 'integer',
  })
  await owner.put('/api/v1/resources/order/1/', { attributes: { amount: 5 } })
  const read: [Method, string][] = [
    ['put', tenant],
    ['patch', `${members}${membership.id}/`],
    ['put', `${tenant}roles/${role.id}/`],
    ['put', `${webhooks}${webhook.id}/`],
    ['put', `${tenant}departments/${department.id}/`],
    ['put', '/api/v1/resources/order/1/'],
    ['put', '/api/v1/users/me/'],
    ['patch', `${accounts}${account.id}/`],
  ]
  for (const [method, path] of read) {
    const answer = await owner[method](path, (await owner.get(path)).body)
    t.equal(answer.status, 200, `${method} ${path} ${JSON.stringify(answer.body)}`)
  }
  const { body: shown } = await owner.get(`${tenant}roles/${role.id}/`)
  t.equal((await owner.post(`${tenant}roles/`, { ...shown, name: 'Copy' })).status, 201)
})

t.test('these bodies refuse every member that they do not know; the others misspelt ones only', async (t) => {
  const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} }).filter(
    ({ body }) => body,
  )
  const nameOf = ({ method, path }: (typeof routes)[number]) => `${method} ${path}`
  const tolerant = routes.filter((route) => !refusesUnknownFields(route)).map(nameOf)
  t.same(tolerant.filter((name) => !/ \/(api\/v1\/auth|access\/v1)\//.test(name)).sort(), [
    'POST /api/v1/invitations/accept',
    'POST /api/v1/invitations/accept/options',
    'POST /api/v1/keys/revoke',
    'POST /api/v1/tenants/leave',
  ])
  t.same(routes.filter(refusesUnknownFields).map(nameOf).sort(), [
    'DELETE /api/v1/resources',
    'DELETE /api/v1/users/me',
    'PATCH /api/v1/connections/:id',
    'PATCH /api/v1/domains/:id',
    'PATCH /api/v1/oauth-clients/:id',
    'PATCH /api/v1/oauth-resources/:id',
    'PATCH /api/v1/policies/:id',
    'PATCH /api/v1/service-accounts/:id',
    'PATCH /api/v1/tenants/:id',
    'PATCH /api/v1/tenants/:id/departments/:did',
    'PATCH /api/v1/tenants/:id/members/:mid',
    'PATCH /api/v1/tenants/:id/roles/:rid',
    'PATCH /api/v1/users/:id',
    'PATCH /api/v1/users/me',
    'PATCH /api/v1/webhooks/:id',
    'POST /access/v1/plan',
    'POST /api/v1/approval-requests',
    'POST /api/v1/approval-requests/:id/approve',
    'POST /api/v1/approval-requests/:id/cancel',
    'POST /api/v1/approval-requests/:id/consume',
    'POST /api/v1/approval-requests/:id/reject',
    'POST /api/v1/attribute-definitions',
    'POST /api/v1/connections',
    'POST /api/v1/directory/rules',
    'POST /api/v1/domains',
    'POST /api/v1/domains/:id/loans',
    'POST /api/v1/oauth-clients',
    'POST /api/v1/oauth-resources',
    'POST /api/v1/policies',
    'POST /api/v1/policies/:id/preview',
    'POST /api/v1/policies/:id/promote',
    'POST /api/v1/policies/:id/rollback',
    'POST /api/v1/policies/:id/test',
    'POST /api/v1/policies/preview-draft',
    'POST /api/v1/policies/test-draft',
    'POST /api/v1/service-accounts',
    'POST /api/v1/service-accounts/:id/keys',
    'POST /api/v1/service-accounts/:id/keys/:kid/rotate',
    'POST /api/v1/service-accounts/:id/trusts',
    'POST /api/v1/tenants',
    'POST /api/v1/tenants/:id/departments',
    'POST /api/v1/tenants/:id/invitations',
    'POST /api/v1/tenants/:id/members',
    'POST /api/v1/tenants/:id/members/:mid/impersonate',
    'POST /api/v1/tenants/:id/roles',
    'POST /api/v1/users/me/keys',
    'POST /api/v1/users/me/keys/:kid/rotate',
    'POST /api/v1/webhooks',
    'PUT /api/v1/policies/:id',
    'PUT /api/v1/resources',
    'PUT /api/v1/resources/:resource_type/:resource_id',
    'PUT /api/v1/tenants/:id',
    'PUT /api/v1/tenants/:id/branding/logo',
    'PUT /api/v1/tenants/:id/departments/:did',
    'PUT /api/v1/tenants/:id/members/:mid',
    'PUT /api/v1/tenants/:id/roles/:rid',
    'PUT /api/v1/users/:id',
    'PUT /api/v1/users/me',
    'PUT /api/v1/webhooks/:id',
  ])
})
