import t from 'tap'
import { carryOut } from '../../../src/authorization/approvals/carry-out.ts'
import { expireRequests } from '../../../src/authorization/approvals/expire-requests.ts'
import { startActors } from '../../../workers/actors.ts'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { type Client, startService } from '../../helpers/service.ts'
import {
  approvals,
  approve,
  cancel,
  countDepartments,
  newBody,
  type Office,
  openOffice,
  policies,
  reject,
  repeat,
} from './office.ts'

const service = await startService(t, { actors: ['outbox-relay', 'email'] })
const database = await openDatabase(t, service)
const headers = { prefer: 'wait=5, Respond-Async' }

/** Makes a call that needs an approval and is stored; returns the id of the request. */
async function store({ departments }: Office, who: Client, body: object, more: object = {}) {
  const answer = await who.post(departments, body, { headers: { ...headers, ...more } })
  if (answer.status !== 202) throw new Error(`Expected 202, got ${JSON.stringify(answer.body)}`)
  return answer.body.approval_request.id as string
}

/** What the worker does with the message of an approved request. */
async function work({ owner }: Office, id: string) {
  const { routes, ...deps } = await service.worker!.service()
  await carryOut(deps, routes, { tenantId: owner.tenantId, id })
}

const outcome = async ({ owner }: Office, id: string) => (await owner.get(`${approvals}${id}/`)).body
const storedCalls = async (id: string) =>
  (await database.query('select call_sealed from stored_calls where id = $1', [id])).rows

t.test('without the preference the caller repeats the call, and can still ask for it', async (t) => {
  const office = await openOffice(service)
  const { asker, approver, departments } = office
  const body = newBody()
  const refused = await asker.post(departments, body, { headers: { prefer: 'respond-asynchronously' } })
  t.match(refused, { status: 403, body: { code: 'approval_required' } })
  const id = await store(office, asker, body)
  t.equal(id, refused.body.approval_request.id, 'the same request, with the call')
  const [{ call_sealed }] = await storedCalls(id)
  t.notMatch(call_sealed.toString('latin1'), /name/, 'it is encrypted')
  await approve(approver, id)
  t.equal((await repeat(office, asker, id, body)).status, 201, 'the requester was faster than the worker')
  await work(office, id)
  t.equal(await countDepartments(office), 1)
  t.match(await outcome(office, id), { status: 'executed', execution: { status: 'succeeded' } })
  t.same(await storedCalls(id), [])
})

t.test('it is carried out once, however often and by how many workers', async (t) => {
  const office = await openOffice(service)
  const id = await store(office, office.asker, newBody())
  await work(office, id)
  t.equal(await countDepartments(office), 0, 'not before it is approved')
  await approve(office.approver, id)
  await Promise.all([1, 2, 3, 4, 5].map(() => work(office, id)))
  await work(office, id)
  t.equal(await countDepartments(office), 1)
  const events = (await eventsOf(database, office.owner.tenantId)).filter(({ subject }) => subject === id)
  t.same(
    events.map(({ type }) => type),
    ['requested', 'approved', 'executed'].map((end) => `authorization.approval_${end}`),
  )
})

t.test('a worker that dies before the commit leaves nothing, and the next one does it all', async (t) => {
  const office = await openOffice(service)
  const { owner, asker, approver } = office
  const id = await store(office, asker, newBody())
  await approve(approver, id)
  const { routes, ...deps } = await service.worker!.service()
  const dies = { ...deps.approvals, consume: () => Promise.reject(new Error('the process died')) }
  const dying = carryOut({ ...deps, approvals: dies }, routes, { tenantId: owner.tenantId, id })
  await t.rejects(dying, /died/)
  t.equal(await countDepartments(office), 0)
  t.match(await outcome(office, id), { status: 'approved', execution: { status: 'pending' } })
  await work(office, id)
  t.equal(await countDepartments(office), 1)
})

