import t from 'tap'
import type { Client, Service } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { confirmAddress, expect, type Firm, foundFirm, type Staff } from '../tenancy/staff.ts'

const service: Service = await sharedService(t)
const doc = { type: 'doc', id: '1' }
const read = { name: 'read' }

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

const set = ({ owner, path }: Firm, { memberId }: Staff, external_id: string | null) =>
  expect(200, owner.patch(`${path}/members/${memberId}/`, { external_id }))

/** A firm in which members with the role Reader read documents, with one of them. */
async function office(): Promise<{ firm: Firm; reader: Staff; other: Staff }> {
  const firm = await foundFirm(service)
  const reader = await firm.hire('member', await firm.role('doc:read'))
  await confirmAddress(service, reader)
  return { firm, reader, other: await firm.hire('member') }
}

const evaluate = async (asking: Client, id: string, more: object = {}): Promise<Json> =>
  expect(
    200,
    asking.post('/access/v1/evaluation', {
      subject: { type: 'user', id },
      action: read,
      resource: doc,
      ...more,
    }),
  )

const decided = async (asking: Client, id: string, more?: object) => {
  const { decision, context } = await evaluate(asking, id, more)
  return decision ? 'allow' : context.reasons[0].code
}

const use = ({ owner, path }: Firm, subject_id: string) =>
  expect(200, owner.patch(`${path}/`, { settings: { subject_id } }))

t.test('a subject is named by id, verified address or external_id', async (t) => {
  const { firm, reader, other } = await office()
  await set(firm, reader, 'Alice')
  for (const name of [
    reader.id,
    reader.id.toUpperCase(),
    reader.email,
    reader.email.toUpperCase(),
    'Alice',
    ' Alice ',
  ])
    t.equal(await decided(firm.owner, name), 'allow', name)
  t.equal(await decided(firm.owner, 'alice'), 'no_active_membership', 'an external_id is compared exactly')
  t.equal(await decided(firm.owner, other.email), 'no_active_membership', 'an unverified address is no name')
  t.equal(await decided(reader, 'Alice'), 'allow', 'oneself, without access:evaluate')
  t.equal(
    (
      await reader.post('/access/v1/evaluation', {
        subject: { type: 'user', id: other.id },
        action: read,
        resource: doc,
      })
    ).status,
    403,
  )
  const stranger = await foundFirm(service)
  t.equal(await decided(stranger.owner, 'Alice'), 'no_active_membership', 'of another tenant')
  const account = { type: 'service_account', id: 'Alice' }
  t.equal(await decided(firm.owner, '', { subject: account }), 'no_active_membership', 'of another type')
  await set(firm, reader, null)
  t.equal(await decided(firm.owner, 'Alice'), 'no_active_membership')
  await set(firm, other, 'Alice')
  t.equal(await decided(firm.owner, 'Alice'), 'missing_permission', 'the name means another member now')
})

t.test('one batch names its subjects in each way', async (t) => {
  const { firm, reader, other } = await office()
  await set(firm, reader, 'alice')
  const ids = [reader.id, reader.email, 'alice', other.id, other.email, 'bob', firm.owner.id]
  const evaluations = ids.map((id) => ({ subject: { type: 'user', id } }))
  const body = { action: read, resource: doc, evaluations }
  const answer = await expect(200, firm.owner.post('/access/v1/evaluations', body))
  t.same(
    answer.evaluations.map(({ decision }: Json) => decision),
    [true, true, true, false, false, false, true],
  )
})

