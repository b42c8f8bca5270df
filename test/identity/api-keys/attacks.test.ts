import t from 'tap'
import { permissionsOf } from '../../../src/policy-engine/catalogue/actions.ts'
import { listRoutes } from '../../../src/start/app.ts'
import { rounds } from '../../helpers/rounds.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect, foundFirm } from '../../tenancy/staff.ts'
import { createOwnKey, createProgram } from './holders.ts'

const service = await sharedService(t, { workers: false })
const own = '/api/v1/users/me/keys/'
const invalid = { status: 401, body: { code: 'token_not_valid' } }
const notAllowed = { status: 403, body: { code: 'key_not_allowed' } }
const missing = { status: 404, body: { code: 'not_found' } }

t.test('what takes a session is refused to every key', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  await hire('admin')
  const keys = [await createOwnKey(service, owner), await createProgram(service, owner, ['admin'])]
  const account = `/api/v1/service-accounts/${(await createProgram(service, owner, ['member'])).accountId}`
  const address = (route: string) =>
    route.replace('/service-accounts/:id', account.slice('/api/v1'.length)).replaceAll(/:\w+/g, owner.id)
  const closed =
    /^\/api\/v1\/(auth\/(?!register|login|refresh|email\/(verify\/(confirm|reject)|undo)|(otp|identities)\/undo|magic-link|passkeys\/login|password\/reset)|users\/me\/keys|users\/me\/invitations|service-accounts\/:id\/keys|invitations\/accept$|approval-requests\/:id\/(approve|reject))/
  const routes = listRoutes(service.deps, {} as never).filter(
    ({ path, method }) =>
      closed.test(path) ||
      (/^\/api\/v1\/users\/(me|:id)$/.test(path) && method !== 'GET') ||
      `${method} ${path}` === 'POST /api/v1/tenants',
  )
  t.ok(routes.length > 35, `${routes.length} routes`)
  for (const { key } of keys)
    for (const route of routes) {
      const body = route.method === 'GET' ? undefined : {}
      const answer = await service.call(route.method, `${address(route.path)}/`, { token: key, body })
      t.match(answer, notAllowed, `${route.method} ${route.path}`)
    }
  for (const { key } of keys) {
    t.match(await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: key } }), { status: 401 })
    t.match(await service.call('GET', '/console/api/users/me/', { token: key }), { status: 401 })
    t.match(await service.call('GET', '/api/v1/application/events/', { token: key }), { status: 401 })
    t.match(await service.call('GET', `${path}/`, { token: key }), { status: 200 }, 'it still works')
  }
})

t.test('a key reaches no other tenant, also where its person is a member', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const key = await createOwnKey(service, owner)
  const program = await createProgram(service, owner, ['admin'])
  const { id: other } = await expect(201, owner.post('/api/v1/tenants/', { name: 'Other' }))
  for (const { get, put, post, delete: remove } of [key, program]) {
    t.match(await get(`/api/v1/tenants/${other}/`), missing)
    t.match(await put(`/api/v1/tenants/${other}/`, { name: 'Mine' }), missing)
    t.match(await get(`/api/v1/tenants/${other}/members/`), missing)
    t.match(await post(`/api/v1/tenants/${other}/suspend/`), missing)
    t.match(await remove(`/api/v1/tenants/${other}/`), missing)
  }
  // Another tenant's keys and accounts do not exist.
  const stranger = await service.signUp()
  const one = `${program.keys}${program.id}/`
  t.match(await stranger.get(program.keys), missing)
  t.match(await stranger.post(program.keys, { name: 'Mine' }), missing)
  t.match(await stranger.post(`${one}rotate/`), missing)
  t.match(await stranger.delete(one), missing)
  t.match(await stranger.delete(`${own}${key.id}/`), missing)
  // Nor do the keys of a colleague, by either path.
  const admin = await hire('admin')
  t.match(await admin.delete(`${own}${key.id}/`), missing)
  const [{ id: memberId }] = (await expect(200, owner.get(`${path}/members/?user_id=${owner.id}`))).results
  t.match(await admin.get(`/api/v1/service-accounts/${memberId}/keys/`), missing)
  t.match(await admin.delete(`/api/v1/service-accounts/${memberId}/keys/${key.id}/`), missing)
  t.equal((await key.get('/api/v1/users/me/')).status, 200)
})

