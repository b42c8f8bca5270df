import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { startService } from '../../helpers/service.ts'
import { expect } from '../../tenancy/staff.ts'
import {
  about,
  approved,
  consume,
  evaluate,
  gateOf,
  newInvoice,
  openHouse,
  request,
  requested,
  statusOf,
  userOf,
} from './counting-house.ts'
import { approvals, approve, policies } from './office.ts'

const service = await startService(t)
const database = await openDatabase(t, service)

const invalid = { status: 403, body: { code: 'approval_invalid', decision_id: String } }
const forbidden = { status: 403, body: { code: 'permission_denied' } }

t.test('an application asks, another person approves, and the approval is used once', async (t) => {
  const { clerk, approver, owner, gate, id: tenant } = await openHouse(service)
  const question = about(newInvoice(), 5000, { message: 'Paper for the year' })
  const asked = await evaluate(clerk, question)
  t.match(asked.body, {
    decision: false,
    context: { effect: 'require_approval', approval: { method: 'POST', path: approvals } },
  })
  t.notOk('approval_request' in asked.body.context)

  const made = await request(clerk, question)
  t.match(made, {
    status: 201,
    body: {
      kind: 'application',
      status: 'pending',
      requester: { id: clerk.id, email: clerk.email },
      subject: { type: 'user', id: clerk.id, email: clerk.email },
      action: 'invoice:approve',
      resource_type: 'invoice',
      resource_id: question.resource.id,
      message: 'Paper for the year',
      reason: 'Required by “Large invoices”.',
      policy_id: gate.id,
      policy_version: 1,
      required_approvals: 1,
      expires_at: '2026-11-22T12:00:00.000Z',
      execution: null,
    },
  })
  const { id, context, expires_at } = made.body
  t.same(Object.keys(context).sort(), ['context', 'decision_id', 'properties'])
  t.same([context.properties, context.context], [{ amount: 5000 }, {}])
  const decision = await owner.get(`/api/v1/decisions/${context.decision_id}/`)
  t.match(decision.body, { effect: 'require_approval', action: 'invoice:approve', subject: { id: clerk.id } })
  t.match(
    await request(clerk, question),
    { status: 200, body: { id } },
    'the same question, the same request',
  )
  t.same((await evaluate(clerk, question)).body.context.approval_request, {
    id,
    status: 'pending',
    expires_at,
  })
  t.match(await consume(clerk, id, 'op-1'), {
    status: 409,
    body: { code: 'invalid_state', current_state: 'pending' },
  })

  t.match((await approver.get(`${approvals}pending/`)).body.results, [{ id }])
  t.match((await approve(approver, id)).body, { status: 'approved', expires_at: '2026-11-21T13:00:00.000Z' })
  const allowed = (await evaluate(clerk, question)).body
  t.match(allowed, {
    decision: true,
    context: { effect: 'allow', reasons: [{}, { code: 'approval_granted' }] },
  })
  t.same(allowed.context.approval_request, { id, valid_until: '2026-11-21T13:00:00.000Z' })
  t.match(await request(clerk, question), { status: 200, body: { id, status: 'approved' } })

  service.advance(60_000)
  const used = await consume(clerk, id, 'op-1')
  t.match(used, { status: 200, body: { id, status: 'executed', executed_at: '2026-11-21T12:01:00.000Z' } })
  t.same((await consume(clerk, id, 'op-1')).body, used.body, 'a lost answer comes again')
  t.match(await consume(clerk, id, 'op-2'), { status: 409, body: { current_state: 'executed' } })
  t.match((await evaluate(clerk, question)).body, {
    decision: false,
    context: { approval_request: undefined },
  })
  t.not(await requested(clerk, question), id, 'the next time asks anew')

  const mail = await service.mailTo(approver.email, 'Approval requested')
  t.ok(mail.text.includes(`${clerk.email} asks`) && mail.text.includes('invoice:approve'))
  t.notOk(mail.text.includes('Paper for the year'), 'what the application writes is in no mail')
  t.match(await service.mailTo(clerk.email, 'was approved'), { text: /in the application/ })
  const events = (await eventsOf(database, tenant)).filter(({ subject }) => subject === id)
  t.same(
    events.map(({ type, actor_id }) => [type, actor_id]),
    [
      ['authorization.approval_requested', clerk.id],
      ['authorization.approval_approved', approver.id],
      ['authorization.approval_executed', clerk.id],
    ],
  )
  const { results } = (await owner.get(`/api/v1/audit-log/?target_id=${id}`)).body
  t.same(
    results.map(({ action }: { action: string }) => action),
    ['approval_request:execute', 'approval_request:approve', 'approval_request:request'],
  )
})

