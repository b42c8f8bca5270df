import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })

t.test('policies see the address of a member only after it was verified', async (t) => {
  const owner = await service.signUp()
  const claimant = await colleague(service, owner)
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const rowOf = async (path: string) =>
    (await owner.get(path)).body.results.find((row: { email: string }) => row.email === claimant.email)
  const member = await rowOf(members)
  t.match(member, { email_verified: false })
  t.match(await rowOf('/api/v1/users/'), { email_verified: false })
  const actions = ['member:list', 'user:list', 'user:read', 'member:update']
  const conditions = { attribute: 'resource.email', operator: 'ne', value: claimant.email }
  const allow = { name: 'Hide others', effect: 'deny', actions, conditions }
  const { body: policy } = await owner.post('/api/v1/policies/', allow)

  const outcomes = async () => {
    const user = { type: 'user', id: claimant.id }
    const question = {
      subject: { type: 'user', id: owner.id },
      action: { name: 'user:read' },
      resource: user,
    }
    return {
      members: (await rowOf(members)) !== undefined,
      users: (await rowOf('/api/v1/users/')) !== undefined,
      detail: (await owner.get(`${members}${member.id}/`)).status,
      user: (await owner.get(`/api/v1/users/${claimant.id}/`)).status,
      change: (await owner.patch(`${members}${member.id}/`, { status: 'active' })).status,
      evaluation: (await owner.post('/access/v1/evaluation', question)).body.decision,
    }
  }
  const none = { members: false, users: false, detail: 403, user: 403, change: 403, evaluation: false }
  t.same(await outcomes(), none, 'a claimed address is missing, and with it a deny applies')
  await proveAddress(service, claimant)
  const all = { members: true, users: true, detail: 200, user: 200, change: 200, evaluation: true }
  t.same(await outcomes(), all)
  t.match(await rowOf(members), { email_verified: true })
  t.equal((await owner.delete(`/api/v1/policies/${policy.id}/`)).status, 204)
})