t.test('scopes limit a key to what they name, also in what it may hand on', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const colleague = await hire('member')
  const narrow = await createOwnKey(service, owner, { scopes: ['member:update', 'document:read'] })
  t.match(await narrow.get(`${path}/members/`), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'scope_missing' }] },
  })
  t.same((await expect(200, narrow.get('/api/v1/users/me/'))).permissions, ['member:update'])
  const member = `${path}/members/${colleague.memberId}/`
  t.match(await narrow.put(member, { roles: ['owner'] }), { status: 403 }, 'it cannot make owners')
  t.match(await narrow.put(member, { roles: ['admin'] }), { status: 403 })
  const role = await expect(
    201,
    owner.post(`${path}/roles/`, { name: 'Reader', permissions: ['document:read'] }),
  )
  await expect(200, narrow.put(member, { roles: [role.id] }))
  const roles = await createOwnKey(service, owner, { scopes: ['role:*'] })
  t.match(await roles.post(`${path}/roles/`, { name: 'More', permissions: ['policy:create'] }), {
    status: 403,
  })
  await expect(201, roles.post(`${path}/roles/`, { name: 'Same', permissions: ['role:create'] }))

  // Scopes that the account lacks have no effect.
  const wide = await createProgram(service, owner, ['member'], { scopes: ['role:create', 'member:list'] })
  t.match(await wide.post(`${path}/roles/`, { name: 'Mine' }), { status: 403 })
  t.equal((await wide.get(`${path}/members/`)).status, 200)
  await expect(200, owner.patch(`/api/v1/service-accounts/${wide.accountId}/`, { roles: ['admin'] }))
  t.equal((await wide.post(`${path}/roles/`, { name: 'Mine' })).status, 201, 'once it has the role')
  t.match(await wide.get('/api/v1/policies/'), { status: 403 })
})

t.test('AuthZEN answers a key about itself within its scopes, and about others without them', async (t) => {
  const { owner, role, hire } = await foundFirm(service)
  const reader = await role('document:read', 'access:evaluate')
  const program = await createProgram(service, owner, [reader], { scopes: ['access:evaluate'] })
  const person = await hire(reader)
  const ask = async (type: string, id: string) => {
    const resource = { type: 'document', id: '1' }
    const question = { subject: { type, id }, action: { name: 'document:read' }, resource }
    return (await expect(200, program.post('/access/v1/evaluation/', question))).decision
  }
  t.equal(await ask('service_account', program.accountId), false, 'its scopes do not name it')
  t.equal(await ask('user', program.accountId), false)
  t.equal(await ask('user', person.id), true)
})

t.test('a key follows its holder: roles, suspension, removal, tenants, erasure', async (t) => {
  const { owner, path, hire, id: tenantId } = await foundFirm(service)
  const clerk = await hire('auditor')
  const key = await createOwnKey(service, clerk)
  const member = `${path}/members/${clerk.memberId}/`
  const policies = () => key.get('/api/v1/policies/')
  t.equal((await policies()).status, 200)
  await expect(200, owner.put(member, { roles: ['member'] }))
  t.match(await policies(), { status: 403, body: { code: 'permission_denied' } }, 'the role was lowered')
  await expect(200, owner.put(member, { status: 'suspended' }))
  t.match(await policies(), { status: 403, body: { code: 'no_active_membership' } })
  await expect(200, owner.put(member, { status: 'active', roles: ['auditor'] }))
  t.equal((await policies()).status, 200)
  await expect(204, owner.delete(member))
  t.match(await policies(), { status: 403, body: { code: 'no_active_membership' } })
  await expect(201, owner.post(`${path}/members/`, { user_id: clerk.id, roles: ['auditor'] }))
  t.match(await policies(), invalid, 'joining again does not revive it')
  await clerk.switchTo(tenantId)
  t.equal((await expect(200, clerk.get(own))).count, 0)

  const program = await createProgram(service, owner, ['auditor'])
  const account = `/api/v1/service-accounts/${program.accountId}/`
  const asProgram = () => program.get('/api/v1/policies/')
  await expect(200, owner.patch(account, { status: 'disabled' }))
  t.match(await asProgram(), invalid)
  await expect(200, owner.patch(account, { status: 'active', roles: ['member'] }))
  t.match(await asProgram(), { status: 403, body: { code: 'permission_denied' } })
  await expect(200, owner.patch(account, { roles: ['auditor'] }))
  await expect(200, owner.post(`${path}/suspend/`))
  t.match(await asProgram(), { status: 403, body: { code: 'tenant_suspended' } })
  await expect(200, owner.post(`${path}/activate/`))
  t.equal((await asProgram()).status, 200)
  await expect(204, owner.delete(account))
  t.match(await asProgram(), invalid)

  const again = await createProgram(service, owner, ['auditor'])
  const ownersKey = await createOwnKey(service, owner)
  await expect(204, owner.delete(`${path}/`))
  t.match(await again.get('/api/v1/policies/'), { status: 403, body: { code: 'no_active_membership' } })
  t.match(await ownersKey.get('/api/v1/policies/'), { status: 403, body: { code: 'no_active_membership' } })

  const gone = await service.signUp()
  const last = await createOwnKey(service, gone)
  await expect(204, gone.delete('/api/v1/users/me/', { body: { current_password: gone.password } }))
  t.match(await last.get('/api/v1/users/me/'), invalid)
})

t.test('a person cannot make a key that can do more than they can', async (t) => {
  const { owner, hire, role } = await foundFirm(service)
  const clerk = await hire(await role('service_account:*', 'api_key:*'))
  const strong = await createProgram(service, owner, ['admin'])
  t.match(await clerk.post(strong.keys, { name: 'Mine' }), {
    status: 403,
    body: { code: 'permission_denied' },
  })
  t.match(await clerk.post(`${strong.keys}${strong.id}/rotate/`), { status: 403 })
  await expect(204, clerk.delete(`${strong.keys}${strong.id}/`))
  const plain = await hire('member')
  t.match(await plain.get(strong.keys), { status: 403 })
  t.match(await plain.post(strong.keys, { name: 'Mine' }), { status: 403 })
  await createOwnKey(service, plain)
})

