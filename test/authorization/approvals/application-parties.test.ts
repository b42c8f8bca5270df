import t from 'tap'
import { deleteOutdated } from '../../../workers/retention.ts'
import { startService } from '../../helpers/service.ts'
import { createOwnKey } from '../../identity/api-keys/holders.ts'
import { codeAt, enrol } from '../../identity/otp/authenticator.ts'
import { expect, look } from '../../tenancy/staff.ts'
import {
  about,
  approved,
  consume,
  evaluate,
  type House,
  newInvoice,
  openHouse,
  request,
  requested,
  statusOf,
  userOf,
} from './counting-house.ts'
import { approvals, approve, cancel, policies } from './office.ts'

const service = await startService(t)

const forbidden = { status: 403, body: { code: 'permission_denied' } }
const usedWrongly = { status: 409, body: { code: 'invalid_state' } }

t.test(
  'asking and consuming for another subject needs access:evaluate; the subject reads and cancels',
  async (t) => {
    const house = await openHouse(service)
    const { clerk, approver, backend, owner, hire } = house
    const question = { ...about(newInvoice()), ...userOf(clerk) }
    const colleague = await hire('member')
    t.match(await request(colleague, question), forbidden)
    t.match(await request(await hire('auditor'), question), forbidden)
    const id = await requested(backend, question)
    t.match((await clerk.get(`${approvals}${id}/`)).body, {
      requester: { email: '' },
      subject: { type: 'user', id: clerk.id, email: clerk.email },
    })
    t.match((await clerk.get(approvals)).body, { count: 1, results: [{ id }] })
    t.match(await colleague.get(`${approvals}${id}/`), { status: 404 })
    t.match((await clerk.get(`${approvals}pending/`)).body.count, 0)
    t.match(
      await request(clerk, about(question.resource.id)),
      { status: 200, body: { id } },
      'the same question of another asker',
    )
    const byAddress = { ...question, subject: { type: 'user', id: clerk.email } }
    t.match(await request(backend, byAddress), { status: 200, body: { id } })
    t.match(await service.mailTo(approver.email, 'Approval requested'), {
      text: new RegExp(`^For: ${clerk.email}$`, 'm'),
    })
    await expect(200, approve(approver, id))
    await service.mailTo(clerk.email, 'was approved')
    t.match(await consume(colleague, id, 'op'), forbidden)
    t.match((await evaluate(backend, question)).body.context.approval_request, { id, valid_until: String })
    t.match(await consume(backend, id, 'op'), { status: 200 })
    t.match(await consume(clerk, id, 'op'), usedWrongly, 'another caller of the same operation')
    t.match(await consume(owner, id, 'op'), usedWrongly)

    const next = await requested(backend, question)
    t.match(await cancel(colleague, next), { status: 403 })
    t.match(await cancel(clerk, next), { status: 200, body: { status: 'cancelled' } })
    const third = await approved(house, question, backend)
    t.match(await cancel(owner, third), usedWrongly, 'only requester and subject cancel an approved one')
    t.match(await cancel(clerk, third), { status: 200 })
    t.match(await consume(backend, third, 'op'), { status: 409, body: { current_state: 'cancelled' } })
  },
)

t.test(
  'neither requester nor subject votes; who made a key of the asking account can, unless it is the subject',
  async (t) => {
    const house = await openHouse(service)
    const { approver, backend, owner, hire, role } = house
    const boss = await hire('admin')
    const selfApproval = { status: 403, body: { code: 'self_approval_forbidden' } }
    const byBoss = await requested(boss, { ...about(newInvoice()), ...userOf(approver) })
    t.match(await approve(boss, byBoss), selfApproval)
    t.match(await approve(approver, byBoss), selfApproval)
    for (const party of [boss, approver]) t.equal((await party.get(`${approvals}pending/`)).body.count, 0)
    t.match(await approve(owner, byBoss), { status: 200, body: { status: 'approved' } })

    // The owner made the key of the backend.
    const byBackend = await requested(backend, { ...about(newInvoice()), ...userOf(approver) })
    t.match((await owner.get(`${approvals}pending/`)).body.results, [{ id: byBackend }])
    t.match(await approve(owner, byBackend), { status: 200 })
    await expect(
      200,
      owner.patch(`/api/v1/service-accounts/${backend.accountId}/`, {
        roles: [await role('access:evaluate', 'invoice:approve')],
      }),
    )
    const ofBackend = await requested(backend, about(newInvoice()))
    t.match((await owner.get(`${approvals}${ofBackend}/`)).body.subject, {
      type: 'service_account',
      id: backend.accountId,
    })
    t.match(await approve(owner, ofBackend), selfApproval)
    t.equal((await owner.get(`${approvals}pending/`)).body.count, 0)
    t.match(await approve(boss, ofBackend), { status: 200 })
    t.match(await consume(backend, ofBackend, 'op'), { status: 200 })
  },
)

