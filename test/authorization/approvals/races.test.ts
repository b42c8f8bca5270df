import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { rounds } from '../../helpers/rounds.ts'
import type { Answer } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
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

const service = await sharedService(t, { workers: false })
const database = await openDatabase(t, service)

const times = <T>(count: number, call: () => Promise<T>) => Promise.all(Array.from({ length: count }, call))
const withStatus = (answers: Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length
const eventsAbout = async (tenantId: string, id: string) =>
  (await eventsOf(database, tenantId)).filter(({ subject }) => subject === id).map(({ type }) => type)

t.test(
  'the same call 20 times at once creates one request, one event and one mail per approver',
  async (t) => {
    const office = await openOffice(service)
    const { asker, owner, departments } = office
    const body = newBody()
    const answers = await times(20, () => asker.post(departments, body))
    t.equal(withStatus(answers, 403), 20)
    const ids = new Set(answers.map((answer) => answer.body.approval_request.id))
    t.equal(ids.size, 1)
    t.equal((await owner.get(approvals)).body.count, 1)
    t.same(await eventsAbout(owner.tenantId, [...ids][0]!), ['authorization.approval_requested'])
    const { rows } = await database.query(
      "select count(*)::int as mails from mails where tenant_id = $1 and template = 'approval_requested'",
      [owner.tenantId],
    )
    t.equal(rows[0].mails, 2, 'the owner and the other admin')
  },
)

t.test('of 20 simultaneous repeats of an approved call exactly one succeeds', async (t) => {
  const office = await openOffice(service)
  const { asker, approver, owner } = office
  const body = newBody()
  const id = await ask(office, asker, body)
  await approve(approver, id)
  const answers = await times(20, () => repeat(office, asker, id, body))
  t.equal(withStatus(answers, 201), 1)
  const refused = answers.filter(({ status }) => status !== 201)
  t.ok(refused.every(({ status, body }) => status === 403 && body.code === 'approval_invalid'))
  t.equal(await countDepartments(office), 1)
  const executed = (await eventsAbout(owner.tenantId, id)).filter((type) => type.endsWith('executed'))
  t.equal(executed.length, 1)
})

t.test(
  'of 20 simultaneous repeats of an approved deletion one deletes, and the others get a reason',
  async (t) => {
    const office = await openOffice(service, {}, { actions: ['policy:delete'] })
    const { asker, approver, owner, policy } = office
    const { body: victim } = await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })
    const url = `${policies}${victim.id}/`
    const { approval_request } = (await asker.delete(url)).body
    await approve(approver, approval_request.id)
    const headers = { 'approval-request': approval_request.id }
    const answers = await times(20, () => asker.delete(url, { headers }))
    t.equal(withStatus(answers, 204), 1)
    const codes = answers.filter(({ status }) => status !== 204).map(({ status }) => status)
    t.ok(
      codes.every((status) => status === 403 || status === 404),
      codes.join(' '),
    )
    t.match((await owner.get(`${approvals}${approval_request.id}/`)).body, {
      status: 'executed',
      resource_id: victim.id,
    })
    t.equal((await owner.get(`${policies}${policy.id}/`)).status, 200)
  },
)

t.test('two approvers at once: with a quorum of one, the later one gets 409', async (t) => {
  for (let round = 0; round < rounds(3, 8); round++) {
    const office = await openOffice(service)
    const { asker, approver, owner } = office
    const id = await ask(office, asker, newBody())
    const answers = await Promise.all([approve(approver, id), approve(owner, id)])
    t.same(answers.map(({ status }) => status).sort(), [200, 409])
    const { body } = await asker.get(`${approvals}${id}/`)
    t.match(body, { status: 'approved', votes: { length: 1 } })
    t.equal((await eventsAbout(owner.tenantId, id)).filter((type) => type.endsWith('approved')).length, 1)
  }
})

t.test('two approvers at once complete a quorum of two exactly once', async (t) => {
  for (let round = 0; round < rounds(3, 8); round++) {
    const office = await openOffice(service, { quorum: 2 })
    const { asker, approver, owner } = office
    const id = await ask(office, asker, newBody())
    const answers = await Promise.all([approve(approver, id), approve(owner, id)])
    t.equal(withStatus(answers, 200), 2)
    t.match((await asker.get(`${approvals}${id}/`)).body, { status: 'approved', votes: { length: 2 } })
    t.equal((await eventsAbout(owner.tenantId, id)).filter((type) => type.endsWith('approved')).length, 1)
  }
})

t.test('of a simultaneous approval, rejection and cancellation exactly one succeeds', async (t) => {
  const seen = new Set<string>()
  for (let round = 0; round < rounds(3, 8); round++) {
    const office = await openOffice(service)
    const { asker, approver, owner } = office
    const id = await ask(office, asker, newBody())
    // The requester can also cancel an approved request, so here an owner cancels.
    const moves = [() => approve(approver, id), () => reject(owner, id), () => cancel(owner, id)]
    const start = round % 3
    const answers = await Promise.all([...moves.slice(start), ...moves.slice(0, start)].map((move) => move()))
    t.equal(withStatus(answers, 200), 1)
    t.equal(withStatus(answers, 409), 2)
    const { status } = (await asker.get(`${approvals}${id}/`)).body
    seen.add(status)
    const events = await eventsAbout(owner.tenantId, id)
    t.same(events, ['authorization.approval_requested', `authorization.approval_${status}`])
  }
  t.comment(`what happened: ${[...seen].sort().join(', ')}`)
})

t.test('one vote of one person, sent ten times at once, counts once', async (t) => {
  const office = await openOffice(service, { quorum: 2 })
  const { asker, approver } = office
  const id = await ask(office, asker, newBody())
  const answers = await times(10, () => approve(approver, id))
  t.equal(withStatus(answers, 200), 10)
  t.match((await asker.get(`${approvals}${id}/`)).body, { status: 'pending', votes: { length: 1 } })
})

t.test('an approval cancelled and used at once is either used or has no effect', async (t) => {
  for (let round = 0; round < rounds(3, 8); round++) {
    const office = await openOffice(service)
    const { asker, approver } = office
    const body = newBody()
    const id = await ask(office, asker, body)
    await approve(approver, id)
    const [used, taken] = await Promise.all([repeat(office, asker, id, body), cancel(asker, id)])
    const { status } = (await asker.get(`${approvals}${id}/`)).body
    t.same(
      [used.status, taken.status, status, await countDepartments(office)],
      used.status === 201 ? [201, 409, 'executed', 1] : [403, 200, 'cancelled', 0],
    )
  }
})