t.test('a name that comes to fit two members is false with the reason ambiguous_subject', async (t) => {
  const { firm, reader, other } = await office()
  const { owner } = firm
  const unproven = await firm.hire('member', await firm.role('doc:read'))
  await set(firm, other, unproven.email)
  t.equal(await decided(owner, unproven.email), 'missing_permission', 'the external_id alone')
  await confirmAddress(service, unproven)
  const both = await evaluate(owner, unproven.email)
  t.match(both, { decision: false, context: { effect: 'deny', reasons: [{ code: 'ambiguous_subject' }] } })
  t.equal(await decided(owner, unproven.id), 'allow', 'the id means one member')
  const subject = { type: 'user', id: unproven.email }
  const found = await expect(200, owner.post('/access/v1/search/action', { subject, resource: doc }))
  t.same(found.results, [])
  const plan = { subject, action: { name: 'doc:read' }, resource: { type: 'doc' } }
  t.match(await owner.post('/access/v1/plan', plan), { status: 200, body: { kind: 'never' } })
  t.match(await owner.post('/api/v1/approval-requests/', { subject, action: 'doc:read', resource: doc }), {
    status: 403,
    body: { reasons: [{ code: 'ambiguous_subject' }] },
  })
  const asked = { subject, action: read, resource: doc }
  t.equal((await unproven.post('/access/v1/evaluation', asked)).status, 403, 'no question about oneself')

  const later = await service.signUp()
  await set(firm, other, later.id)
  await expect(201, owner.post(`${firm.path}/members/`, { user_id: later.id }))
  t.equal(await decided(owner, later.id), 'ambiguous_subject', 'the id of a later member')
  await later.switchTo(firm.id)
  t.equal(await decided(later, later.id), 'missing_permission', 'the own id always means oneself')
  await set(firm, other, null)
  t.equal(await decided(owner, unproven.email), 'allow')
  t.equal(await decided(owner, reader.email), 'allow')
})

t.test('a plan and an approval take a subject by external_id', async (t) => {
  const { firm, reader } = await office()
  const { owner } = firm
  await set(firm, reader, 'alice')
  await firm.hire('admin')
  const subject = { type: 'user', id: 'alice' }
  const plan = { subject, action: { name: 'doc:read' }, resource: { type: 'doc' } }
  t.match(await owner.post('/access/v1/plan', plan), { status: 200, body: { kind: 'always' } })
  await expect(
    201,
    owner.post('/api/v1/policies/', {
      name: 'Reading needs an approval',
      effect: 'require_approval',
      actions: ['doc:read'],
      approval: { approver: { roles: ['admin'] } },
    }),
  )
  const asked = await owner.post('/api/v1/approval-requests/', { subject, action: 'doc:read', resource: doc })
  t.match(asked, { status: 201, body: { subject: { type: 'user', id: reader.id } } }, 'bound to the person')
  const again = await owner.post('/api/v1/approval-requests/', {
    subject: { type: 'user', id: reader.email },
    action: 'doc:read',
    resource: doc,
  })
  t.match(again, { status: 200, body: { id: asked.body.id } }, 'by another name it asks the same')
  const about = (id: string) => ({ subject, action: 'doc:read', resource: { type: 'user', id } })
  const one = await expect(201, owner.post('/api/v1/approval-requests/', about('alice')))
  t.equal(
    one.resource_id ?? one.resource?.id,
    reader.id,
    'the approval is about the person, not about the name',
  )
  t.match(await owner.post('/api/v1/approval-requests/', about(reader.email)), {
    status: 200,
    body: { id: one.id },
  })
})

t.test('searches name people by the setting subject_id, as evaluations take them', async (t) => {
  const { firm, reader, other } = await office()
  const { owner } = firm
  await set(firm, reader, 'alice')
  const subjects = async () => {
    const question = { subject: { type: 'user' }, action: read, resource: doc }
    const { results } = await expect(200, owner.post('/access/v1/search/subject', question))
    for (const { id } of results) t.equal(await decided(owner, id), 'allow', id)
    return results.map(({ type, id }: Json) => type === 'user' && id).sort()
  }
  await expect(200, owner.patch(`${firm.path}/members/${other.memberId}/`, { roles: ['admin'] }))
  const settings = async () => (await expect(200, owner.get(`${firm.path}/`))).settings
  const byId = await subjects()
  t.ok(byId.includes(reader.id), 'by id, if nothing is set')
  t.equal((await settings()).subject_id, 'id')
  const named = (name: string) => byId.map((id: string) => (id === reader.id ? name : id)).sort()
  t.match(await use(firm, 'external_id'), { settings: { subject_id: 'external_id' } })
  t.same(await subjects(), named('alice'), 'a member without one is named by id')
  await use(firm, 'email')
  t.same(await subjects(), named(reader.email), 'a member without a verified address is named by id')
  await set(firm, other, 'boss')
  await use(firm, 'external_id')
  t.same(
    await subjects(),
    named('alice')
      .map((id: string) => (id === other.id ? 'boss' : id))
      .sort(),
  )
  t.match(await owner.patch(`${firm.path}/`, { settings: { subject_id: 'name' } }), {
    status: 400,
    body: { errors: [{ field: 'settings.subject_id' }] },
  })
})