t.test('it is decided by the policies and facts of the moment of its execution', async (t) => {
  const denied = await openOffice(service)
  const first = await store(denied, denied.asker, newBody())
  await approve(denied.approver, first)
  const ban = { name: 'Ban', effect: 'deny', actions: ['department:create'] }
  await denied.owner.post(policies, ban)
  await work(denied, first)
  t.match(await outcome(denied, first), {
    status: 'executed',
    execution: { status: 'failed', http_status: 403, problem: { code: 'permission_denied' }, at: String },
  })
  t.equal(await countDepartments(denied), 0)
  t.match((await service.mailTo(denied.asker.email, 'failed')).text, /Nothing was changed/)
  t.same(await storedCalls(first), [])

  const demoted = await openOffice(service)
  const members = `/api/v1/tenants/${demoted.owner.tenantId}/members/`
  const { results } = (await demoted.owner.get(`${members}?user_id=${demoted.asker.id}`)).body
  const second = await store(demoted, demoted.asker, newBody())
  await approve(demoted.approver, second)
  await demoted.owner.patch(`${members}${results[0].id}/`, { roles: ['member'] })
  await work(demoted, second)
  t.match(await outcome(demoted, second), { execution: { status: 'failed', http_status: 403 } })
  t.equal(await countDepartments(demoted), 0)

  const edited = await openOffice(service)
  const third = await store(edited, edited.asker, newBody())
  await approve(edited.approver, third)
  await edited.owner.patch(`${policies}${edited.policy.id}/`, { priority: 5 })
  await work(edited, third)
  const { execution } = await outcome(edited, third)
  t.match(execution, { status: 'failed', problem: { code: 'approval_required' } })
  const next = execution.problem.approval_request.id
  t.match(await outcome(edited, next), { status: 'pending', execution: { status: 'pending' } })
  await approve(edited.approver, next)
  await work(edited, next)
  t.equal(await countDepartments(edited), 1, 'the new policy was satisfied, too')
})

t.test('never for a requester who left, was switched off, or whose sessions were ended', async (t) => {
  for (const ends of [
    async ({ owner, asker }: Office) => {
      const members = `/api/v1/tenants/${owner.tenantId}/members/`
      const { results } = (await owner.get(`${members}?user_id=${asker.id}`)).body
      return owner.delete(`${members}${results[0].id}/`)
    },
    async ({ owner, asker }: Office) => {
      const members = `/api/v1/tenants/${owner.tenantId}/members/`
      const { results } = (await owner.get(`${members}?user_id=${asker.id}`)).body
      return owner.delete(`${members}${results[0].id}/sessions/`)
    },
    async ({ asker }: Office) => {
      await database.query('update users set is_active = false where id = $1', [asker.id])
    },
    async ({ asker }: Office) => {
      await asker.post('/api/v1/auth/logout/', { refresh: asker.refresh })
      await (await service.logIn(asker)).post('/api/v1/auth/logout-all/', {})
    },
    async ({ asker }: Office) => {
      await asker.post('/api/v1/auth/logout/', { refresh: asker.refresh })
      const elsewhere = await service.logIn(asker)
      const change = { current_password: asker.password, new_password: 'another quiet harbour' }
      t.equal((await elsewhere.post('/api/v1/auth/password/change/', change)).status, 200)
    },
    async ({ asker }: Office) => {
      const another = { tenant_id: asker.tenantId } // without its refresh token: another chain of the session
      const { access } = (await asker.post('/api/v1/auth/switch-tenant/', another)).body
      const change = { current_password: asker.password, new_password: 'another quiet harbour' }
      const changed = await asker.post('/api/v1/auth/password/change/', change, { token: access })
      t.equal(changed.status, 200)
    },
    async ({ owner, asker }: Office) => {
      const members = `/api/v1/tenants/${owner.tenantId}/members/`
      const { results } = (await owner.get(`${members}?user_id=${asker.id}`)).body
      await owner.delete(`${members}${results[0].id}/`)
      service.advance(1_000)
      const again = { user_id: asker.id, roles: ['admin'] }
      t.equal((await owner.post(members, again)).status, 201)
    },
    async ({ asker }: Office) => {
      const end = "update sessions set ended_at = now(), end_reason = 'password' where user_id = $1"
      await database.query(end, [asker.id])
    },
  ]) {
    const office = await openOffice(service)
    const id = await store(office, office.asker, newBody())
    await approve(office.approver, id)
    await ends(office)
    await work(office, id)
    t.match(await outcome(office, id), { status: 'executed', execution: { status: 'failed' } })
    t.equal(await countDepartments(office), 0)
  }
  const office = await openOffice(service)
  const id = await store(office, office.asker, newBody())
  await office.asker.post('/api/v1/auth/logout/', { refresh: office.asker.refresh })
  await approve(office.approver, id)
  await work(office, id)
  t.equal(await countDepartments(office), 1, 'a requester can log out meanwhile')
})