t.test(
  'a subject of a kind of the application has no account, and no member of the same id is it',
  async (t) => {
    const house = await openHouse(service)
    const { clerk, owner, backend, approver } = house
    await expect(201, owner.post(policies, { name: 'Robots', effect: 'allow', actions: ['invoice:approve'] }))
    const question = { ...about(newInvoice()), subject: { type: 'robot', id: clerk.id } }
    const id = await requested(backend, question)
    t.match((await owner.get(`${approvals}${id}/`)).body.subject, { type: 'robot', id: clerk.id })
    t.match(await clerk.get(`${approvals}${id}/`), { status: 404 })
    t.match(await consume(clerk, id, 'op'), forbidden)
    t.match(await cancel(clerk, id), { status: 403 })
    await expect(200, approve(approver, id))
    t.equal(
      (await evaluate(clerk, about(question.resource.id))).body.decision,
      false,
      'that is another subject',
    )
    t.match(await consume(backend, id, 'op'), { status: 200 })
  },
)

t.test('who acts as another member neither asks nor consumes, and uses no approval of theirs', async (t) => {
  const house = await openHouse(service)
  const { clerk, owner } = house
  const question = about(newInvoice())
  const id = await approved(house, question)
  const token = await impersonate(house)
  const as = {
    id: clerk.id,
    post: (path: string, body: unknown) => service.call('POST', path, { token, body }),
  }
  const notAllowed = { status: 403, body: { code: 'impersonation_not_allowed' } }
  t.match(await request(as, about(newInvoice())), notAllowed)
  t.match(await consume(as, id, 'op'), notAllowed)
  t.match((await evaluate(as, question)).body, { decision: false, context: { approval: { method: 'POST' } } })
  t.equal((await evaluate(clerk, question)).body.decision, true)
  t.equal(await statusOf(house, id), 'approved')
  t.ok(owner)
})

t.test('a key with scopes asks for itself within them, and for others with access:evaluate', async (t) => {
  const house = await openHouse(service)
  const { clerk } = house
  const key = async (...scopes: string[]) => ({
    ...(await createOwnKey(service, clerk, { scopes })),
    id: clerk.id,
  })
  const [narrow, other] = [await key('invoice:approve'), await key('invoice:list')]
  const question = about(newInvoice())
  t.match(await request(other, question), { status: 403, body: { reasons: [{ code: 'scope_missing' }] } })
  const id = await requested(narrow, question)
  await expect(200, approve(house.approver, id))
  t.match(await consume(other, id, 'op'), { status: 403, body: { reasons: [{ code: 'scope_missing' }] } })
  t.match(await request(narrow, { ...about(newInvoice()), ...userOf(house.approver) }), forbidden)
  const admins = await createOwnKey(service, house.approver, { scopes: ['invoice:approve'] })
  t.match(await request(admins, { ...about(newInvoice()), ...userOf(clerk) }), forbidden, 'without its scope')
  t.match(await consume(narrow, id, 'op'), { status: 200 })
})

t.test('a batch uses approvals, and stops by what they permit', async (t) => {
  const house = await openHouse(service)
  const { clerk } = house
  const [one, two, three] = [newInvoice(), newInvoice(), newInvoice()]
  const id = await approved(house, about(one))
  const ask = async (evaluations_semantic: string, ...ids: string[]) => {
    const resources = ids.map((id) => ({ resource: about(id, id === three ? 1 : 5000).resource }))
    const { body } = await clerk.post('/access/v1/evaluations', {
      ...userOf(clerk),
      action: { name: 'invoice:approve' },
      evaluations: resources,
      options: { evaluations_semantic },
    })
    return body.evaluations
  }
  const decisions = (answers: { decision: boolean }[]) => answers.map(({ decision }) => decision)
  const all = await ask('execute_all', two, one, three)
  t.same(decisions(all), [false, true, true])
  t.match(all[1].context.approval_request, { id })
  t.match(all[0].context.approval, { method: 'POST', path: approvals })
  t.same(decisions(await ask('deny_on_first_deny', one, two, three)), [true, false])
  t.same(decisions(await ask('permit_on_first_permit', two, one, three)), [false, true])
  t.same(decisions(await ask('permit_on_first_permit', two, two, three)), [false, false, true])
})

t.test('100 requests of a subject can wait, whichever account asks', async (t) => {
  const { clerk, backend, owner } = await openHouse(service)
  const limit = { status: 409, body: { code: 'limit_reached' } }
  for (let n = 0; n < 10; n++)
    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        requested(i % 2 ? clerk : backend, { ...about(newInvoice()), ...userOf(clerk) }),
      ),
    )
  t.match(await request(clerk, about(newInvoice())), limit)
  t.match(await request(backend, { ...about(newInvoice()), ...userOf(clerk) }), limit)
  t.match(await request(backend, { ...about(newInvoice()), ...userOf(owner) }), { status: 201 })
})