t.test('an approval is for what the policies read of the question, and for nothing else', async (t) => {
  const all = ['resource.amount', 'resource.payee', 'environment.channel', 'action.urgent', 'subject.limit']
  const house = await openHouse(service, {
    conditions: {
      any: [
        { attribute: 'resource.amount', operator: 'gte', value: 1000 },
        ...all.slice(1).map((attribute) => ({ attribute, operator: 'exists' })),
        { attribute: 'environment.hour', operator: 'gte', value: 99 },
      ],
    },
  })
  const { clerk, owner } = house
  const resource = (more: object) => ({
    type: 'invoice',
    id: 'one',
    properties: { amount: 5000, payee: 'Paper', ...more },
  })
  const question = {
    action: { name: 'approve', properties: { urgent: true, colour: 'red' } },
    resource: resource({}),
    context: { channel: 'app', request: 1 },
    subject: { ...userOf(clerk).subject, properties: { limit: 1 } },
  }
  const id = await approved(house, question)
  t.same((await clerk.get(`${approvals}${id}/`)).body.context, {
    properties: { amount: 5000, payee: 'Paper' },
    action_properties: { urgent: true },
    context: { channel: 'app' },
    decision_id: (await clerk.get(`${approvals}${id}/`)).body.context.decision_id,
  })
  const decide = async (more: object) => (await evaluate(clerk, { ...question, ...more })).body.decision
  service.advance(240_000)
  for (const same of [
    {},
    { context: { channel: 'app', request: 2 } },
    { action: { name: 'invoice:approve', properties: { urgent: true } } },
    { subject: { type: 'user', id: clerk.id.toUpperCase(), properties: { limit: 2 } } },
    { resource: resource({ colour: 'red' }) },
  ])
    t.equal(await decide(same), true, JSON.stringify(same))
  for (const other of [
    { context: { channel: 'mail' } },
    { context: {} },
    { action: { name: 'approve', properties: { urgent: false } } },
    { action: { name: 'approve', properties: { urgent: 'true' } } },
    { resource: resource({ amount: 5001 }) },
    { resource: resource({ amount: '5000' }) },
    { resource: resource({ amount: [5000] }) },
    { resource: resource({ payee: null }) },
    { resource: { ...resource({}), id: 'two' } },
    { subject: { type: 'user', id: owner.id } },
  ])
    t.equal((await evaluate(owner, { ...question, ...other })).body.decision, false, JSON.stringify(other))
  t.match(await consume(clerk, id, 'pay one'), { status: 200, body: { status: 'executed' } })
})

t.test('registered values count in place of sent ones, and a change of them ends the approval', async (t) => {
  const house = await openHouse(service)
  const { clerk, owner } = house
  const id = newInvoice()
  const put = (amount: number, more: object = {}) =>
    owner.put(`/api/v1/resources/invoice/${id}/`, { attributes: { amount, ...more } })
  await put(7000, { payee: 'Paper' })
  const request = await approved(house, about(id, 1))
  t.same((await clerk.get(`${approvals}${request}/`)).body.context.properties, { amount: 7000 })
  t.equal((await evaluate(clerk, about(id, 2))).body.decision, true, 'what is sent does not count')
  await put(8000, { payee: 'Paper' })
  t.equal((await evaluate(clerk, about(id, 7000))).body.decision, false)
  t.match(await consume(clerk, request, 'op'), invalid)
  await owner.delete(`/api/v1/resources/invoice/${id}/`)
  t.match(await consume(clerk, request, 'op'), invalid, 'nobody vouches for the value any more')
  await put(7000, { payee: 'Scissors' })
  t.equal(await statusOf(house, request), 'approved', 'it is unused')
  t.match(await consume(clerk, request, 'op'), { status: 200 }, 'no policy reads the payee')
})

