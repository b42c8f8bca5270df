import t from 'tap'
import { expireRequests } from '../../../src/authorization/approvals/expire-requests.ts'
import { openPool } from '../../../src/database/executor/pool.ts'
import { colleague } from '../../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { type Client, startService } from '../../helpers/service.ts'
import {
  approvals,
  approve,
  ask,
  cancel,
  countDepartments,
  newBody,
  openOffice,
  policies,
  repeat,
} from './office.ts'

const service = await startService(t)
const database = await openDatabase(t, service)
const invalid = { status: 403, body: { code: 'approval_invalid' } }

const memberId = async (owner: Client, userId: string): Promise<string> => {
  const { body } = await owner.get(`/api/v1/tenants/${owner.tenantId}/members/?user_id=${userId}`)
  return body.results[0].id
}
const change = async (owner: Client, person: Client, body: object) => {
  const id = await memberId(owner, person.id)
  return owner.put(`/api/v1/tenants/${owner.tenantId}/members/${id}/`, body)
}

t.test('the vote of a member who loses the role before the quorum is complete does not count', async (t) => {
  const office = await openOffice(service, { quorum: 2 })
  const { owner, asker, approver } = office
  const third = await colleague(service, owner, 'admin')
  const id = await ask(office, asker, newBody())
  await approve(approver, id)
  t.equal((await change(owner, approver, { roles: ['member'] })).status, 200)
  t.match((await approve(third, id)).body, { status: 'pending', votes: { length: 2 } })
  t.match((await approve(owner, id)).body, { status: 'approved', votes: { length: 3 } })
})

t.test('the vote of a suspended member does not count, and suspended members get no mail', async (t) => {
  const office = await openOffice(service, { quorum: 2 })
  const { owner, asker, approver } = office
  const id = await ask(office, asker, newBody())
  await approve(approver, id)
  await change(owner, approver, { status: 'suspended' })
  t.match((await approve(owner, id)).body, { status: 'pending' })
  const alone = await openOffice(service, { approver: { roles: ['auditor'] } })
  const auditor = await colleague(service, alone.owner, 'auditor')
  await change(alone.owner, auditor, { status: 'suspended' })
  t.match(await alone.asker.post(alone.departments, newBody()), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'no_eligible_approver' }] },
  })
})

t.test('an edited policy needs a new approval, also for a pending request', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver, policy } = office
  const [body, other] = [newBody(), newBody()]
  const approved = await ask(office, asker, body)
  const waiting = await ask(office, asker, other)
  await approve(approver, approved)
  await owner.patch(`${policies}${policy.id}/`, { description: 'Now with words' })
  const again = await repeat(office, asker, approved, body)
  t.match(again, {
    status: 403,
    body: { code: 'approval_required', approval_request: { status: 'pending' } },
  })
  t.not(again.body.approval_request.id, approved)
  const next = await ask(office, asker, other)
  t.not(next, waiting)
  t.match((await asker.get(`${approvals}${waiting}/`)).body, { status: 'cancelled' })
  t.match(await approve(approver, waiting), { status: 409 })
  await approve(approver, next)
  t.equal((await repeat(office, asker, next, other)).status, 201)
})

t.test(
  'without the policy a call needs no approval, and an approval that is sent with it is used up',
  async (t) => {
    const office = await openOffice(service)
    const { owner, asker, approver, policy, departments } = office
    const [body, other] = [newBody(), newBody()]
    const id = await ask(office, asker, body)
    const waiting = await ask(office, asker, other)
    await approve(approver, id)
    await owner.delete(`${policies}${policy.id}/`)
    t.match(await repeat(office, asker, waiting, other), { status: 403, body: { code: 'approval_required' } })
    t.equal((await repeat(office, asker, id, body)).status, 201)
    t.match(await repeat(office, asker, id, body), invalid)
    t.equal((await asker.post(departments, other)).status, 201)
  },
)

t.test('a deny overrides an approval', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver } = office
  const body = newBody()
  const id = await ask(office, asker, body)
  await approve(approver, id)
  await owner.post(policies, { name: 'Closed', effect: 'deny', actions: ['department:create'] })
  t.match(await repeat(office, asker, id, body), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'policy_deny' }] },
  })
  t.match((await asker.get(`${approvals}${id}/`)).body, { status: 'approved' })
})

t.test('an approval has no effect without the permission, or for a suspended member', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver } = office
  const body = newBody()
  const id = await ask(office, asker, body)
  await approve(approver, id)
  await change(owner, asker, { roles: ['member'] })
  t.match(await repeat(office, asker, id, body), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'missing_permission' }] },
  })
  await change(owner, asker, { status: 'suspended' })
  t.match(await repeat(office, asker, id, body), { status: 403, body: { code: 'no_active_membership' } })
  await change(owner, asker, { status: 'active', roles: ['admin'] })
  t.equal((await repeat(office, asker, id, body)).status, 201, 'it is valid again with both')
})

