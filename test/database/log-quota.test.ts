import * as oidc from 'openid-client'
import t from 'tap'
import { deleteOutdated } from '../../workers/retention.ts'
import { type Answer, startService } from '../helpers/service.ts'
import { openMachine } from '../oauth/relying-party.ts'
import { expect, foundFirm, look } from '../tenancy/staff.ts'

const megabyte = 1_000_000
const day = 86_400_000
const service = await startService(t, { env: { LIMIT_LOG_MB_PER_DAY: '1' } })
const policies = '/api/v1/policies/'

/** A policy whose version takes about 6 KB; the audit log gets as much. */
const large = (letter: string, more: object = {}) => ({
  effect: 'deny',
  actions: ['doc:read'],
  conditions: {
    attribute: 'subject.email',
    operator: 'in',
    value: Array.from({ length: 60 }, (_, n) => letter.repeat(90) + n),
  },
  ...more,
})

/** A person, or a key. */
type Editor = Record<'post' | 'patch', (path: string, body: object) => Promise<Answer>>

/** Changes a policy until the service refuses; gives the refusal. */
async function fill(person: Pick<Editor, 'patch'>, id: string) {
  for (let n = 0; n < 100; n++) {
    const answer = await person.patch(`${policies}${id}/`, large(n % 2 ? 'a' : 'b'))
    if (answer.status !== 200) return answer
  }
  throw new Error('Nothing was refused')
}

const nil = '00000000-0000-0000-0000-000000000000'
/** As if changes of this person, or of all, had used all but `left` bytes of their quota. */
const leave = (tenantId: string, userId: string, left: number) =>
  look(service, 'update log_counts set used = $3, most = null where tenant_id = $1 and user_id = $2', [
    tenantId,
    userId,
    (userId === nil ? 1 : 0.1) * megabyte - left,
  ])
const used = async (tenantId: string, userId: string) => {
  const [row] = await look(
    service,
    'select used::int from log_counts where tenant_id = $1 and user_id = $2',
    [tenantId, userId],
  )
  return row?.used ?? 0
}
const create = (person: Pick<Editor, 'post'>, name: string, more: object = {}) =>
  person.post(policies, { name, ...large('c'), ...more })

t.test(
  'a person adds at most a tenth of LIMIT_LOG_MB_PER_DAY to the logs of a tenant, until midnight',
  async (t) => {
    const { owner, id: tenantId, hire } = await foundFirm(service)
    const admin = await hire('admin')
    const { id } = await expect(201, create(owner, 'Filler'))
    const refusal = await fill(owner, id)
    t.match(refusal, { status: 429, body: { code: 'quota_exceeded', title: 'Too many requests' } })
    t.equal(Number(refusal.headers.get('retry-after')), Math.ceil((day - (service.now() % day)) / 1_000))
    const mine = await used(tenantId, owner.id)
    t.ok(mine > 0.08 * megabyte && mine <= 0.1 * megabyte, `${mine} bytes`)
    t.equal((await create(admin, 'Of another person')).status, 201)
    const versions = await owner.get(`${policies}${id}/versions/`)
    t.ok(versions.body.results.length > 3, 'what was written before stays')

    service.advance(day)
    const again = await service.logIn(owner)
    await again.switchTo(tenantId)
    t.equal((await again.patch(`${policies}${id}/`, large('d'))).status, 200)
  },
)

