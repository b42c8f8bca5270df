import { randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { type Client, startService } from '../helpers/service.ts'
import { wrongCounts } from '../tenancy/staff.ts'

const service = await startService(t, { workers: false, env: { LIMIT_RESOURCES: '8' } })
const owner = await service.signUp()
const author = await colleague(service, owner)
const chief = await colleague(service, owner)
const tenant = `/api/v1/tenants/${owner.tenantId}/`
const all = '/api/v1/resources/'
const at = (id: string, type = 'document') => `${all}${type}/${encodeURIComponent(id)}/`
const memberId = async (person: Client) =>
  (await owner.get(`${tenant}members/?user_id=${person.id}`)).body.results[0].id
await owner.patch(`${tenant}members/${await memberId(author)}/`, { manager_id: chief.id })

const define = (key: string, data_type: string, more: object = {}) =>
  owner.post('/api/v1/attribute-definitions/', { category: 'resource', key, data_type, ...more })
await define('stage', 'string', { allowed_values: ['draft', 'final'], is_required: true })
await define('amount', 'integer', { source: 'caller' })
const is = (attribute: string, operator: string, operand: object) => ({ attribute, operator, ...operand })
async function policy(action: string, conditions: object, effect = 'allow') {
  const body = { name: randomUUID(), effect, actions: [action], conditions }
  const answer = await owner.post('/api/v1/policies/', body)
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body.id as string
}
const test = await policy('document:read', is('resource.stage', 'eq', { value: 'final' }))
await policy('document:approve', is('resource.owner_manager_id', 'eq', { value_from: 'subject.id' }))
await policy('document:edit', is('resource.owner_id', 'eq', { value_from: 'subject.id' }))
await policy('document:pay', {
  all: [is('resource.stage', 'eq', { value: 'final' }), is('resource.amount', 'lt', { value: 100 })],
})

const question = (verb: string, id: string, properties?: object, subject = author) => ({
  subject: { type: 'user', id: subject.id },
  action: { name: `document:${verb}` },
  resource: { type: 'document', id, ...(properties && { properties }) },
})
const may = async (...asked: Parameters<typeof question>) =>
  (await owner.post('/access/v1/evaluation', question(...asked))).body.decision

t.test('a registered resource is created, replaced, read, listed and deleted', async (t) => {
  const made = await owner.put(at('a/1 ü'), { attributes: { stage: 'draft' }, owner_id: author.id })
  t.match(made, {
    status: 201,
    body: { resource_type: 'document', resource_id: 'a/1 ü', attributes: { stage: 'draft' } },
  })
  const read = await owner.get(at('a/1 ü'))
  t.match(read, { status: 200, body: made.body })
  const etag = read.headers.get('etag')!
  const same = await owner.put(at('a/1 ü'), { attributes: { stage: 'draft' }, owner_id: author.id })
  t.match(same, { status: 200, body: { updated_at: made.body.updated_at } })
  const headers = { 'if-match': etag }
  t.match(await owner.put(at('a/1 ü'), { attributes: { stage: 'final' } }, { headers }), {
    status: 200,
    body: { attributes: { stage: 'final' }, owner_id: null },
  })
  t.equal((await owner.put(at('a/1 ü'), {}, { headers })).status, 412)
  t.equal((await owner.delete(at('a/1 ü'), { headers })).status, 412)
  t.equal((await owner.put(at('new'), {}, { headers })).status, 412, 'nothing has this version')
  t.equal((await owner.put(at('other'), { owner_id: author.id })).status, 201)
  const listed = await owner.get(`${all}?resource_type=document&owner_id=${author.id}`)
  t.match(listed.body, { count: 1, results: [{ resource_id: 'other' }] })
  t.equal((await owner.get(all)).body.count, 2)
  for (const id of ['a/1 ü', 'other']) t.equal((await owner.delete(at(id))).status, 204)
  t.equal((await owner.delete(at('other'))).status, 404)
  t.equal((await owner.get(all)).body.count, 0)
  const { results } = (await owner.get('/api/v1/audit-log/?page_size=5&ordering=-created_at')).body
  t.same(
    results.map(({ action }: { action: string }) => action).toSorted(),
    ['delete', 'delete', 'update', 'update', 'update'].map((verb) => `registered_resource:${verb}`),
  )
})

t.test('values that do not fit are refused, with the field', async (t) => {
  const bad: [object, string][] = [
    [{ attributes: { colour: 'red' } }, 'attributes.colour'],
    [{ attributes: { stage: 'lost' } }, 'attributes.stage'],
    [{ attributes: { amount: 'much' } }, 'attributes.amount'],
    [{ attributes: { stage: null } }, 'attributes.stage'],
    [{ attributes: { owner_id: author.id } }, 'attributes.owner_id'],
    [{ attributes: { name: 7 } }, 'attributes.name'],
    [{ attributes: { name: 'x'.repeat(17_000) } }, 'attributes'],
    [{ attributes: [] }, 'attributes'],
    [{ owner_id: randomUUID() }, 'owner_id'],
    [{ owner_id: (await service.signUp()).id }, 'owner_id'],
    [{ owner_id: 'me' }, 'owner_id'],
    [{ department_id: randomUUID() }, 'department_id'],
  ]
  for (const [body, field] of bad) {
    const answer = await owner.put(at('bad'), body)
    t.match(answer, { status: 400, body: { errors: [{ field }] } }, JSON.stringify(body).slice(0, 80))
  }
  for (const [id, type] of [['x', 'member'], ['x', 'Document'], ['x'.repeat(255)], ['x\0y']] as const)
    t.equal((await owner.put(at(id, type), {})).status, 400, `${type}/${id}`.slice(0, 40))
  for (const path of [at('x', 'member'), at('x', 'D'), at('x\0y'), at('unknown')])
    t.equal((await owner.get(path)).status, 404, path)
  t.match(await define('where', 'string', { category: 'subject', source: 'caller' }), {
    status: 400,
    body: { errors: [{ field: 'source' }] },
  })
})

t.test('a question that names it by its id alone is decided with what is registered', async (t) => {
  await owner.put(at('7'), { attributes: { stage: 'final' }, owner_id: author.id })
  t.equal(await may('read', '7'), true)
  t.equal(await may('edit', '7'), true)
  t.equal(await may('edit', '7', undefined, chief), false)
  t.equal(await may('approve', '7', undefined, chief), true)
  t.equal(await may('approve', '7'), false)
  t.equal(await may('read', '8'), false)
  const batch = await owner.post('/access/v1/evaluations', {
    evaluations: [question('read', '7'), question('read', '8'), question('approve', '7', {}, chief)],
  })
  t.same(
    batch.body.evaluations.map(({ decision }: { decision: boolean }) => decision),
    [true, false, true],
  )
  const { subject, resource, action } = question('read', '7')
  const search = async (kind: string, body: object) =>
    (await owner.post(`/access/v1/search/${kind}`, body)).body.results.map(
      (found: { id?: string; name?: string }) => found.id ?? found.name,
    )
  t.same(await search('action', { subject, resource }), ['edit', 'read'])
  const approve = { action: { name: 'document:approve' } }
  const eligible = await search('subject', { subject: { type: 'user' }, resource, ...approve })
  t.same(eligible.toSorted(), [owner.id, chief.id].toSorted(), 'the owner of the tenant by role')
  await owner.put(at('9'), { attributes: { stage: 'final' } })
  await owner.put(at('10'), { attributes: { stage: 'draft' } })
  const searched = { type: 'document', candidates: [{ id: '8' }, { id: '9' }, { id: '10' }] }
  t.same(await search('resource', { subject, action, resource: { type: 'document' } }), ['7', '9'])
  t.same(await search('resource', { subject, action, resource: searched }), ['9', '7'], 'each once')
  const pages: string[] = []
  let token = ''
  do {
    const page = { limit: 1, ...(token && { token }) }
    const { body } = await owner.post('/access/v1/search/resource', {
      subject,
      action,
      resource: searched,
      page,
    })
    pages.push(...body.results.map(({ id }: { id: string }) => id))
    token = body.page.next_token
  } while (token)
  t.same(pages, ['9', '7'])
  const tried = await owner.post(`/api/v1/policies/${test}/test/`, {
    resource: { type: 'document', id: '7' },
  })
  t.match(tried.body, { applies: true, effect: 'allow' })
})

t.test('what a question says counts only for attributes that come from the caller', async (t) => {
  const lie = { stage: 'final', owner_id: author.id, owner_manager_id: author.id, amount: 5 }
  await owner.put(at('10'), { attributes: { stage: 'draft' } })
  for (const verb of ['read', 'edit', 'approve', 'pay']) t.equal(await may(verb, '10', lie), false, verb)
  for (const verb of ['read', 'edit', 'approve', 'pay'])
    t.equal(await may(verb, 'unregistered', lie), true, `${verb}, not registered`)
  t.equal(await may('pay', '9', { amount: 5 }), true)
  t.equal(await may('pay', '9', { amount: 500 }), false)
  t.equal(await may('pay', '9'), false)
  await owner.put(at('9'), { attributes: { stage: 'final', amount: 500 } })
  t.equal(await may('pay', '9', { amount: 5 }), false, 'a registered value comes first')
})

t.test('no other tenant reads, changes or is decided by it', async (t) => {
  const stranger = await service.signUp()
  t.equal((await stranger.get(at('7'))).status, 404)
  t.equal((await stranger.delete(at('7'))).status, 404)
  t.equal((await stranger.get(all)).body.count, 0)
  t.equal((await stranger.put(at('7'), {})).status, 201, 'its own')
  t.match((await owner.get(at('7'))).body, { attributes: { stage: 'final' }, owner_id: author.id })
  t.equal((await author.get(at('7'))).status, 403)
  t.equal((await author.put(at('7'), {})).status, 403)
})

t.test('of concurrent changes of one resource each sees the one before', async (t) => {
  const first = await Promise.all(
    ['draft', 'final', 'draft', 'final'].map((stage) => owner.put(at('race'), { attributes: { stage } })),
  )
  t.same(first.map(({ status }) => status).toSorted(), [200, 200, 200, 201])
  const etag = (await owner.get(at('race'))).headers.get('etag')!
  const headers = { 'if-match': etag }
  const second = await Promise.all(
    [1, 2, 3, 4].map((amount) => owner.put(at('race'), { attributes: { amount } }, { headers })),
  )
  t.same(second.map(({ status }) => status).toSorted(), [200, 412, 412, 412])
})

t.test('a tenant registers no more than the limit, however many at once', async (t) => {
  const { count } = (await owner.get(all)).body
  const many = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => owner.put(at(`limit-${n}`), {})))
  t.equal(many.filter(({ status }) => status === 201).length, 8 - count)
  t.match(
    many.find(({ status }) => status !== 201),
    { status: 409, body: { code: 'limit_reached' } },
  )
  t.equal((await owner.get(all)).body.count, 8)
  await owner.delete(at('race'))
  t.equal((await owner.put(at('room'), {})).status, 201)
})

t.test('its department cannot be deleted, and its owner can leave', async (t) => {
  const made = await owner.post(`${tenant}departments/`, { name: 'Archive' })
  const department_id = made.body.id
  await owner.put(at('room'), { department_id, owner_id: chief.id })
  const removed = await owner.delete(`${tenant}departments/${department_id}/`)
  t.match(removed, { status: 409, body: { code: 'department_in_use' } })
  t.equal((await owner.delete(`${tenant}members/${await memberId(chief)}/`)).status, 204)
  t.match((await owner.get(at('room'))).body, { department_id, owner_id: null })
  await owner.put(at('room'), {})
  t.equal((await owner.delete(`${tenant}departments/${department_id}/`)).status, 204)
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