t.test('a search names a person by id if their other name fits another member, too', async (t) => {
  const { firm, other } = await office()
  const late = await firm.hire('member', await firm.role('doc:read'))
  await set(firm, other, late.email)
  await confirmAddress(service, late)
  await use(firm, 'email')
  const question = { subject: { type: 'user' }, action: read, resource: doc }
  const { results } = await expect(200, firm.owner.post('/access/v1/search/subject', question))
  const ids = results.map(({ id }: Json) => id)
  t.ok(ids.includes(late.id))
  t.notOk(ids.includes(late.email))
})

t.test('pages of a search follow each other, whatever names people', async (t) => {
  const { firm } = await office()
  const { owner } = firm
  for (const name of ['zoe', 'adam', 'mia']) await set(firm, await firm.hire('admin'), name)
  await use(firm, 'external_id')
  const question = { subject: { type: 'user' }, action: read, resource: doc }
  const all = await expect(200, owner.post('/access/v1/search/subject', question))
  const found: string[] = []
  for (let token = ''; ; ) {
    const page = { limit: 1, token }
    const answer = await expect(200, owner.post('/access/v1/search/subject', { ...question, page }))
    found.push(...answer.results.map(({ id }: Json) => id))
    token = answer.page.next_token
    if (token === '') break
  }
  t.same(
    found,
    all.results.map(({ id }: Json) => id),
  )
  for (const name of ['zoe', 'adam', 'mia']) t.ok(found.includes(name), name)
})

t.test('a resource of type user is named by id, verified address or external_id', async (t) => {
  const { firm, reader, other } = await office()
  const { owner } = firm
  await set(firm, reader, 'Alice')
  const about = (id: string, action = 'user:read') =>
    decided(owner, owner.id, { action: { name: action }, resource: { type: 'user', id } })
  for (const name of [reader.id, reader.email.toUpperCase(), 'Alice'])
    t.equal(await about(name), 'allow', name)
  for (const name of ['alice', other.email, 'nobody@example.com'])
    t.equal(await about(name), 'not_found', name)
  t.equal(await about('any', 'user:list'), 'allow', 'any other id still stands for the list')
  const own = { action: { name: 'profile:update' }, resource: { type: 'user', id: 'Alice' } }
  t.equal(await decided(reader, reader.id, own), 'allow')
  t.equal(await decided(other, other.id, own), 'not_owner', 'the profile of another')
  await expect(
    201,
    owner.post('/api/v1/policies/', {
      name: 'Alice is not read',
      effect: 'deny',
      actions: ['user:read'],
      conditions: { attribute: 'resource.id', operator: 'eq', value: reader.id },
    }),
  )
  for (const name of [reader.id, reader.email, 'Alice'])
    t.equal(await about(name), 'policy_deny', `policies see the id, also for ${name}`)
  const log = await expect(200, owner.get(`/api/v1/decisions/?resource_id=${reader.id}&kind=all`))
  t.ok(log.results.length >= 3, 'the log names the person by id')
})

t.test('a search for resources of type user names them as evaluations take them', async (t) => {
  const { firm, reader, other } = await office()
  const { owner } = firm
  await set(firm, reader, 'alice')
  await use(firm, 'external_id')
  const question = {
    subject: { type: 'user', id: 'alice' },
    action: { name: 'user:read' },
    resource: { type: 'user' },
  }
  const { results } = await expect(200, owner.post('/access/v1/search/resource', question))
  t.same(results.map(({ id }: Json) => id).sort(), ['alice', other.id, owner.id].sort())
  for (const { id } of results)
    t.equal(
      await decided(owner, 'alice', { action: question.action, resource: { type: 'user', id } }),
      'allow',
    )
})
