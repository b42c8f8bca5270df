import t from 'tap'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { rounds } from '../../helpers/rounds.ts'
import type { Answer } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect } from '../../tenancy/staff.ts'
import {
  about,
  approved,
  consume,
  evaluate,
  gateOf,
  type House,
  newInvoice,
  openHouse,
  request,
  requested,
  statusOf,
  userOf,
} from './counting-house.ts'
import { approve, cancel, policies, reject } from './office.ts'

const service = await sharedService(t, { workers: false })
const database = await openDatabase(t, service)

const times = <T>(count: number, call: (n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => call(n)))
const withStatus = (answers: Answer[], status: number) =>
  answers.filter((answer) => answer.status === status).length
const eventsAbout = async ({ id: tenantId }: House, id: string) =>
  (await eventsOf(database, tenantId))
    .filter(({ subject }) => subject === id)
    .map(({ type }) => type.replace('authorization.approval_', ''))

t.test('the same question, asked 20 times at once by two askers, is one request', async (t) => {
  const house = await openHouse(service)
  const question = { ...about(newInvoice()), ...userOf(house.clerk) }
  const answers = await times(20, (n) => request(n % 2 ? house.clerk : house.backend, question))
  t.equal(withStatus(answers, 201), 1)
  t.equal(withStatus(answers, 200), 19)
  const ids = new Set(answers.map(({ body }) => body.id))
  t.equal(ids.size, 1)
  t.same(await eventsAbout(house, [...ids][0]!), ['requested'])
  const { rows } = await database.query(
    "select count(*)::int as mails from mails where tenant_id = $1 and template = 'approval_requested'",
    [house.id],
  )
  t.equal(rows[0].mails, 2, 'the owner and the admin')
})

t.test('of 20 simultaneous operations one consumes the approval', async (t) => {
  const house = await openHouse(service)
  const question = { ...about(newInvoice()), ...userOf(house.clerk) }
  const id = await approved(house, question)
  const answers = await times(20, (n) => consume(n % 2 ? house.clerk : house.backend, id, `op-${n}`))
  t.equal(withStatus(answers, 200), 1)
  const refused = answers.filter(({ status }) => status !== 200)
  t.ok(refused.every(({ status, body }) => status === 409 && body.current_state === 'executed'))
  t.same(await eventsAbout(house, id), ['requested', 'approved', 'executed'])
  const winner = answers.findIndex(({ status }) => status === 200)
  const again = await times(20, (n) => consume(n % 2 ? house.clerk : house.backend, id, `op-${n}`))
  t.same(
    again.flatMap(({ status }, n) => (status === 200 ? [n] : [])),
    [winner],
  )
})

t.test('20 simultaneous attempts at one operation all get the one consumption', async (t) => {
  const house = await openHouse(service)
  const id = await approved(house, about(newInvoice()))
  const answers = await times(20, () => consume(house.clerk, id, 'op'))
  t.equal(withStatus(answers, 200), 20)
  t.equal(new Set(answers.map(({ body }) => JSON.stringify(body))).size, 1)
  t.same(await eventsAbout(house, id), ['requested', 'approved', 'executed'])
  const audit = await house.owner.get(`/api/v1/audit-log/?target_id=${id}&action=approval_request:execute`)
  t.equal(audit.body.results.length, 1)
})

t.test('of a vote, a rejection and a cancellation at once exactly one decides', async (t) => {
  for (let round = 0; round < rounds(3, 8); round++) {
    const house = await openHouse(service)
    const id = await requested(house.clerk, about(newInvoice()))
    const moves = [
      () => approve(house.approver, id),
      () => reject(house.owner, id),
      () => cancel(house.owner, id),
    ]
    const start = round % 3
    const answers = await Promise.all([...moves.slice(start), ...moves.slice(0, start)].map((move) => move()))
    t.equal(withStatus(answers, 200), 1)
    t.equal(withStatus(answers, 409), 2)
    t.same(await eventsAbout(house, id), ['requested', await statusOf(house, id)])
  }
})

t.test('an approval that is consumed and cancelled at once is one of the two', async (t) => {
  for (let round = 0; round < rounds(4, 10); round++) {
    const house = await openHouse(service)
    const id = await approved(house, about(newInvoice()))
    const [used, taken] = await Promise.all([consume(house.clerk, id, 'op'), cancel(house.clerk, id)])
    t.same(
      [used.status, taken.status, await statusOf(house, id)],
      used.status === 200 ? [200, 409, 'executed'] : [409, 200, 'cancelled'],
    )
  }
})

t.test(
  'a policy that changes while its approval is consumed: it is used, or is no longer what was approved',
  async (t) => {
    const seen = new Set<number>()
    for (let round = 0; round < rounds(4, 10); round++) {
      const house = await openHouse(service)
      const { clerk, owner, gate } = house
      const id = await approved(house, about(newInvoice()))
      const [answers] = await Promise.all([
        times(4, (n) => consume(clerk, id, `op-${n}`)),
        expect(200, owner.put(`${policies}${gate.id}/`, gateOf({ description: `round ${round}` }))),
      ])
      const used = withStatus(answers, 200)
      seen.add(used)
      t.ok(used <= 1)
      t.equal(await statusOf(house, id), used === 1 ? 'executed' : 'approved')
      const refused = answers.filter(({ status }) => status !== 200)
      t.ok(refused.every(({ status, body }) => status === 409 || body.code === 'approval_invalid'))
      t.match(await consume(clerk, id, 'late'), used === 1 ? { status: 409 } : { status: 403 })
    }
    t.comment(`consumptions: ${[...seen].join(', ')}`)
  },
)

t.test(
  'a registered value that changes while its approval is consumed: one of the two is first',
  async (t) => {
    for (let round = 0; round < rounds(4, 10); round++) {
      const house = await openHouse(service)
      const invoice = newInvoice()
      const put = (amount: number) =>
        house.owner.put(`/api/v1/resources/invoice/${invoice}/`, { attributes: { amount } })
      await put(5000)
      const id = await approved(house, about(invoice))
      const [used] = await Promise.all([consume(house.clerk, id, 'op'), put(9000)])
      t.equal(await statusOf(house, id), used.status === 200 ? 'executed' : 'approved')
      t.match(
        used,
        used.status === 200 ? { status: 200 } : { status: 403, body: { code: 'approval_invalid' } },
      )
      t.equal((await evaluate(house.clerk, about(invoice))).body.decision, false)
    }
  },
)

t.test('a consumption at the moment at which the approval ends is refused, or the only one', async (t) => {
  const house = await openHouse(service)
  const id = await approved(house, about(newInvoice()))
  const { rows } = await database.query(
    'update approval_requests set expires_at = to_timestamp($2) where id = $1 returning status',
    [id, service.now() / 1000],
  )
  t.same(rows, [{ status: 'approved' }])
  const answers = await times(5, (n) => consume(house.clerk, id, `op-${n}`))
  t.ok(answers.every(({ status, body }) => status === 409 && body.current_state === 'expired'))
})
