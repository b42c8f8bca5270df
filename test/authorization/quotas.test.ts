import t from 'tap'
import { dailyQuota } from '../../src/authorization/decisions/daily-quota.ts'
import { deleteOutdated } from '../../workers/retention.ts'
import { startService } from '../helpers/service.ts'
import { expect, foundFirm, look, wrongCounts } from '../tenancy/staff.ts'

const env = { LIMIT_POLICY_VERSIONS: '3', LIMIT_TENANTS_PER_PERSON: '2' }
const service = await startService(t, { env })
const policies = '/api/v1/policies/'

t.test('the newest LIMIT_POLICY_VERSIONS versions of a policy are kept', async (t) => {
  const owner = await service.signUp()
  const { id } = await expect(201, owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] }))
  for (let n = 2; n <= 5; n++) await expect(200, owner.patch(`${policies}${id}/`, { description: `${n}` }))
  const { results } = await expect(200, owner.get(`${policies}${id}/versions/`))
  t.same(
    results.map(({ version }: { version: number }) => version),
    [5, 4, 3],
  )
  t.equal((await owner.post(`${policies}${id}/rollback/`, { version: 1 })).status, 404)
})

t.test(
  'the limit of tenants per person holds for simultaneous requests, and deleted tenants count',
  async (t) => {
    const person = await service.signUp()
    const create = () => person.post('/api/v1/tenants/', { name: 'One more' })
    const answers = await Promise.all([create(), create(), create(), create()])
    const made = answers.filter(({ status }) => status === 201)
    t.equal(made.length, 2)
    for (const answer of answers.filter(({ status }) => status !== 201))
      t.match(answer, { status: 409, body: { code: 'limit_reached' } })
    await expect(204, person.delete(`/api/v1/tenants/${made[0]?.body.id}/`))
    t.equal((await create()).status, 409)
  },
)

t.test('the body of a gated call is removed 30 days after its request ended, and not before', async (t) => {
  const { owner, id, path, hire } = await foundFirm(service)
  const gate = { name: 'Ask', effect: 'require_approval', actions: ['department:create'] }
  await expect(201, owner.post(policies, gate))
  const admin = await hire('admin')
  t.equal((await admin.post(`${path}/departments/`, { name: 'Secret plan' })).status, 403)
  const [request] = await look(service, 'select id from approval_requests')
  const body = async () =>
    (
      await look(service, 'select context -> $2 as body from approval_requests where id = $1', [
        request.id,
        'body',
      ])
    )[0].body
  await expect(200, owner.post(`/api/v1/approval-requests/${request.id}/reject/`, {}))
  service.advance(30 * 86_400_000 - 1_000)
  await deleteOutdated(service.worker!)
  t.match(await body(), { name: 'Secret plan' })
  service.advance(2_000)
  t.equal((await deleteOutdated(service.worker!)).approval_bodies, 1)
  t.equal(await body(), null)
  const again = await service.logIn(owner)
  if (again.tenantId !== id) await again.switchTo(id)
  t.match(await again.get(`/api/v1/approval-requests/${request.id}/`), {
    status: 200,
    body: { status: 'rejected', context: { body: null } },
  })
})

t.test('the versions of a policy are deleted 90 days after the policy, and not before', async (t) => {
  const owner = await service.signUp()
  const { id } = await expect(201, owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] }))
  const kept = await expect(201, owner.post(policies, { name: 'y', effect: 'deny', actions: ['doc:read'] }))
  await expect(200, owner.patch(`${policies}${id}/`, { description: '2' }))
  await expect(204, owner.delete(`${policies}${id}/`))
  const versions = async (policy: string) =>
    (await look(service, 'select from policy_versions where policy_id = $1', [policy])).length
  service.advance(90 * 86_400_000 - 1_000)
  await deleteOutdated(service.worker!)
  t.equal(await versions(id), 2)
  service.advance(2_000)
  t.equal((await deleteOutdated(service.worker!)).versions_of_deleted, 2)
  t.equal(await versions(id), 0)
  t.equal(await versions(kept.id), 1)
})

t.test('an approval request is deleted 400 days after it ended, with its votes', async (t) => {
  const { owner, id: tenantId, path, hire } = await foundFirm(service)
  await expect(
    201,
    owner.post(policies, { name: 'Ask', effect: 'require_approval', actions: ['department:create'] }),
  )
  const admin = await hire('admin')
  for (const name of ['Rejected', 'Pending'])
    t.equal((await admin.post(`${path}/departments/`, { name })).status, 403)
  const ofTenant = 'where tenant_id = $1'
  const requests = () =>
    look(service, `select id from approval_requests ${ofTenant} order by created_at`, [tenantId])
  const [rejected] = await requests()
  await expect(200, owner.post(`/api/v1/approval-requests/${rejected.id}/reject/`, {}))
  service.advance(400 * 86_400_000 - 1_000)
  await deleteOutdated(service.worker!)
  t.equal((await requests()).length, 2)
  service.advance(2_000)
  t.equal((await deleteOutdated(service.worker!)).approval_requests, 1)
  t.equal((await requests()).length, 1, 'one that is still open stays')
  t.equal((await look(service, `select from approval_votes ${ofTenant}`, [tenantId])).length, 0)
  t.same(await wrongCounts(service), [])
})

t.test(
  'decisions of yesterday do not use up the quota of today, even if they are counted after midnight',
  async (t) => {
    const midnight = Date.UTC(2026, 10, 22)
    const quota = dailyQuota(100)
    const none = new Map<string, number>()
    const admits = (now: number) =>
      quota.admits({
        id: 'not in the sample',
        always: true,
        decision: { effect: 'deny' },
        query: { now, subject: { tenantId: 'a', id: 'b' } },
      } as never)
    quota.learn(new Map([['a', 100]]), none, midnight - 2)
    t.notOk(admits(midnight - 1))
    t.ok(admits(midnight))
    quota.learn(new Map([['a', 100]]), none, midnight - 1)
    t.ok(admits(midnight + 1))
    quota.learn(new Map([['a', 100]]), none, midnight + 1)
    t.notOk(admits(midnight + 2))
  },
)
