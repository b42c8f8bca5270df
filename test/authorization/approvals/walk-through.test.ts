import { createHash, randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { startService } from '../../helpers/service.ts'
import { wrongCounts } from '../../tenancy/staff.ts'
import {
  approvals,
  approve,
  ask,
  cancel,
  countDepartments,
  newBody,
  openOffice,
  policies,
  reject,
  repeat,
} from './office.ts'

const service = await startService(t)
const database = await openDatabase(t, service)
const uuid = /^[0-9a-f-]{36}$/

t.test('a call that needs an approval is refused, approved, repeated once, and recorded', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver, policy, departments } = office
  const body = { name: 'Legal' }

  const refused = await asker.post(departments, body)
  t.match(refused, {
    status: 403,
    body: {
      code: 'approval_required',
      decision_id: uuid,
      reasons: [{ code: 'policy_gate', layer: 'policy', policy_id: policy.id }],
      approval_request: { id: uuid, status: 'pending', expires_at: '2026-11-22T12:00:00.000Z' },
    },
  })
  const { id, url } = refused.body.approval_request
  t.equal(url, `${service.url}${approvals}${id}/`)
  t.same((await asker.post(departments, body)).body.approval_request, refused.body.approval_request)
  t.same((await asker.post(departments, { name: 'Legal', id: 'x' })).body.approval_request.id, id)
  t.match(await repeat(office, asker, id, body), {
    status: 403,
    body: { code: 'approval_required', approval_request: { id, status: 'pending' } },
  })

  const seen = await approver.get(`${approvals}${id}/`)
  t.match(seen.body, {
    id,
    status: 'pending',
    requester: { id: asker.id, email: asker.email },
    action: 'department:create',
    resource_type: 'department',
    resource_id: null,
    context: { method: 'POST', path: departments, body },
    reason: 'Required by “Four eyes”.',
    policy_id: policy.id,
    policy_version: 1,
    required_approvals: 1,
    votes: [],
    decided_at: null,
    executed_at: null,
    created_at: '2026-11-21T12:00:00.000Z',
  })

  service.advance(60_000)
  const given = await approve(approver, id, 'Go on')
  t.match(given, {
    status: 200,
    body: {
      status: 'approved',
      decided_at: '2026-11-21T12:01:00.000Z',
      expires_at: '2026-11-21T13:01:00.000Z',
      votes: [
        {
          approver: { id: approver.id, email: approver.email },
          decision: 'approve',
          comment: 'Go on',
          at: '2026-11-21T12:01:00.000Z',
        },
      ],
    },
  })
  t.match((await asker.post(departments, body)).body.approval_request, { id, status: 'approved' })

  const done = await repeat(office, asker, id.toUpperCase(), body)
  t.match(done, { status: 201, body: { name: 'Legal' } })
  t.match((await asker.get(`${approvals}${id}/`)).body, {
    status: 'executed',
    executed_at: '2026-11-21T12:01:00.000Z',
  })
  t.match(await repeat(office, asker, id, body), { status: 403, body: { code: 'approval_invalid' } })
  t.equal(await countDepartments(office), 1)
  const next = await ask(office, asker, body)
  t.not(next, id, 'the same call later creates another request')

  const mail = await service.mailTo(approver.email, 'Approval requested')
  t.ok(mail.text.includes(`/console/approvals/${id}?organisation=`) && mail.text.includes(asker.email))
  await service.mailTo(owner.email, 'Approval requested')
  await service.mailTo(asker.email, 'was approved')
  const events = (await eventsOf(database, owner.tenantId)).filter(({ subject }) => subject === id)
  t.match(events, [
    { type: 'authorization.approval_requested', data: { approval_request_id: id }, actor_id: asker.id },
    { type: 'authorization.approval_approved', actor_id: approver.id },
    { type: 'authorization.approval_executed', actor_id: asker.id },
  ])
  t.equal(events.length, 3)
  const decision = await owner.get(`/api/v1/decisions/${refused.body.decision_id}/`)
  t.match(decision.body, { effect: 'require_approval', reasons: [{ code: 'policy_gate' }] })
})