t.test('another tenant neither finds nor consumes the approval of one', async (t) => {
  const [here, there] = [await openHouse(service), await openHouse(service)]
  const question = about(newInvoice())
  const id = await approved(here, question)
  t.match(await consume(there.clerk, id, 'op'), { status: 404 })
  t.match(await consume(there.owner, id, 'op'), { status: 404 })
  t.equal((await evaluate(there.clerk, question)).body.decision, false)
  t.match(await consume(here.clerk, here.owner.id, 'op'), { status: 404 })
})

t.test('an approval of a call is not consumed, and one of an application permits no call', async (t) => {
  const house = await openHouse(service, {
    actions: ['invoice:approve', 'department:create'],
    conditions: null,
  })
  const { approver, owner, path } = house
  const refused = await approver.post(`${path}/departments/`, { name: 'Looms' })
  const { id } = refused.body.approval_request
  t.match((await approver.get(`${approvals}${id}/`)).body, {
    kind: 'call',
    subject: { type: 'user', id: approver.id, email: approver.email },
    message: '',
  })
  await expect(200, approve(owner, id))
  t.match(await consume(approver, id, 'op'), { status: 409, body: { current_state: 'approved' } })
  const question = about(newInvoice())
  const asked = await requested(approver, question)
  await expect(200, approve(owner, asked))
  const headers = { 'approval-request': asked }
  t.match(await approver.post(`${path}/departments/`, { name: 'Looms' }, { headers }), {
    status: 403,
    body: { code: 'approval_invalid' },
  })
})

t.test('erasing a person leaves nothing in requests that says who they were', async (t) => {
  const house = await openHouse(service, {
    conditions: { attribute: 'resource.payee', operator: 'exists' },
  })
  const { clerk, backend, owner, id: tenant } = house
  await expect(201, owner.post(policies, { name: 'Friends', effect: 'allow', actions: ['invoice:approve'] }))
  const pay = (payee: string, more: object) => ({
    ...about(newInvoice()),
    resource: { type: 'invoice', id: newInvoice(), properties: { payee, amount: 1 } },
    ...more,
  })
  const subject = { type: 'friend', id: clerk.email }
  const ids = [
    await requested(clerk, pay('Paper', { message: 'I need it' })),
    await requested(backend, pay(`Rent of ${clerk.email}`, userOf(owner))),
    await requested(backend, pay('Paper', { ...userOf(owner), message: `For ${clerk.email}` })),
    await requested(backend, pay('Paper', { subject })),
  ]
  const untouched = await requested(backend, pay('Paper', userOf(owner)))
  await expect(204, clerk.delete('/api/v1/users/me/', { body: { current_password: clerk.password } }))
  service.advance(120_000)
  await deleteOutdated(service.worker!)
  const rows = await look(
    service,
    `select id, row_to_json(r)::text as text, kept is null as is_bare from approval_requests r where tenant_id = $1`,
    [tenant],
  )
  t.equal(rows.filter(({ text }) => text.includes(clerk.email) || text.includes('I need it')).length, 0)
  for (const { id, is_bare } of rows) t.equal(is_bare, ids.includes(id), id)
  t.match((await owner.get(`${approvals}${untouched}/`)).body.context.properties, { payee: 'Paper' })
  const { body } = await owner.get(`${approvals}${ids[0]}/`)
  t.match(body, {
    requester: { id: clerk.id, email: '' },
    subject: { id: clerk.id },
    context: { properties: null },
  })
})

t.test('what the policies read is deleted 30 days after the end of a request', async (t) => {
  const house = await openHouse(service)
  const { clerk, owner } = house
  const id = await approved(house, about(newInvoice()))
  const open = await requested(clerk, about(newInvoice()))
  await expect(200, consume(clerk, id, 'op'))
  const read = async (id: string) => (await owner.get(`${approvals}${id}/`)).body.context
  const month = 30 * 86_400_000
  await deleteOutdated({ ...service.worker!, clock: () => service.now() + month })
  t.same((await read(id)).properties, { amount: 5000 })
  await deleteOutdated({ ...service.worker!, clock: () => service.now() + month + 1 })
  t.match(await read(id), { properties: null, context: null, decision_id: String })
  t.same((await read(open)).properties, { amount: 5000 }, 'it has not ended')
  const [{ kept }] = await look(service, 'select kept from approval_requests where id = $1', [id])
  t.equal(kept, null)
})

async function impersonate({ owner, clerk, path }: House): Promise<string> {
  const { secret } = await enrol(service, owner)
  await expect(200, owner.post('/api/v1/auth/otp/verify/', { code: codeAt(secret, service.now(), 1) }))
  const body = { reason: 'Ticket 4711: approvals' }
  return (await expect(200, owner.post(`${path}/members/${clerk.memberId}/impersonate/`, body))).access
}