t.test(
  'a consumption is decided anew: what is denied by now, or gated otherwise, leaves it unused',
  async (t) => {
    const house = await openHouse(service)
    const { clerk, owner, approver, gate, path } = house
    const question = about(newInvoice())
    const id = await approved(house, question)
    const member = `${path}/members/${clerk.memberId}/`
    const { roles } = await expect(200, owner.get(member))
    await expect(200, owner.put(member, { roles: ['member'] }))
    const denied = await consume(clerk, id, 'op')
    t.match(denied, {
      status: 403,
      body: { code: 'permission_denied', reasons: [{ code: 'missing_permission' }] },
    })
    t.match((await owner.get(`/api/v1/decisions/${denied.body.decision_id}/`)).body, {
      effect: 'deny',
      action: 'invoice:approve',
    })
    await expect(200, owner.put(member, { roles }))

    const stop = { name: 'Stop', effect: 'deny', actions: ['invoice:approve'] }
    const { id: deny } = await expect(201, owner.post(policies, stop))
    t.match(await consume(clerk, id, 'op'), { status: 403, body: { code: 'permission_denied' } })
    await expect(204, owner.delete(`${policies}${deny}/`))

    const second = gateOf({
      name: 'Second',
      conditions: { attribute: 'resource.amount', operator: 'gt', value: 0 },
    })
    const { id: other } = await expect(201, owner.post(policies, second))
    t.match(await consume(clerk, id, 'op'), invalid, 'another policy asks for an approval, too')
    t.match((await evaluate(clerk, question)).body, {
      decision: false,
      context: { approval_request: undefined },
    })
    await expect(204, owner.delete(`${policies}${other}/`))

    await expect(200, owner.put(`${policies}${gate.id}/`, gateOf({ description: 'The same, in new words' })))
    t.match(await consume(clerk, id, 'op'), invalid, 'a new version of the policy')
    const again = await requested(clerk, question)
    t.not(again, id)
    t.equal(await statusOf(house, id), 'approved')
    await expect(200, approve(approver, again))
    t.match(await consume(clerk, again, 'op'), { status: 200 })
  },
)

t.test('attributes of the subject, its session and the time are those of the consumption', async (t) => {
  const house = await openHouse(service)
  const { clerk, owner, path } = house
  await expect(
    201,
    owner.post(policies, {
      name: 'In time, within the limit',
      effect: 'deny',
      actions: ['invoice:approve'],
      conditions: {
        any: [
          { attribute: 'subject.limit', operator: 'lt', value: 10 },
          { attribute: 'environment.hour', operator: 'gte', value: 20 },
          { attribute: 'resource.payee', operator: 'eq', value: 'Nobody' },
        ],
      },
    }),
  )
  const member = `${path}/members/${clerk.memberId}/`
  const limit = (limit: number) => expect(200, owner.put(member, { attributes: { limit } }))
  await limit(10)
  const question = {
    ...about('x'),
    resource: { type: 'invoice', id: newInvoice(), properties: { amount: 5000, payee: 'P' } },
  }
  const id = await approved(house, question)
  t.same(
    (await clerk.get(`${approvals}${id}/`)).body.context.properties,
    { amount: 5000 },
    'only what the gate reads',
  )
  await limit(9)
  t.match(await consume(clerk, id, 'op'), forbidden)
  await limit(11)
  t.match(await consume(clerk, id, 'op'), { status: 200 }, 'the payee was kept for the policy that denies')
})