t.test('an approval is valid for its requester, call and body only', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver, departments } = office
  const body = newBody()
  const id = await ask(office, asker, body)
  await approve(approver, id)
  const invalid = { status: 403, body: { code: 'approval_invalid' } }
  t.match(await repeat(office, asker, id, newBody()), invalid, 'another body')
  t.match(await repeat(office, owner, id, body), invalid, 'another person')
  t.match(await repeat(office, asker, randomUUID(), body), invalid, 'an unknown id')
  const elsewhere = await openOffice(service)
  const foreign = await ask(elsewhere, elsewhere.asker, body)
  t.match(await repeat(office, asker, foreign, body), invalid, 'the id of another tenant')
  const badHeader = { status: 400, body: { errors: [{ field: 'Approval-Request' }] } }
  // Found by Schemathesis: an empty header counted as none, and no-break spaces around an id were removed.
  for (const malformed of ['x', '1', '', `${id}, ${id}`, `${id}0`])
    t.match(await repeat(office, asker, malformed, body), badHeader, malformed)
  for (const malformed of ['', `\u00a0${id}`])
    t.match(
      await owner.delete(`${departments}${randomUUID()}/`, { headers: { 'approval-request': malformed } }),
      badHeader,
      malformed,
    )
  const headers = { 'approval-request': id }
  const role = { name: 'Clerk', permissions: [] }
  t.match(
    await asker.post(`/api/v1/tenants/${owner.tenantId}/roles/`, role, { headers }),
    invalid,
    'another action',
  )
  t.equal(
    (await asker.get(departments, { headers: { 'approval-request': 'x' } })).status,
    200,
    'a read needs no approval',
  )
  t.equal(await countDepartments(office), 0)
  const upper = await repeat(office, asker, id.toUpperCase(), body)
  t.equal(upper.status, 201, 'it is still valid for its own call, in upper case too')
})

t.test(
  'an approval is valid for its method and route, even if another has the same action and body',
  async (t) => {
    const office = await openOffice(service, {}, { actions: ['department:update'] })
    const { owner, approver, departments } = office
    const { body: made } = await owner.post(departments, newBody())
    const path = `${departments}${made.id}/`
    const body = newBody()
    const refused = await owner.put(path, body)
    const { id } = refused.body.approval_request
    t.equal((await approve(approver, id)).status, 200)
    const headers = { 'approval-request': id }
    const invalid = { status: 403, body: { code: 'approval_invalid' } }
    t.match(await owner.patch(path, body, { headers }), invalid)
    const other = (await owner.patch(path, body)).body.approval_request
    t.not(other.id, id, 'it is a separate request')

    const bodyAlone = createHash('sha256').update(JSON.stringify(body)).digest('hex')
    const stored = 'update approval_requests set digest = $2 where id = $1'
    const [{ digest }] = (await database.query('select digest from approval_requests where id = $1', [id]))
      .rows
    await database.query(stored, [id, bodyAlone])
    t.match(
      await owner.put(path, body, { headers }),
      invalid,
      'an approval of the previous release is not valid either',
    )
    await database.query(stored, [id, digest])
    t.match(await owner.put(path, body, { headers }), { status: 200, body })
  },
)

t.test('rejected, cancelled and expired approvals permit nothing', async (t) => {
  const office = await openOffice(service, { expires_in: 600 })
  const { asker, approver } = office
  const invalid = { status: 403, body: { code: 'approval_invalid' } }
  const body = newBody()
  const first = await ask(office, asker, body)
  t.match(await reject(approver, first), { status: 200, body: { status: 'rejected' } })
  t.match(await repeat(office, asker, first, body), invalid)
  await service.mailTo(asker.email, 'was rejected')
  const second = await ask(office, asker, body)
  t.not(second, first)
  t.match(await cancel(asker, second), { status: 200, body: { status: 'cancelled' } })
  t.match(await repeat(office, asker, second, body), invalid)
  const third = await ask(office, asker, body)
  service.advance(600_000)
  t.match(await repeat(office, asker, third, body), invalid)
  t.equal(await countDepartments(office), 0)
})

t.test('each person has one vote; repeating it changes nothing, the opposite is refused', async (t) => {
  const office = await openOffice(service, { quorum: 2 })
  const { owner, asker, approver } = office
  const id = await ask(office, asker, newBody())
  const one = await approve(approver, id)
  t.match(one, { status: 200, body: { status: 'pending', votes: { length: 1 } } })
  t.same((await approve(approver, id, 'again')).body, one.body)
  t.match(await reject(approver, id), {
    status: 409,
    body: { code: 'invalid_state', current_state: 'pending' },
  })
  t.match(await approve(asker, id), { status: 403, body: { code: 'self_approval_forbidden' } })
  t.match(await reject(asker, id), { status: 403, body: { code: 'self_approval_forbidden' } })
  const both = await approve(owner, id)
  t.match(both.body, { status: 'approved', votes: { length: 2 } })
  t.same((await approve(owner, id)).body, both.body, 'also after the decision')
  t.match(await reject(owner, id), { status: 409, body: { current_state: 'approved' } })
  const late = await colleague(service, owner, 'admin')
  t.match(await approve(late, id), {
    status: 409,
    body: { code: 'invalid_state', current_state: 'approved' },
  })
})