t.test(
  'a version that changed meanwhile fails, and a request that ends otherwise does nothing',
  async (t) => {
    const office = await openOffice(service, {}, { actions: ['department:update', 'department:create'] })
    const { owner, asker, approver, departments } = office
    await owner.post(policies, { name: 'Owners create', effect: 'deny', actions: ['doc:read'] })
    const first = await store(office, asker, newBody())
    await approve(approver, first)
    await work(office, first)
    const [row] = (await owner.get(departments)).body.results
    const path = `${departments}${row.id}/`
    const etag = (await owner.get(path)).headers.get('etag')!
    const change = (name: string) =>
      asker.patch(path, { name }, { headers: { ...headers, 'if-match': etag } })
    const [one, two] = [await change('One'), await change('Two')].map(({ body }) => body.approval_request.id)
    for (const id of [one, two]) await approve(approver, id)
    for (const id of [one, two]) await work(office, id)
    t.match(await outcome(office, one), { execution: { status: 'succeeded', http_status: 200 } })
    t.match(await outcome(office, two), { execution: { status: 'failed', http_status: 412 } })
    t.equal((await owner.get(path)).body.name, 'One')

    const rejected = await store(office, asker, newBody())
    await reject(approver, rejected)
    const cancelled = await store(office, asker, newBody())
    await approve(approver, cancelled)
    await cancel(asker, cancelled)
    const expired = await store(office, asker, newBody())
    await approve(approver, expired)
    service.advance(3_601_000)
    for (const id of [rejected, cancelled, expired]) await work(office, id)
    await expireRequests(service.worker!.db, service.now(), 'test')
    for (const id of [rejected, cancelled, expired]) {
      t.same((await (await service.logIn(owner)).get(`${approvals}${id}/`)).body.execution, null)
      t.same(await storedCalls(id), [])
    }
  },
)

/** As if the changes of this day had used all that the tenant may add to its logs. */
const useUp = ({ owner }: Office) =>
  database.query('update log_counts set used = 256000000, most = null where tenant_id = $1', [owner.tenantId])

t.test('a call beyond a limit waits for it, and fails if the approval ends before', async (t) => {
  const [late, waiting] = [await openOffice(service), await openOffice(service)]
  const first = await store(late, late.asker, newBody())
  await approve(late.approver, first)
  await useUp(late)
  await work(late, first)
  t.match(await outcome(late, first), {
    status: 'executed',
    execution: { status: 'failed', http_status: 429, problem: { code: 'quota_exceeded' } },
  })
  t.match((await service.mailTo(late.asker.email, 'failed')).text, /Nothing was changed/)

  const day = 86_400_000
  service.advance(day - (service.now() % day) - 60_000)
  const people = { ...waiting, asker: await service.logIn(waiting.asker) }
  people.owner = await service.logIn(waiting.owner)
  people.approver = await service.logIn(waiting.approver)
  for (const person of [people.asker, people.approver]) await person.switchTo(waiting.owner.tenantId)
  const second = await store(people, people.asker, newBody())
  await approve(people.approver, second)
  await useUp(people)
  await t.rejects(work(people, second), { name: 'DelayedError', ms: 60_000 })
  t.match(await outcome(people, second), { status: 'approved', execution: { status: 'pending' } })
  service.advance(60_000)
  await work(people, second)
  t.match(await outcome(people, second), { execution: { status: 'succeeded' } })
})

t.test('a call with a secret in its answer is not stored', async (t) => {
  const office = await openOffice(service, {}, { actions: ['webhook:create'] })
  const url = 'https://receiver.example/'
  const answer = await office.asker.post('/api/v1/webhooks/', { url }, { headers })
  t.match(answer, { status: 403, body: { code: 'approval_required' } })
  t.equal((await outcome(office, answer.body.approval_request.id)).execution, null)
})

t.test('the worker carries out a stored call when it is approved, and its requester is told', async (t) => {
  const office = await openOffice(service)
  const { asker, approver, departments } = office
  const body = newBody()
  const answer = await asker.post(departments, body, { headers })
  t.match(answer, { status: 202, body: { approval_request: { status: 'pending', id: String } } })
  const { id, url } = answer.body.approval_request
  t.equal(answer.headers.get('location'), url)
  t.equal(answer.headers.get('preference-applied'), 'respond-async')
  t.match(await outcome(office, id), { status: 'pending', execution: { status: 'pending', at: null } })
  const again = await asker.post(departments, body, { headers })
  t.match(again, { status: 202, body: { approval_request: { id } } })
  await approve(approver, id)
  const running = await startActors(service.worker!, ['execution'])
  t.teardown(() => running.stop())
  const mail = await service.mailTo(asker.email, 'carried out')
  t.match(mail.text, /do not need to do anything/)
  t.match(await outcome(office, id), {
    status: 'executed',
    execution: { status: 'succeeded', http_status: 201, problem: null, at: String },
  })
  t.equal(await countDepartments(office), 1)
  t.equal((await repeat(office, asker, id, body)).body.code, 'approval_invalid', 'the approval is used')
})
