import t from 'tap'
import { approve } from '../../authorization/approvals/office.ts'
import { colleague } from '../../helpers/colleague.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect } from '../../tenancy/staff.ts'

const service = await sharedService(t, { workers: false })
const all = '/api/v1/webhooks/'
const url = 'https://receiver.example/events'

t.test(
  'a gate allows one webhook to be created, and its URL to be changed, with another person’s approval',
  async (t) => {
    const owner = await service.signUp()
    const other = await colleague(service, owner, 'admin')
    const actions = ['webhook:create', 'webhook:update']
    await expect(
      201,
      owner.post('/api/v1/policies/', { name: 'Four eyes', effect: 'require_approval', actions }),
    )
    const asked = await expect(403, owner.post(all, { url }))
    t.equal(asked.code, 'approval_required')
    t.equal((await expect(200, owner.get(all))).count, 0)
    const { id } = asked.approval_request
    await expect(200, approve(other, id))
    const headers = { 'approval-request': id }
    const elsewhere = { url: 'https://elsewhere.example/' }
    t.match(await owner.post(all, elsewhere, { headers }), {
      status: 403,
      body: { code: 'approval_invalid' },
    })
    const answers = await Promise.all([1, 2, 3, 4].map(() => owner.post(all, { url }, { headers })))
    const made = answers.filter(({ status }) => status === 201)
    t.equal(made.length, 1, 'the approval is consumed by the change')
    const { id: webhookId, secret } = made[0]!.body
    t.equal((await expect(200, owner.get(all))).count, 1)
    t.notMatch(JSON.stringify(await expect(200, other.get('/api/v1/approval-requests/'))), secret)

    const change = await expect(403, owner.put(`${all}${webhookId}/`, elsewhere))
    t.equal(change.code, 'approval_required')
    await expect(200, approve(other, change.approval_request.id))
    const approved = { headers: { 'approval-request': change.approval_request.id } }
    t.match(await owner.put(`${all}${webhookId}/`, elsewhere, approved), { status: 200, body: elsewhere })
    await expect(200, owner.post(`${all}${webhookId}/test/`))
  },
)

t.test('no policy gates requests that do not change where events go', async (t) => {
  const owner = await service.signUp()
  const actions = ['webhook:rotate', 'webhook:delete', 'webhook:test', 'webhook:replay', 'webhook:list']
  const policy = { name: 'All', effect: 'require_approval', actions }
  const { warnings } = await expect(201, owner.post('/api/v1/policies/', policy))
  t.same(
    warnings.map(({ code }: { code: string }) => code),
    actions.map(() => 'not_gateable'),
  )
  const { id } = await expect(201, owner.post(all, { url }))
  await expect(200, owner.post(`${all}${id}/rotate-secret/`))
  await expect(204, owner.delete(`${all}${id}/`))
})