t.test('a call that fails for another reason does not use up the approval', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver } = office
  const top = newBody()
  const first = await ask(office, owner, top)
  await approve(approver, first)
  const parent = (await repeat(office, owner, first, top)).body
  const body = { ...newBody(), parent_id: parent.id }
  const id = await ask(office, asker, body)
  await approve(approver, id)
  t.equal((await owner.delete(`${office.departments}${parent.id}/`)).status, 204)
  t.match(await repeat(office, asker, id, body), { status: 400, body: { errors: [{ field: 'parent_id' }] } })
  t.match((await asker.get(`${approvals}${id}/`)).body, { status: 'approved', executed_at: null })
  t.equal(await countDepartments(office), 0)
})

t.test('a request expires on the second, both to decide and to use, with one event', async (t) => {
  const pool = await openPool(service.databases.worker, { size: 2, prepared: true, applicationName: 'test' })
  t.teardown(() => pool.end())
  const office = await openOffice(service, { expires_in: 100, valid_for: 50 })
  const { owner, asker, approver } = office
  const bodies = [newBody(), newBody(), newBody()]
  const [late, unused, used] = await Promise.all(bodies.map((body) => ask(office, asker, body)))
  service.advance(99_999)
  for (const id of [unused, used]) t.equal((await approve(approver, id!)).status, 200)
  service.advance(1)
  t.match(await approve(approver, late!), { status: 409, body: { current_state: 'expired' } })
  t.match(await cancel(asker, late!), { status: 409, body: { current_state: 'expired' } })
  t.match((await asker.get(`${approvals}${late}/`)).body, { status: 'expired' })
  t.match((await asker.get(`${approvals}?status=expired`)).body, { count: 1, results: [{ id: late }] })
  t.equal((await asker.get(`${approvals}?status=pending`)).body.count, 0)
  service.advance(49_998)
  t.equal((await repeat(office, asker, used!, bodies[2]!)).status, 201, 'valid_for counts from the decision')
  service.advance(1)
  t.match(await repeat(office, asker, unused!, bodies[1]!), invalid)
  t.match(await cancel(asker, unused!), { status: 409, body: { current_state: 'expired' } })
  const runs = await Promise.all(
    [1, 2, 3].map(() => expireRequests({ worker: pool }, service.now(), 'tidying')),
  )
  t.equal(
    runs.reduce((sum, count) => sum + count, 0),
    2,
  )
  t.equal(await expireRequests({ worker: pool }, service.now(), 'tidying'), 0)
  const events = (await eventsOf(database, owner.tenantId)).filter(({ type }) =>
    type.endsWith('approval_expired'),
  )
  t.same(events.map(({ subject }) => subject).sort(), [late, unused].sort())
  const again = await ask(office, asker, bodies[0]!)
  t.not(again, late)
})

t.test('the next call expires an overdue request before the job does, with one event', async (t) => {
  const pool = await openPool(service.databases.worker, { size: 1, prepared: true, applicationName: 'test' })
  t.teardown(() => pool.end())
  const office = await openOffice(service, { expires_in: 100 })
  const { owner, asker } = office
  const body = newBody()
  const first = await ask(office, asker, body)
  service.advance(100_000)
  t.not(await ask(office, asker, body), first)
  await expireRequests({ worker: pool }, service.now(), 'tidying')
  const events = (await eventsOf(database, owner.tenantId)).filter(({ subject }) => subject === first)
  t.same(
    events.map(({ type }) => type),
    ['authorization.approval_requested', 'authorization.approval_expired'],
  )
})

t.test('a gate on policies applies to owners only while another member can approve', async (t) => {
  const owner = await service.signUp()
  const gate = { name: 'Four eyes', effect: 'require_approval', actions: ['policy:*'] }
  const { body: policy } = await owner.post(policies, gate)
  const url = `${policies}${policy.id}/`
  t.equal((await owner.patch(url, { description: 'alone' })).status, 200, 'there is no other member')
  t.equal((await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })).status, 201)
  const admin = await colleague(service, owner, 'admin')
  const change2 = { description: 'together' }
  const refused = await owner.patch(url, change2)
  t.match(refused, { status: 403, body: { code: 'approval_required' } })
  t.match((await owner.delete(url)).body, { code: 'approval_required' })
  const { id } = refused.body.approval_request
  t.match((await owner.get(`${approvals}${id}/`)).body, { resource_type: 'policy', resource_id: policy.id })
  await approve(admin, id)
  t.match(await owner.patch(url, change2, { headers: { 'approval-request': id } }), {
    status: 200,
    body: { version: 3, description: 'together' },
  })
  await change(owner, admin, { status: 'suspended' })
  t.equal((await owner.delete(url)).status, 204, 'alone again')
})

