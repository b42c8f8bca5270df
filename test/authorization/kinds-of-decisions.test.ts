import pg from 'pg'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const decisions = '/api/v1/decisions/'
const evaluation = '/access/v1/evaluation'

const owner = await service.signUp()
const member = await colleague(service, owner)
const key = await owner.post('/api/v1/users/me/keys/', { name: 'Guard' })
const withKey = (body: object) => service.call('POST', evaluation, { body, token: key.body.key })

const about = (id: string, name: string, resource = { type: 'invoice', id: 'i-1' }) => ({
  subject: { type: 'user', id },
  action: { name },
  resource,
})
const tenant = { type: 'tenant', id: owner.tenantId }

interface Row {
  id: string
  kind: string
  action: string
}
const listed = async (query = '', as = owner): Promise<Row[]> =>
  (await as.get(`${decisions}?page_size=100${query}`)).body.results
const find = async (id: string, query = '') => (await listed(query)).find((row) => row.id === id)

t.test('a question about another person is no act of theirs', async (t) => {
  const asked = await owner.post(evaluation, about(member.id, 'tenant:delete', tenant))
  const { id } = asked.body.context
  t.equal(asked.body.decision, false)
  t.equal(await find(id), undefined, 'the list has requests')
  t.match(await find(id, '&kind=question'), { kind: 'question', action: 'tenant:delete' })
  t.match(await find(id, '&kind=all'), { kind: 'question' })
  t.equal(await find(id, '&kind=preview'), undefined)
  t.match((await owner.get(`${decisions}${id}/`)).body, { kind: 'question' })
  const { body } = await owner.get(`${decisions}${id}/explain/`)
  t.match(body.explanation[0], new RegExp(`^It was asked whether ${member.email} may do tenant:delete`))
  t.notOk(
    (await listed('', member)).some((row) => row.id === id),
    'nor does their own list have it',
  )
})

t.test('what a person asks about themselves at this service is a preview', async (t) => {
  const { id } = (await member.post(evaluation, about(member.id, 'tenant:delete', tenant))).body.context
  t.equal(await find(id), undefined)
  t.match(await find(id, '&kind=preview'), { kind: 'preview' })
  const { body } = await member.get(`${decisions}${id}/explain/`)
  t.match(body.explanation[0], /asked whether they may do tenant:delete/)
})

t.test('what an application asks before it acts is a request', async (t) => {
  const asked = [
    await withKey(about(member.id, 'invoice:pay')),
    await member.post(evaluation, about(member.id, 'invoice:pay')),
    await owner.post(evaluation, {
      ...about('bob', 'invoice:pay'),
      subject: { type: 'customer', id: 'bob' },
    }),
  ]
  for (const { body } of asked) t.match(await find(body.context.id), { kind: 'request' })
  const batch = { ...about(member.id, 'invoice:pay'), evaluations: [{}] }
  const { body } = await owner.post('/access/v1/evaluations', batch)
  t.match(await find(body.evaluations[0].context.id, '&kind=question'), { kind: 'question' })
})

t.test('an unknown kind is refused', async (t) => {
  t.match(await owner.get(`${decisions}?kind=act`), { status: 400, body: { errors: [{ field: 'kind' }] } })
})

t.test('a refused request is a request, and the overview counts these alone', async (t) => {
  const denials = async () => (await owner.get('/api/v1/activity/')).body.days.at(-1).denials
  const before = await denials()
  await owner.post(evaluation, about(member.id, 'tenant:delete', tenant))
  await member.post(evaluation, about(member.id, 'tenant:delete', tenant))
  t.equal(await denials(), before)
  const refused = await member.get('/api/v1/policies/')
  t.match(await find(refused.body.decision_id), { kind: 'request', action: 'policy:list' })
  t.equal(await denials(), before + 1)
})

t.test('rows from before are questions where the console asked about no object', async (t) => {
  const refused = async () => (await member.get('/api/v1/policies/')).body.decision_id as string
  const [act, question, ofApplication] = [await refused(), await refused(), await refused()]
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  const change = (id: string, type: string, object: string | null) =>
    client.query('update decisions set kind = null, resource_type = $2, resource_id = $3 where id = $1', [
      id,
      type,
      object,
    ])
  await change(act, 'policy', null)
  await change(question, 'policy', 'any')
  await change(ofApplication, 'invoice', 'new')
  await client.end()
  t.match(await find(act), { kind: 'request' })
  t.match(await find(ofApplication), { kind: 'request' })
  t.equal(await find(question), undefined)
  t.match(await find(question, '&kind=question'), { kind: 'question' })
})

t.test('searches and policy tests write no rows', async (t) => {
  const { body: policy } = await owner.post('/api/v1/policies/', {
    name: 'x',
    effect: 'deny',
    actions: ['doc:read'],
  })
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  const count = async () => {
    const { rows } = await client.query('select count(*)::int as n from decisions where tenant_id = $1', [
      owner.tenantId,
    ])
    return rows[0].n
  }
  const before = await count()
  const subject = { type: 'user', id: member.id }
  // One in a hundred would be in a sample.
  for (let n = 0; n < 150; n++) {
    await owner.post('/access/v1/search/action', { subject, resource: tenant })
    await owner.post(`/api/v1/policies/${policy.id}/test/`, {})
  }
  t.equal(await count(), before)
  await client.end()
})
