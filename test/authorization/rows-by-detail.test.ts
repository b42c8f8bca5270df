import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t)

type Row = Record<string, unknown> & { id: string }

/** Posts what has to be created. */
async function made(client: Client, path: string, body: object): Promise<Row> {
  const answer = await client.post(path, body)
  if (answer.status !== 201) throw new Error(`${path} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const policyOf = (client: Client, policy: object) =>
  made(client, '/api/v1/policies/', { name: 'About rows', effect: 'deny', ...policy })

/** An answer that does not match its schema because of a mask. */
async function unchecked({ access }: { access: string }, path: string) {
  const headers = { authorization: `Bearer ${access}` }
  const answer = await fetch(new URL(path, service.url), { headers })
  // biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
  return { status: answer.status, body: (await answer.json()) as any }
}

const aboutRow = (value: string) => ({ attribute: 'resource.id', operator: 'eq', value })

/** A tenant with an admin and a member, and a row in each list whose detail has an action of its own. */
async function tenantWithRows() {
  const owner = await service.signUp()
  const [admin, member] = [await colleague(service, owner, 'admin'), await colleague(service, owner)]
  const account = await made(owner, '/api/v1/service-accounts/', { name: 'Robot' })
  const policy = await policyOf(owner, { actions: ['doc:read'], is_active: false })
  const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
  const role = await made(owner, roles, { name: 'Driver' })
  const approval = { approver: { roles: ['admin'] } }
  await policyOf(owner, { effect: 'require_approval', actions: ['role:delete'], approval })
  const waiting = await owner.delete(`${roles}${role.id}/`)
  const denied = await member.post(roles, { name: 'x' })
  const rows: [string, string, string][] = [
    ['user:read', '/api/v1/users/', owner.id],
    ['service_account:read', '/api/v1/service-accounts/', account.id],
    ['policy:read', '/api/v1/policies/', policy.id],
    ['approval_request:read', '/api/v1/approval-requests/', waiting.body.approval_request.id],
    ['approval_request:read', '/api/v1/approval-requests/pending/', waiting.body.approval_request.id],
    ['decision:read', '/api/v1/decisions/', denied.body.decision_id],
  ]
  return { owner, admin, member, rows }
}

const idsIn = async (client: Client, list: string) =>
  (await client.get(`${list}?page_size=100`)).body.results.map(({ id }: Row) => id)

t.test('a row is left out of its list where a policy denies the action of its detail', async (t) => {
  const { owner, admin, rows } = await tenantWithRows()
  for (const [action, list, id] of rows) {
    const detail = `${list.replace('pending/', '')}${id}/`
    t.ok((await idsIn(admin, list)).includes(id), `${list} has the row`)
    t.equal((await admin.get(detail)).status, 200)
    const policy = await policyOf(owner, { actions: [action], conditions: aboutRow(id) })
    t.match((await admin.get(detail)).status, /40[34]/)
    const { status, body } = await admin.get(`${list}?page_size=100`)
    t.equal(status, 200)
    t.notOk(
      body.results.some((row: Row) => row.id === id),
      `${list} under a denial of ${action}`,
    )
    if ('count' in body) t.equal(body.count, null, 'the count does not reveal the row')
    await owner.delete(`/api/v1/policies/${policy.id}/`)
  }
})

t.test('a list whose details are denied to the caller is 403, and names their action', async (t) => {
  const { owner, admin, member, rows } = await tenantWithRows()
  const readers = { roles: ['admin'] }
  for (const [action, list] of rows) {
    const policy = await policyOf(owner, { actions: [action], subjects: readers })
    const refused = await admin.get(list)
    t.match(refused, { status: 403, body: { code: 'permission_denied', detail: new RegExp(action) } }, list)
    const logged = await owner.get(`/api/v1/decisions/${refused.body.decision_id}/`)
    t.match(logged.body, { action, effect: 'deny' }, 'the log names it, too')
    await owner.delete(`/api/v1/policies/${policy.id}/`)
  }
  const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
  await made(owner, roles, { name: 'Lister', permissions: ['policy:list', 'service_account:list'] })
  const members = (await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).body.results
  const place = members.find(({ user_id }: { user_id: string }) => user_id === member.id)
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/members/${place.id}/`, { roles: ['member', 'Lister'] })
  for (const [action, list] of rows.filter(([, path]) => /policies|accounts/.test(path)))
    t.match(await member.get(list), { status: 403, body: { detail: new RegExp(action) } }, 'not by role')
  const scoped = await made(owner, '/api/v1/users/me/keys/', { name: 'Lists', scopes: ['user:list'] })
  const byKey = await unchecked({ access: String(scoped.key) }, '/api/v1/users/')
  t.match(byKey, { status: 403, body: { detail: /user:read/ } }, 'not by scope')
})

t.test('a list has the own rows of a caller who can read no others', async (t) => {
  const { owner, member, rows } = await tenantWithRows()
  const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
  await made(owner, roles, { name: 'All', permissions: ['decision:list', 'approval_request:list'] })
  const members = (await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)).body.results
  const place = members.find(({ user_id }: { user_id: string }) => user_id === member.id)
  await owner.patch(`/api/v1/tenants/${owner.tenantId}/members/${place.id}/`, { roles: ['member', 'All'] })
  const denied = rows.find(([action]) => action === 'decision:read')![2]
  await owner.get(`/api/v1/users/${owner.tenantId}/`)
  const own = await member.get('/api/v1/decisions/?page_size=100')
  t.equal(own.status, 200)
  t.ok(own.body.results.some(({ id }: Row) => id === denied))
  t.ok(own.body.results.every(({ subject }: { subject: Row }) => subject.id === member.id))
  t.match(await member.get('/api/v1/approval-requests/'), { status: 200, body: { count: 0, results: [] } })
})