t.test('an admin without possible approvers is refused by a gate on policies, unlike an owner', async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  await owner.post(policies, {
    name: 'Auditors decide',
    effect: 'require_approval',
    actions: ['policy:*'],
    approval: { approver: { roles: ['auditor'] } },
  })
  t.match(await admin.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] }), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'no_eligible_approver' }] },
  })
  t.equal((await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })).status, 201)
})

t.test('several gates require the highest quorum, and a role of each', async (t) => {
  const office = await openOffice(service, { quorum: 1, expires_in: 500 })
  const { owner, asker, approver, departments } = office
  await owner.post(policies, {
    name: 'Auditors, too',
    effect: 'require_approval',
    actions: ['department:*'],
    approval: { approver: { roles: ['auditor'] }, expires_in: 100 },
  })
  t.match((await asker.post(departments, newBody())).body.reasons, [{ code: 'no_eligible_approver' }])
  await change(owner, approver, { roles: ['admin', 'auditor'] })
  const id = await ask(office, asker, newBody())
  t.equal((await approve(owner, id)).status, 403)
  const { body } = await approve(approver, id)
  t.match(body, { status: 'approved', reason: /Four eyes.*Auditors, too|Auditors, too.*Four eyes/ })
})

t.test('a quorum that cannot be reached does not lock an owner out of the policies', async (t) => {
  const owner = await service.signUp()
  await colleague(service, owner, 'admin')
  const { body: policy } = await owner.post(policies, {
    name: 'Three pairs of eyes',
    effect: 'require_approval',
    actions: ['policy:*'],
    approval: { quorum: 2 },
  })
  t.equal((await owner.patch(`${policies}${policy.id}/`, { description: 'of two people' })).status, 200)
  await colleague(service, owner, 'admin')
  t.match(await owner.delete(`${policies}${policy.id}/`), {
    status: 403,
    body: { code: 'approval_required' },
  })
})

t.test('a body that is too long for approvers to read is refused', async (t) => {
  const office = await openOffice(service, {}, { actions: ['role:create'] })
  const permissions = Array.from({ length: 2_000 }, (_, n) => `document${n}:read_something_of_it`)
  const answer = await office.asker.post(`/api/v1/tenants/${office.owner.tenantId}/roles/`, {
    name: 'Reader',
    permissions,
  })
  t.ok([400, 413].includes(answer.status), `${answer.status}`)
  t.equal((await office.owner.get(approvals)).body.count, 0)
})

t.test('every change of a request is in the audit log, votes below the quorum included', async (t) => {
  const office = await openOffice(service, { quorum: 2 })
  const { owner, asker, approver } = office
  const body = newBody()
  const id = await ask(office, asker, body)
  await approve(approver, id)
  await approve(owner, id)
  t.equal((await repeat(office, asker, id, body)).status, 201)
  const { body: log } = await owner.get(`/api/v1/audit-log/?target_id=${id}`)
  t.match(
    log.results.map(({ action, actor, changes }: Record<string, object>) => ({ action, actor, changes })),
    [
      {
        action: 'approval_request:execute',
        actor: { id: asker.id },
        changes: { status: { after: 'executed' } },
      },
      {
        action: 'approval_request:approve',
        actor: { id: owner.id },
        changes: { status: { after: 'approved' } },
      },
      {
        action: 'approval_request:approve',
        actor: { id: approver.id },
        changes: { vote: { after: 'approve' } },
      },
      {
        action: 'approval_request:request',
        actor: { id: asker.id },
        changes: { status: { after: 'pending' } },
      },
    ],
  )
})

t.test('an approval for a key of one service account makes no key of another', async (t) => {
  const { owner, asker, approver } = await openOffice(service, {}, { actions: ['api_key:create'] })
  const make = async (name: string) => {
    const { status, body } = await owner.post('/api/v1/service-accounts/', { name, roles: ['member'] })
    t.equal(status, 201)
    return `/api/v1/service-accounts/${body.id}/keys/`
  }
  const [first, second] = [await make('first'), await make('second')]
  const body = { name: 'robot', scopes: ['member:list'] }
  const refused = await asker.post(first, body)
  t.match(refused, { status: 403, body: { code: 'approval_required' } })
  const { id } = refused.body.approval_request
  const other = await asker.post(second, body)
  t.not(other.body.approval_request.id, id, 'a call about the other account waits for a request of its own')
  t.equal((await approve(approver, id)).status, 200)
  const named = { headers: { 'approval-request': id } }
  t.match(await asker.post(second, body, named), invalid)
  t.equal((await asker.post(first, body, named)).status, 201)
})