t.test('a question that needs no approval, or cannot be approved, is refused with its reason', async (t) => {
  const house = await openHouse(service)
  const { clerk, owner, approver } = house
  t.match(await request(clerk, about(newInvoice(), 10)), {
    status: 409,
    body: { code: 'invalid_state', effect: 'allow', decision_id: String },
  })
  const { subject: outsider } = userOf(await service.signUp())
  for (const [who, denied] of [
    [clerk, { action: 'invoice:shred' }],
    [owner, { subject: outsider }],
  ] as const)
    t.match(await request(who, about('x', 5000, denied)), {
      status: 403,
      body: { code: /permission_denied|no_active_membership/, decision_id: String },
    })
  for (const [field, body] of [
    ['action', {}],
    ['action', { ...about('x'), action: 'role:delete', resource: { type: 'role', id: owner.id } }],
    ['resource', { action: 'invoice:approve' }],
    ['resource.id', { action: 'invoice:approve', resource: { type: 'invoice' } }],
    ['subject', { ...about('x'), subject: 'Ann' }],
    ['context', { ...about('x'), context: [] }],
    ['message', { ...about('x'), message: 'x'.repeat(1001) }],
    ['resource', about('x', 'x'.repeat(40_000))],
  ] as const) {
    const answer = await request(clerk, body)
    t.equal(answer.status, 400, `${field} ${JSON.stringify(answer.body.errors)}`)
    t.ok(
      answer.body.errors.some((error: { field: string }) => error.field === field),
      JSON.stringify(answer.body.errors),
    )
  }
  const long = await request(clerk, about('x', 'x'.repeat(16_400)))
  t.match(long, { status: 413, body: { code: 'payload_too_large' } })
  t.match(
    await request(clerk, {
      ...about(newInvoice()),
      resource: { type: 'invoice', id: 'x', properties: { amount: 2000, note: 'x'.repeat(20_000) } },
    }),
    { status: 201 },
  )
  const id = await requested(clerk, about(newInvoice()))
  for (const operation of [undefined, '', 7, 'x'.repeat(129)])
    t.match(await clerk.post(`${approvals}${id}/consume/`, { operation_id: operation }), {
      status: 400,
      body: { errors: [{ field: 'operation_id' }] },
    })
  const lone = await openHouse(service, { approval: { approver: { roles: ['auditor'] } } })
  t.match(await request(lone.clerk, about(newInvoice())), {
    status: 403,
    body: { code: 'permission_denied', reasons: [{ code: 'no_eligible_approver' }, { code: 'policy_gate' }] },
  })
  await expect(200, approve(approver, id))
  t.match(await clerk.post(`${approvals}${id}/consume/`, { operation_id: 'x'.repeat(128) }), { status: 200 })
})

t.test(
  'an approval that is not used in time expires, and a used one answers its operation for a day more',
  async (t) => {
    const house = await openHouse(service, { approval: { valid_for: 600 } })
    const { clerk } = house
    const [early, late] = [about(newInvoice()), about(newInvoice())]
    const [used, unused] = [await approved(house, early), await approved(house, late)]
    await expect(200, consume(clerk, used, 'op'))
    service.advance(600_000)
    t.match((await evaluate(clerk, late)).body, { decision: false, context: { approval_request: undefined } })
    t.match(await consume(clerk, unused, 'op'), { status: 409, body: { current_state: 'expired' } })
    service.advance(86_400_000 - 1)
    const fresh = await service.logIn(clerk)
    await fresh.switchTo(clerk.tenantId)
    t.match(await consume(fresh, used, 'op'), { status: 200 })
    service.advance(1)
    t.match(await consume(fresh, used, 'op'), { status: 409, body: { current_state: 'executed' } })
  },
)

t.test('an Idempotency-Key gets the first answer again, with its status', async (t) => {
  const { clerk } = await openHouse(service)
  const question = about(newInvoice())
  const send = (key: string) => clerk.post(approvals, question, { headers: { 'idempotency-key': key } })
  const [first, again, found, foundAgain] = [
    await send('a'),
    await send('a'),
    await send('b'),
    await send('b'),
  ]
  t.same(
    [first, again, found, foundAgain].map(({ status }) => status),
    [201, 201, 200, 200],
  )
  t.same([again.body, found.body, foundAgain.body], [first.body, first.body, first.body])
})
