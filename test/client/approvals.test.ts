import t from 'tap'
import { bearer, createClient, isProblem } from '../../packages/client/exports.ts'
import { about, newInvoice, openHouse } from '../authorization/approvals/counting-house.ts'
import { approve } from '../authorization/approvals/office.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect } from '../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })

t.test('an approval is asked for, and consumed once, although answers are lost', async (t) => {
  const { clerk, approver } = await openHouse(service)
  let lost = 0
  const lossy: typeof fetch = async (input, init) => {
    const answer = await fetch(input, init)
    if (init?.method === 'POST' && lost++ % 2 === 0) throw new TypeError('connection reset')
    return answer
  }
  const client = createClient({ url: service.url, credentials: bearer(clerk.access), fetch: lossy })
  const question = about(newInvoice())
  const asked = { ...question, subject: { type: 'user', id: clerk.id }, action: { name: question.action } }
  t.equal(await client.authorize(asked), false)
  const made = await client.approvals.request({ ...question, message: 'Paper' })
  t.match(made, { kind: 'application', status: 'pending', context: { properties: { amount: 5000 } } })
  t.equal((await client.approvals.request(question)).id, made.id)
  await expect(200, approve(approver, made.id))
  t.equal((await client.call('POST /access/v1/evaluation', { body: asked })).decision, true)
  t.equal(await client.authorize(asked), false, 'an approval has to be consumed first')
  t.match(await client.approvals.consume(made.id, 'transfer 1'), { id: made.id, status: 'executed' })
  const again = await client.approvals.consume(made.id, 'transfer 2').catch((error: unknown) => error)
  t.ok(isProblem(again, 'invalid_state'))
  t.ok(lost > 10)
})