t.test('a role with every permission of an admin grants no admin, and describes no program', async (t) => {
  const { owner, path, hire, role } = await foundFirm(service)
  const almost = await hire(await role(...permissionsOf('admin')))
  const member = await hire('member')
  const patched = await almost.patch(`${path}/members/${member.memberId}/`, { roles: ['member', 'admin'] })
  t.match(patched, { status: 403, body: { code: 'permission_denied' } })

  const { id: department } = await expect(201, owner.post(`${path}/departments/`, { name: 'Sales' }))
  const clerks = await role('service_account:create', 'service_account:read', 'api_key:create')
  const clerk = await hire(clerks)
  const described = { name: 'Program', roles: [clerks], department_id: department }
  t.match(await clerk.post('/api/v1/service-accounts/', described), {
    status: 403,
    body: { code: 'permission_denied', detail: /policy:update/ },
  })
})

t.test('a policy may deny or gate keys, and gates the calls of a program', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const approver = await hire('admin')
  const program = await createProgram(service, owner, ['admin'])
  const rule = { name: 'Ask first', effect: 'require_approval', actions: ['role:create'] }
  const { id } = await expect(201, owner.post('/api/v1/policies/', rule))
  const wanted = { name: 'Clerk' }
  const gated = await program.post(`${path}/roles/`, wanted)
  t.match(gated, { status: 403, body: { code: 'approval_required' } })
  const request = `/api/v1/approval-requests/${gated.body.approval_request.id}/`
  t.match((await expect(200, owner.get(request))).requester, { id: program.accountId, email: '' })
  t.match(await program.post(`${request}approve/`), notAllowed)
  // The owner made its key, and could have asked with it.
  t.match(await owner.post(`${request}approve/`), { status: 403, body: { code: 'self_approval_forbidden' } })
  t.equal((await owner.get('/api/v1/approval-requests/pending/')).body.results.length, 0)
  await expect(200, approver.post(`${request}approve/`))
  const headers = { 'Approval-Request': gated.body.approval_request.id }
  t.equal(
    (await service.call('POST', `${path}/roles/`, { token: program.key, body: wanted, headers })).status,
    201,
  )
  await expect(204, owner.delete(`/api/v1/policies/${id}/`))

  await expect(
    201,
    owner.post('/api/v1/policies/', { name: 'No keys', effect: 'deny', actions: ['api_key:create'] }),
  )
  t.match(await approver.post(own, { name: 'Mine' }), {
    status: 403,
    body: { reasons: [{ code: 'policy_deny' }] },
  })
  const stepUp = {
    name: 'Fresh only',
    effect: 'allow',
    actions: ['audit:list'],
    obligations: [{ type: 'step_up', properties: { acr: 'aal1', max_age: 600 } }],
  }
  await expect(201, owner.post('/api/v1/policies/', stepUp))
  t.match(await program.get('/api/v1/audit-log/'), {
    status: 403,
    body: { reasons: [{ code: 'step_up_impossible' }] },
  })
})

t.test('of requests that race a revocation, those that begin after its answer are refused', async (t) => {
  const { owner } = await foundFirm(service)
  for (let round = 0; round < rounds(3, 20); round++) {
    const program = await createProgram(service, owner, ['auditor'])
    const during = Array.from({ length: 6 }, () => program.get('/api/v1/policies/'))
    const revoking = Promise.all([1, 2].map(() => owner.delete(`${program.keys}${program.id}/`)))
    const ended = (await revoking).map(({ status }) => status).sort()
    t.same(ended, [204, 404], 'it is revoked once')
    const after = await Promise.all(Array.from({ length: 6 }, () => program.get('/api/v1/policies/')))
    t.same(new Set(after.map(({ status }) => status)), new Set([401]))
    for (const { status } of await Promise.all(during)) t.ok(status === 200 || status === 401)
  }
})

t.test('two rotations of one key leave one successor', async (t) => {
  const owner = await service.signUp()
  const key = await createOwnKey(service, owner)
  const both = await Promise.all([1, 2].map(() => owner.post(`${own}${key.id}/rotate/`)))
  t.same(both.map(({ status }) => status).sort(), [201, 409])
  t.equal((await expect(200, owner.get(own))).count, 2)
})

t.test('an Idempotency-Key belongs to one API key, and repeats its answer', async (t) => {
  const { owner, path } = await foundFirm(service)
  const one = await createProgram(service, owner, ['admin'])
  const other = await createOwnKey(service, owner)
  const headers = { 'Idempotency-Key': 'same' }
  const make = (token: string, name: string) =>
    service.call('POST', `${path}/departments/`, { token, body: { name }, headers })
  const first = await make(one.key, 'Sales')
  t.same((await make(one.key, 'Sales')).body, first.body)
  t.equal((await make(other.key, 'Stores')).status, 201)
  t.equal((await make(owner.access, 'Staff')).status, 201)
})
