import t from 'tap'
import { inTenant } from '../../../src/database/executor/transaction.ts'
import { appendAudit, changesBetween } from '../../../src/messages/audit/append-audit.ts'
import { colleague } from '../../helpers/colleague.ts'
import { startService, tokenIn } from '../../helpers/service.ts'
import { expect, foundFirm, look } from '../../tenancy/staff.ts'

const service = await startService(t)
const firm = await foundFirm(service)
const log = '/api/v1/audit-log/'

interface Entry {
  id: string
  at: string
  actor: { id: string | null; email: string | null; type: string }
  action: string
  target: { type: string; id: string }
  changes: Record<string, { before: unknown; after: unknown }>
}

const entries = async (query = ''): Promise<Entry[]> =>
  (await expect(200, firm.owner.get(`${log}?page_size=100&${query}`))).results

t.test('an entry holds actor, action, time, origin and decision', async (t) => {
  const headers = { 'x-request-id': 'change-1', 'user-agent': 'Tester/1' }
  const role = (
    await firm.owner.post(`${firm.path}/roles/`, { name: 'Clerk', permissions: ['member:list'] }, { headers })
  ).body
  t.match(await entries('action=role:create'), [
    {
      at: new Date(service.now()).toISOString(),
      actor: { id: firm.owner.id, email: firm.owner.email, type: 'user' },
      action: 'role:create',
      target: { type: 'role', id: role.id },
      ip: '127.0.0.1',
      user_agent: 'Tester/1',
      request_id: 'change-1',
      decision_id: /^[0-9a-f-]{36}$/,
      changes: {
        name: { before: null, after: 'Clerk' },
        permissions: { before: null, after: ['member:list'] },
      },
    },
  ])
  await firm.owner.put(`${firm.path}/roles/${role.id}/`, { permissions: ['member:list', 'role:list'] })
  t.same((await entries('action=role:update'))[0]!.changes, {
    permissions: { before: ['member:list'], after: ['member:list', 'role:list'] },
  })
  await firm.owner.put(`${firm.path}/roles/${role.id}/`, { permissions: ['member:list', 'role:list'] })
  t.equal((await entries('action=role:update')).length, 1, 'a request that changes nothing leaves no entry')
  await firm.owner.delete(`${firm.path}/roles/${role.id}/`)
  t.equal((await entries(`target_id=${role.id}`)).length, 3)
})

t.test('refused and rolled-back requests are not in the audit log', async (t) => {
  const before = (await entries()).length
  await expect(409, firm.owner.post(`${firm.path}/roles/`, { name: 'owner', permissions: [] }))
  await expect(400, firm.owner.post(`${firm.path}/members/`, { user_id: firm.id }))
  t.equal((await entries()).length, before)
})

t.test('every change of a tenant leaves an entry', async (t) => {
  const { owner, path } = firm
  const clerk = await firm.hire('member')
  await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, { roles: ['auditor'] }))
  const { id: department } = await expect(201, owner.post(`${path}/departments/`, { name: 'Sales' }))
  await expect(200, owner.put(`${path}/departments/${department}/`, { name: 'Trade' }))
  await expect(204, owner.delete(`${path}/departments/${department}/`))
  await expect(200, owner.put(`${path}/`, { name: 'Firm and Sons' }))
  await expect(200, owner.post(`${path}/suspend/`))
  await expect(200, owner.post(`${path}/activate/`))
  const { id: cancelled } = await expect(201, owner.post(`${path}/invitations/`, { email: 'a@example.com' }))
  await expect(200, owner.post(`${path}/invitations/${cancelled}/resend/`))
  await expect(200, owner.post(`${path}/invitations/${cancelled}/cancel/`))
  const guest = await service.signUp()
  await expect(201, owner.post(`${path}/invitations/`, { email: guest.email }))
  const token = tokenIn(await service.mailTo(guest.email, 'invited'))
  await expect(200, guest.post('/api/v1/invitations/accept/', { token }))
  await clerk.patch('/api/v1/users/me/', { first_name: 'Changed' })
  await expect(204, owner.delete(`${path}/members/${clerk.memberId}/`))
  const told = new Set((await entries()).map(({ action }) => action))
  for (const action of [
    ...['tenant:create', 'tenant:update', 'tenant:suspend', 'tenant:activate', 'session:switch'],
    ...['member:create', 'member:update', 'member:delete', 'profile:update', 'email_verification:confirm'],
    ...['department:create', 'department:update', 'department:delete'],
    ...['invitation:create', 'invitation:resend', 'invitation:cancel', 'invitation:accept'],
  ])
    t.ok(told.has(action), action)
  t.match((await entries('action=tenant:suspend'))[0]!.changes, {
    status: { before: 'active', after: 'suspended' },
  })
  const roles = (await entries('action=member:update'))[0]!.changes
  t.same(roles, { roles: { before: ['member'], after: ['auditor'] } })
})