t.test('the keys and machines of service accounts have the tenth of the person who made them', async (t) => {
  const { owner, id: tenantId, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const robots: Editor[] = []
  for (const name of ['One', 'Two']) {
    const account = await expect(201, owner.post('/api/v1/service-accounts/', { name, roles: ['admin'] }))
    const path = `/api/v1/service-accounts/${account.id}/keys/`
    const { key } = await expect(201, owner.post(path, { name: 'Key', expires_in: 86_400 }))
    robots.push({
      post: (path, body) => service.call('POST', path, { token: key, body }),
      patch: (path, body) => service.call('PATCH', path, { token: key, body }),
    })
  }
  const [one, two] = robots as [Editor, Editor]
  const { config } = await openMachine(service, owner, { roles: ['admin'], scopes: ['policy:create'] })
  const { access_token: token } = await oidc.clientCredentialsGrant(config)
  const machine = { post: (path: string, body: object) => service.call('POST', path, { token, body }) }
  const { id } = await expect(201, create(one, 'Filler'))
  t.match(await fill(one, id), { status: 429, body: { code: 'quota_exceeded' } })
  t.match(await create(two, 'Of the other'), { status: 429, body: { code: 'quota_exceeded' } })
  t.match(await create(machine, 'Of a machine'), { status: 429, body: { code: 'quota_exceeded' } })
  t.match(await create(owner, 'Of their maker'), { status: 429, body: { code: 'quota_exceeded' } })
  const mine = await used(tenantId, owner.id)
  t.ok(mine > 0.08 * megabyte && mine <= 0.1 * megabyte, `${mine} bytes`)
  t.equal(await used(tenantId, nil), mine)
  t.equal((await create(admin, 'Of another person')).status, 201)
})

t.test('what takes access away uses up nothing of what others may add', async (t) => {
  const { owner, id: tenantId, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const { id } = await expect(201, create(owner, 'Old'))
  await leave(tenantId, nil, 15_000)
  const mine = await used(tenantId, owner.id)
  t.match(await owner.delete(`${policies}${id}/`), { status: 204 })
  t.equal(await used(tenantId, nil), megabyte - 15_000)
  t.equal(await used(tenantId, owner.id), mine)
  t.match(await create(admin, 'New'), { status: 201 })
})

t.test('a person who asks to remove and cancels without end keeps no other from asking', async (t) => {
  const { owner, id: tenantId, path, hire } = await foundFirm(service)
  const [admin, other, leaver] = [await hire('admin'), await hire('admin'), await hire('member')]
  const gate = { effect: 'require_approval', actions: ['member:delete'] }
  await expect(201, owner.post(policies, { name: 'Ask', ...gate }))
  const member = `${path}/members/${leaver.memberId}/`
  const before = await used(tenantId, nil)
  let asked = await admin.delete(member)
  for (let n = 0; n < 200 && asked.status === 403; n++) {
    const cancel = `/api/v1/approval-requests/${asked.body.approval_request.id}/cancel/`
    t.match(await admin.post(cancel, {}), { status: 200 })
    asked = await admin.delete(member)
  }
  t.match(asked, { status: 429, body: { code: 'quota_exceeded' } })
  t.equal(await used(tenantId, nil), before)
  t.match(await other.delete(member), { status: 403, body: { code: 'approval_required' } })
})

t.test('what takes access away works beyond the quota, as signing in and out', async (t) => {
  const { owner, id: tenantId, path, hire } = await foundFirm(service)
  const leaver = await hire('admin')
  const account = await expect(
    201,
    owner.post('/api/v1/service-accounts/', { name: 'Robot', roles: ['admin'] }),
  )
  const key = await expect(
    201,
    owner.post(`/api/v1/service-accounts/${account.id}/keys/`, { name: 'Key', expires_in: 30 }),
  )
  const { id } = await expect(201, create(owner, 'Filler', { is_active: true }))
  const { id: other } = await expect(201, create(owner, 'Other'))
  await leave(tenantId, owner.id, 100)
  t.match(await owner.patch(`${policies}${id}/`, { is_active: false, name: 'Renamed, too' }), { status: 429 })
  t.match(await owner.patch(`${policies}${id}/`, { is_active: false }), { status: 200 })
  t.match(await owner.patch(`${policies}${id}/`, { is_active: false }), { status: 429 }, 'it is off already')
  t.match(await owner.patch(`${policies}${id}/`, { is_active: true }), { status: 429 })
  t.match(await owner.delete(`${policies}${other}/`), { status: 204 })
  t.match(await owner.patch(`${path}/members/${leaver.memberId}/`, { status: 'suspended' }), { status: 200 })
  t.match(await owner.patch(`${path}/members/${leaver.memberId}/`, { status: 'active' }), { status: 429 })
  t.match(await owner.delete(`${path}/members/${leaver.memberId}/`), { status: 204 })
  t.match(await owner.delete(`/api/v1/service-accounts/${account.id}/keys/${key.id}/`), { status: 204 })
  t.match(await owner.patch(`/api/v1/service-accounts/${account.id}/`, { status: 'disabled' }), {
    status: 200,
  })
  const again = await service.logIn(owner)
  await again.switchTo(tenantId)
  t.ok((await again.post('/api/v1/auth/logout/', {})).status < 300)
  const { results } = await expect(200, owner.get('/api/v1/auth/sessions/'))
  for (const { id } of results) t.equal((await owner.delete(`/api/v1/auth/sessions/${id}/`)).status, 204)
})

t.test('simultaneous changes do not exceed the quota', async (t) => {
  const { owner, id: tenantId } = await foundFirm(service)
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => create(owner, `Policy ${n}`)))
  const codes = new Set(answers.map(({ status }) => status))
  t.ok(codes.has(201) && codes.has(429), [...codes].join())
  t.ok((await used(tenantId, owner.id)) <= 0.1 * megabyte)
  t.equal(
    (await look(service, 'select from policies where tenant_id = $1', [tenantId])).length,
    answers.filter(({ status }) => status === 201).length,
  )
})