t.test('a mask and a step-up of the detail apply to its row', async (t) => {
  const { owner, admin } = await tenantWithRows()
  const masking = { type: 'mask_fields', properties: { fields: ['email'] } }
  const subjects = { roles: ['admin'] }
  const allow = { effect: 'allow', actions: ['user:read'], subjects }
  const mask = await policyOf(owner, { ...allow, conditions: aboutRow(owner.id), obligations: [masking] })
  const { body } = await unchecked(admin, '/api/v1/users/')
  for (const { id, email } of body.results) t.equal(email === null, id === owner.id)
  const asked = await admin.get(`/api/v1/users/?email=${owner.email}`)
  t.match(asked, { status: 403, body: { reasons: [{ code: 'masked_field' }] } })
  const logged = await owner.get(`/api/v1/decisions/${asked.body.decision_id}/`)
  t.match(logged.body, { action: 'user:read', effect: 'deny' })
  await owner.delete(`/api/v1/policies/${mask.id}/`)

  const obligations = [{ type: 'step_up' }]
  const one = await policyOf(owner, { ...allow, conditions: aboutRow(owner.id), obligations })
  t.notOk((await idsIn(admin, '/api/v1/users/')).includes(owner.id))
  t.equal((await admin.get(`/api/v1/users/${owner.id}/`)).status, 401)
  await owner.delete(`/api/v1/policies/${one.id}/`)
  await policyOf(owner, { ...allow, obligations })
  t.equal((await admin.get(`/api/v1/users/${owner.id}/`)).status, 401)
  t.match(await admin.get('/api/v1/users/'), {
    status: 401,
    body: { code: 'insufficient_user_authentication' },
  })
})

t.test('a policy about the list alone withholds rows as before', async (t) => {
  const { owner, admin } = await tenantWithRows()
  await policyOf(owner, { actions: ['user:list'], conditions: aboutRow(owner.id) })
  t.notOk((await idsIn(admin, '/api/v1/users/')).includes(owner.id))
  t.equal((await admin.get(`/api/v1/users/${owner.id}/`)).status, 200)
})

t.test('approvers see the requests that they can decide, whatever attribute a policy reads', async (t) => {
  const owner = await service.signUp()
  const [admin, member] = [await colleague(service, owner, 'admin'), await colleague(service, owner)]
  const approval = { approver: { roles: ['member'] } }
  await policyOf(owner, { effect: 'require_approval', actions: ['role:create'], approval })
  const waiting = await admin.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name: 'x' })
  const { id } = waiting.body.approval_request
  const other = aboutRow(owner.id)
  await policyOf(owner, { actions: ['approval_request:*'], conditions: other })
  t.equal((await member.get(`/api/v1/approval-requests/${id}/`)).status, 200)
  t.same(await idsIn(member, '/api/v1/approval-requests/'), [id])
  t.same(await idsIn(member, '/api/v1/approval-requests/pending/'), [id])
})

t.test('a decision that the caller cannot read is not explained', async (t) => {
  const { owner, admin, rows } = await tenantWithRows()
  const id = rows.find(([action]) => action === 'decision:read')![2]
  const explained = `/api/v1/decisions/${id}/explain/`
  t.equal((await admin.get(explained)).status, 200)
  await policyOf(owner, { actions: ['decision:read'], subjects: { roles: ['admin'] } })
  const refused = await admin.get(explained)
  t.match(refused, { status: 403, body: { detail: /decision:read/ } })
  t.equal((await owner.get(explained)).status, 200)
})

t.test('a row takes one evaluation where policies read it, and none where no policy does', async (t) => {
  const { owner, admin } = await tenantWithRows()
  const { access } = service.deps
  const { decide } = access
  let counted = 0
  t.teardown(() => Object.assign(access, { decide }))
  Object.assign(access, {
    decide: (query: Parameters<typeof decide>[0]) => {
      if (query.subject.id === admin.id) counted++
      return decide(query)
    },
  })
  const evaluations = async () => {
    counted = 0
    t.equal((await admin.get('/api/v1/users/')).body.results.length, 3)
    return counted
  }
  t.equal(await evaluations(), 2, 'one for each action of the list')
  const other = { conditions: aboutRow(owner.tenantId) }
  const asked = { 'role:create': 2, 'user:read': 5, 'user:list': 5, 'user:*': 5 }
  for (const [action, expected] of Object.entries(asked)) {
    const { id } = await policyOf(owner, { actions: [action], ...other })
    t.equal(await evaluations(), expected, action)
    await owner.delete(`/api/v1/policies/${id}/`)
  }
  await policyOf(owner, { actions: ['user:read'], ...other })
  await policyOf(owner, { actions: ['user:list'], ...other })
  t.equal(await evaluations(), 8, 'two where each action has policies of its own')
})

t.test('a search finds the people that the list shows', async (t) => {
  const { owner, admin, member } = await tenantWithRows()
  await policyOf(owner, { actions: ['user:read'], conditions: aboutRow(member.id) })
  const { body } = await admin.post('/access/v1/search/resource', {
    subject: { type: 'user', id: admin.id },
    action: { name: 'user:read' },
    resource: { type: 'user' },
  })
  const found = body.results.map(({ id }: Row) => id)
  t.notOk(found.includes(member.id))
  t.same(found.sort(), (await idsIn(admin, '/api/v1/users/')).sort())
})