t.test('only members that the policy names can approve', async (t) => {
  const office = await openOffice(service, { approver: { roles: ['auditor'] } })
  const { owner, asker, approver } = office
  const body = newBody()
  t.match(await asker.post(office.departments, body), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'no_eligible_approver' }, { code: 'policy_gate' }] },
  })
  const auditor = await colleague(service, owner, 'auditor')
  const id = await ask(office, asker, body)
  t.match(await approve(owner, id), { status: 403, body: { code: 'permission_denied' } })
  t.match(await approve(approver, id), { status: 403, body: { code: 'permission_denied' } })
  t.match((await owner.get(`${approvals}pending/`)).body, { count: 0, results: [] })
  t.match((await auditor.get(`${approvals}pending/`)).body, { count: 1, results: [{ id }] })
  t.match(await approve(auditor, id), { status: 200, body: { status: 'approved' } })
  t.match((await auditor.get(`${approvals}pending/`)).body, { count: 0 })
})

t.test('the requester can cancel a request; owners and admins can while it is pending', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver } = office
  const member = await colleague(service, owner)
  const first = await ask(office, asker, newBody())
  t.equal((await cancel(member, first)).status, 403)
  t.match((await cancel(owner, first)).body, { status: 'cancelled' })
  await service.mailTo(asker.email, 'was cancelled')
  t.match(await cancel(owner, first), { status: 409, body: { current_state: 'cancelled' } })
  const second = await ask(office, asker, newBody())
  await approve(approver, second)
  t.match(await cancel(owner, second), { status: 409, body: { current_state: 'approved' } })
  t.match((await cancel(asker, second)).body, { status: 'cancelled' })
})

t.test(
  'owners, admins and auditors see all requests, members their own and those that they can decide',
  async (t) => {
    const owner = await service.signUp()
    const { body: role } = await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, {
      name: 'Inviter',
      permissions: ['department:create'],
    })
    const { body: referee } = await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, {
      name: 'Referee',
      permissions: [],
    })
    await owner.post(policies, {
      name: 'Referees decide',
      effect: 'require_approval',
      actions: ['department:create'],
      approval: { approver: { roles: ['Referee'] } },
    })
    const office = { owner, departments: `/api/v1/tenants/${owner.tenantId}/departments/` } as never
    const asker = await colleague(service, owner, role.id)
    const judge = await colleague(service, owner, referee.id)
    const other = await colleague(service, owner)
    const auditor = await colleague(service, owner, 'auditor')
    const id = await ask(office, asker, newBody())
    for (const who of [owner, asker, judge, auditor]) {
      t.match((await who.get(`${approvals}${id}/`)).status, 200)
      t.match((await who.get(approvals)).body, { count: 1, results: [{ id }] })
    }
    t.equal((await other.get(`${approvals}${id}/`)).status, 404)
    t.match((await other.get(approvals)).body, { count: 0, results: [] })
    t.match((await other.get(`${approvals}pending/`)).body, { count: 0 })
    t.equal((await approve(other, id)).status, 403)
    const stranger = await service.signUp()
    for (const answer of [
      stranger.get(`${approvals}${id}/`),
      approve(stranger, id),
      reject(stranger, id),
      cancel(stranger, id),
    ])
      t.match(await answer, { status: 404, body: { code: 'not_found' } })
    t.match((await stranger.get(approvals)).body, { count: 0 })
    for (const [filter, count] of [
      ['status=pending', 1],
      ['status=approved', 0],
      ['action=department:create', 1],
      ['action=role:create', 0],
      [`requester_id=${asker.id}`, 1],
      [`requester_id=${judge.id}`, 0],
    ])
      t.equal((await auditor.get(`${approvals}?${filter}`)).body.count, count, String(filter))
    t.equal((await auditor.get(`${approvals}?status=maybe`)).status, 400)
    t.match((await approve(judge, id)).body, { status: 'approved' })
  },
)

t.test('requests to decide are listed even if a policy checks each row, and it can hide rows', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver } = office
  const [shown, hidden] = [await ask(office, asker, newBody()), await ask(office, asker, newBody())]
  await owner.post(policies, {
    name: 'Not this one',
    effect: 'deny',
    actions: ['approval_request:list_pending'],
    conditions: { all: [{ attribute: 'resource.id', operator: 'eq', value: hidden }] },
  })
  const { body } = await approver.get(`${approvals}pending/`)
  t.same(
    body.results.map(({ id }: { id: string }) => id),
    [shown],
  )
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