t.test('changes of a person to their own account appear in the log of their present tenant', async (t) => {
  const person = await service.signUp()
  await person.patch('/api/v1/users/me/', { first_name: 'Other' })
  const own = (await person.get(`${log}?page_size=100`)).body.results.map(({ action }: Entry) => action)
  t.same(new Set(own), new Set(['user:register', 'tenant:create', 'session:create', 'profile:update']))
  const rest = await service.logIn(person)
  await rest.post('/api/v1/auth/logout/')
  t.equal((await person.get(`${log}?action=session:logout`)).body.results.length, 1)
})

t.test('owners, admins and auditors read the audit log of their own tenant', async (t) => {
  for (const [role, status] of [
    ['admin', 200],
    ['auditor', 200],
    ['member', 403],
  ] as const)
    t.equal((await (await firm.hire(role)).get(log)).status, status, role)
  const stranger = await service.signUp()
  const { results } = (await stranger.get(`${log}?page_size=100`)).body
  t.notOk(results.some(({ target }: Entry) => target.id === firm.id))
  t.same((await stranger.get(`${log}?actor_id=${firm.owner.id}`)).body.results, [])
})

t.test('the audit log is listed newest first, in pages, without a count', async (t) => {
  const first = (await firm.owner.get(`${log}?page_size=5`)).body
  t.notOk('count' in first)
  const met: Entry[] = [...first.results]
  for (let { next } = first; next; ) {
    const page = (await firm.owner.get(next)).body
    met.push(...page.results)
    next = page.next
  }
  const all = await entries()
  t.same(
    met.map(({ id }) => id).slice(0, 100),
    all.map(({ id }) => id),
  )
  t.same(
    all.map(({ at }) => at),
    all
      .map(({ at }) => at)
      .sort()
      .reverse(),
  )
  t.ok((await entries(`actor_id=${firm.owner.id}`)).every(({ actor }) => actor.id === firm.owner.id))
  t.equal((await entries(`created_at__gte=${new Date(service.now() + 1_000).toISOString()}`)).length, 0)
  for (const wrong of [
    'actor_id=x',
    'target_id=1',
    'action=nonsense',
    'created_at__lte=now',
    'ordering=action',
  ])
    t.equal((await firm.owner.get(`${log}?${wrong}`)).status, 400, wrong)
})

t.test(
  'no database role can change or truncate the log, and only the worker can delete from it',
  async (t) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      t.equal((await service.call(method, log, { token: firm.owner.access, body: {} })).status, 405, method)
    const [row] = await look(
      service,
      `select string_agg(grantee || ' ' || privilege_type, ',' order by grantee, privilege_type) as all
     from information_schema.role_table_grants where table_name = 'audit_log' and grantee like 'bailiwick\\_%'
       and grantee <> 'bailiwick_owner' and privilege_type in ('UPDATE', 'TRUNCATE', 'DELETE')`,
    )
    t.equal(row.all, 'bailiwick_worker DELETE', 'the worker sees only entries of deleted tenants')
  },
)