t.test('all persons of a tenant share its quota', async (t) => {
  const { owner, id: tenantId, hire } = await foundFirm(service)
  const admin = await hire('admin')
  await expect(201, create(owner, 'First'))
  const ofTenant = await used(tenantId, nil)
  t.ok(ofTenant > (await used(tenantId, owner.id)) - 1)
  await leave(tenantId, nil, 1_000)
  t.match(await create(admin, 'Second'), { status: 429, body: { code: 'quota_exceeded' } })
  t.match(await create(owner, 'Third'), { status: 429, body: { code: 'quota_exceeded' } })
})

t.test('the body of a call that needs an approval counts', async (t) => {
  const { owner, id: tenantId, path, hire } = await foundFirm(service)
  await expect(
    201,
    owner.post(policies, { name: 'Ask', effect: 'require_approval', actions: ['policy:create'] }),
  )
  const admin = await hire('admin')
  t.match(await create(admin, 'Gated'), { status: 403, body: { code: 'approval_required' } })
  t.ok((await used(tenantId, admin.id)) > 6_000)
  const statuses = new Set<number>()
  for (let n = 0; n < 20; n++) statuses.add((await create(admin, `Gated ${n}`)).status)
  t.same([...statuses].sort(), [403, 429])
  t.ok(path)
})

t.test('a removal that needs an approval is requested, approved and made beyond the quota', async (t) => {
  const { owner, id: tenantId, path, hire } = await foundFirm(service)
  const [admin, leaver, removed] = [await hire('admin'), await hire('member'), await hire('member')]
  const gate = { effect: 'require_approval', actions: ['member:delete', 'member:update'] }
  await expect(201, owner.post(policies, { name: 'Ask', ...gate }))
  await expect(201, create(admin, 'Counted'))
  await leave(tenantId, nil, 100)
  const member = `${path}/members/${leaver.memberId}/`
  t.match(await admin.patch(member, { status: 'suspended' }), {
    status: 403,
    body: { code: 'approval_required' },
  })
  t.match(await admin.patch(member, { status: 'active', roles: ['auditor'] }), { status: 429 })
  const removal = `${path}/members/${removed.memberId}/`
  const asked = await admin.delete(removal)
  t.match(asked, { status: 403, body: { code: 'approval_required' } })
  const request = asked.body.approval_request.id
  t.match(await owner.post(`/api/v1/approval-requests/${request}/approve/`, {}), { status: 200 })
  t.match(await admin.delete(removal, { headers: { 'approval-request': request } }), { status: 204 })
})

t.test('counts of earlier days are deleted', async (t) => {
  const { owner, id: tenantId } = await foundFirm(service)
  await expect(201, create(owner, 'First'))
  await deleteOutdated(service.worker!)
  t.equal((await look(service, 'select from log_counts where tenant_id = $1', [tenantId])).length, 2)
  service.advance(3 * day)
  await deleteOutdated(service.worker!)
  t.equal((await look(service, 'select from log_counts')).length, 0)
})