t.test('the log contains no secret, and rejects fields that are named like one', async (t) => {
  const password = 'canary-9f3a harbour'
  const person = await service.signUp({ password })
  await firm.owner.post(`${firm.path}/invitations/`, { email: person.email })
  const token = tokenIn(await service.mailTo(person.email, 'invited'))
  await person.post('/api/v1/invitations/accept/', { token })
  const all = JSON.stringify(await look(service, 'select * from audit_log'))
  for (const canary of [password, token, person.access, person.refresh, '$argon2']) t.notMatch(all, canary)
  const row = {
    tenantId: firm.id,
    actor: null,
    requestInfo: { requestId: 'r', ip: '', userAgent: '' },
    action: 'tenant:update',
    target: { type: 'tenant', id: firm.id },
    at: service.now(),
  } as const
  for (const field of ['password', 'newPassword', 'client_secret', 'token_hash', 'refresh_token', 'codes'])
    await t.rejects(
      inTenant(service.deps.db, { tenantId: firm.id, userId: firm.owner.id }, (tx) =>
        appendAudit(tx, { ...row, changes: { [field]: { before: null, after: 'x' } } }),
      ),
      { message: new RegExp(field) },
    )
})

t.test('a row of the audit log has a digest of a value of more than 4 KiB', async (t) => {
  const value = {
    attribute: 'subject.email',
    operator: 'in',
    value: Array.from({ length: 200 }, (_, n) => `${n}@example.com`.padStart(40, 'x')),
  }
  const policy = { name: 'Long', effect: 'deny', actions: ['doc:read'], conditions: value }
  t.equal((await firm.owner.post('/api/v1/policies/', policy)).status, 201)
  const { changes } = (await entries('action=policy:create'))[0]!
  t.match(changes.conditions, { before: null, after: { sha256: /^[0-9a-f]{64}$/, bytes: Number } })
  t.match(changes.name, { after: 'Long' })
})

t.test('changes are the fields that differ, independent of order', async (t) => {
  t.same(changesBetween({ a: 1, b: { x: 1, y: 2 } }, { b: { y: 2, x: 1 }, a: 2 }), {
    a: { before: 1, after: 2 },
  })
  t.same(changesBetween(null, { a: null, b: 0 }), { b: { before: null, after: 0 } })
  t.same(changesBetween({ a: [1] }, null), { a: { before: [1], after: null } })
})

t.test('the activity of the last seven days is counted by day, in the time zone of the tenant', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const count = async () => (await expect(200, owner.get('/api/v1/activity/'))).days
  const before = await count()
  t.equal(before.length, 7)
  const dates = before.map(({ date }: { date: string }) => date)
  t.strictSame(dates, dates.toSorted())
  t.equal(dates.at(-1), new Date(service.now()).toISOString().slice(0, 10))
  t.strictSame(before[0], { date: dates[0], joined: 0, sign_ins: 0, failed_sign_ins: 0, denials: 0 })
  await service.logIn(owner)
  const wrong = { email: owner.email, password: 'wrong wrong wrong' }
  await expect(401, service.call('POST', '/api/v1/auth/login/', { body: wrong }))
  await expect(403, member.post('/api/v1/webhooks/', { url: 'https://example.com/' }))
  await expect(403, member.get('/api/v1/activity/'))
  const [was, is] = [before.at(-1), (await count()).at(-1)]
  t.strictSame(is, {
    ...was,
    sign_ins: was.sign_ins + 1,
    failed_sign_ins: was.failed_sign_ins + 1,
    denials: was.denials + 2,
  })
  t.equal(was.joined, 2)
  await expect(
    200,
    owner.patch(`/api/v1/tenants/${owner.tenantId}/`, { settings: { time_zone: 'Pacific/Kiritimati' } }),
  )
  const there = new Intl.DateTimeFormat('en-CA', { timeZone: 'Pacific/Kiritimati' }).format(service.now())
  t.match((await count()).at(-1).date, there)
})
