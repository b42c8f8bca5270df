import { randomUUID } from 'node:crypto'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Answer, Call } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { createProgram } from '../identity/api-keys/holders.ts'
import { expect } from '../tenancy/staff.ts'

// What the modules of the OpenID conformance suite for AuthZEN 1.0 check, with the fixture of its certification scenario: alice
// and bob are members with an external_id, the records are registered, and an application asks with its key.

const service = await sharedService(t, { workers: false })

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

const alice = { type: 'user', id: 'alice' }
const bob = { type: 'user', id: 'bob' }
const admin = { ...bob, properties: { role: 'admin' } }
const action = (name: string, properties?: object) => ({ name, ...(properties && { properties }) })
const record = (number: number, properties?: object) => ({
  type: 'record',
  id: `record-${number}`,
  ...(properties && { properties }),
})
const [read, write] = [action('read'), action('write')]
const [active, archived] = [record(1, { status: 'active' }), record(2, { status: 'archived' })]

const owner = await service.signUp()
const key = await fixture()

/** The key of an application, in a tenant with the fixture. */
async function fixture(): Promise<string> {
  const tenant = `/api/v1/tenants/${owner.tenantId}/`
  const define = (category: string, name: string, data_type: string) =>
    expect(201, owner.post('/api/v1/attribute-definitions/', { category, key: name, data_type }))
  await define('subject', 'role', 'string')
  await define('action', 'soft', 'boolean')
  await define('resource', 'ownerID', 'string')
  await define('subject', 'accountName', 'string')
  const role = (name: string, permissions: string[]) =>
    expect(201, owner.post(`${tenant}roles/`, { name, permissions }))
  await role('reader', ['record:read'])
  await role('writer', ['record:write'])
  const leaf = (attribute: string, value: unknown) => ({ attribute, operator: 'eq', value })
  const isAdmin = leaf('subject.role', 'admin')
  const isArchived = leaf('resource.status', 'archived')
  const policy = (
    name: string,
    effect: string,
    actions: string[],
    conditions: object,
    roles: string[] = [],
  ) =>
    expect(201, owner.post('/api/v1/policies/', { name, effect, actions, conditions, subjects: { roles } }))
  await policy('Archived is read-only', 'deny', ['record:write'], { all: [isArchived, { none: [isAdmin] }] })
  await policy('Admins write what is archived', 'allow', ['record:write'], { all: [isArchived, isAdmin] })
  await policy('Writers delete softly', 'allow', ['record:delete'], leaf('action.soft', true), ['writer'])
  const own = { attribute: 'resource.ownerID', operator: 'eq', value_from: 'subject.accountName' }
  await policy('Editors change their own', 'allow', ['todo:can_update_todo'], own, ['writer'])
  const hire = async (external_id: string, roles: string[], attributes: object) => {
    const { id } = await colleague(service, owner)
    const { results } = await expect(200, owner.get(`${tenant}members/?user_id=${id}`))
    const body = { external_id, roles: ['member', ...roles], attributes }
    await expect(200, owner.patch(`${tenant}members/${results[0].id}/`, body))
  }
  await hire('alice', ['reader', 'writer'], { accountName: 'alice@the-smiths.com' })
  await hire('bob', ['reader'], { role: 'admin' })
  for (const { type, id, properties: attributes } of [active, archived])
    await expect(201, owner.put(`/api/v1/resources/${type}/${id}/`, { attributes }))
  await expect(200, owner.patch(tenant, { settings: { subject_id: 'external_id' } }))
  const program = await createProgram(service, owner, ['admin'])
  return program.key
}

const call = (path: string, body?: unknown, more: Call & { method?: string } = {}): Promise<Answer> =>
  service.call(more.method ?? 'POST', `/access/v1/${path}`, { token: key, body, ...more })
const ask = (path: string, body: object): Promise<Json> => expect(200, call(path, body))

const question = { subject: alice, action: read, resource: record(1) }
const withoutPart = (part: 'subject' | 'action' | 'resource', whole: object = question) =>
  Object.fromEntries(Object.entries(whole).filter(([name]) => name !== part))

const searches = {
  'search/subject': { subject: { type: 'user' }, action: read, resource: record(1) },
  'search/resource': { subject: alice, action: read, resource: { type: 'record' } },
  'search/action': { subject: alice, resource: record(1) },
}
/** A valid body of each endpoint. */
const endpoints: Record<string, object> = {
  evaluation: question,
  evaluations: {
    ...withoutPart('resource'),
    evaluations: [{ resource: record(1) }, { resource: record(2) }],
  },
  ...searches,
}

t.test('the decisions of the fixture', async (t) => {
  const table: [object, object, object, boolean][] = [
    [alice, read, record(1), true],
    [alice, write, record(1), true],
    [bob, read, record(1), true],
    [bob, write, record(1), false],
    [alice, write, archived, false],
    [admin, write, archived, true],
    [alice, action('delete', { soft: true }), record(1), true],
    [alice, action('delete', { soft: false }), record(1), false],
    [{ type: 'user', id: 'nonexistent-user' }, read, record(1), false],
  ]
  const evaluations = table.map(([subject, action, resource]) => ({ subject, action, resource }))
  const expected = table.map(([, , , decision]) => decision)
  const batch = await ask('evaluations', { evaluations })
  t.same(
    batch.evaluations.map(({ decision }: Json) => decision),
    expected,
  )
  t.notOk('decision' in batch, 'a batch has no decision of its own')
  for (const [index, one] of evaluations.entries())
    t.equal((await ask('evaluation', one)).decision, expected[index], JSON.stringify(one))
})

t.test('more properties, a context and unknown members change no decision', async (t) => {
  const more = {
    subject: { ...alice, properties: { department: 'Sales', role: 'manager' }, futureField: 1 },
    action: { ...action('read', { method: 'GET' }), futureField: 1 },
    resource: { ...record(1, { status: 'active', owner: 'bob' }), futureField: 1 },
    context: { time: '2025-06-27T18:03-07:00', ip: '192.168.1.1' },
    foo: 'bar',
    futureField: { nested: true },
  }
  t.equal((await ask('evaluation', more)).decision, true)
  for (const [path, body] of Object.entries(searches)) {
    const page = { limit: 10, customAttr: 'ignored' }
    const { results } = await ask(path, { ...body, context: more.context, foo: 'bar', page })
    t.ok(results.length > 0, path)
  }
})

t.test('keys of properties are compared as they are written', async (t) => {
  const decided = async (properties: object) => {
    const resource = { type: 'todo', id: randomUUID(), properties }
    return (await ask('evaluation', { subject: alice, action: action('can_update_todo'), resource })).decision
  }
  t.equal(await decided({ ownerID: 'alice@the-smiths.com' }), true)
  t.equal(await decided({ ownerID: 'rick@the-citadel.com' }), false)
  t.equal(await decided({ ownerid: 'alice@the-smiths.com' }), false)
})

t.test('a batch takes what an item lacks from the top, and answers in order', async (t) => {
  const decisions = async (batch: object) =>
    (await ask('evaluations', batch)).evaluations.map(({ decision }: Json) => decision)
  const verbs = [{ action: read }, { action: write }]
  t.same(await decisions({ subject: bob, resource: record(1), evaluations: verbs }), [true, false])
  t.same(
    await decisions({
      subject: bob,
      action: write,
      resource: record(1),
      evaluations: [{ action: read }, {}],
    }),
    [true, false],
    'an item overrides the default',
  )
  const typed = [{ resource: { id: 'record-1', properties: { status: 'active' } } }, { resource: archived }]
  t.same(
    await decisions({ subject: alice, action: write, resource: { type: 'record' }, evaluations: typed }),
    [true, false],
  )
  const people = [{ subject: alice }, { subject: admin }]
  t.same(await decisions({ action: write, resource: archived, evaluations: people }), [false, true])
  t.same(await decisions({ subject: alice, action: read, evaluations: [{ resource: record(1) }, {}] }), [
    true,
    false,
  ])
  t.same(
    await decisions({ action: read, evaluations: [{ resource: record(1) }] }),
    [false],
    'no subject at all',
  )
  for (const single of [question, { ...question, evaluations: [] }]) {
    const answer = await ask('evaluations', single)
    t.equal(answer.decision, true)
    t.notOk('evaluations' in answer)
  }
})

t.test('a semantic says where a batch stops', async (t) => {
  const evaluations = [{ action: read }, { action: write }, { action: read }]
  const decisions = async (options?: object) => {
    const batch = { subject: bob, resource: record(1), evaluations, ...(options && { options }) }
    return (await ask('evaluations', batch)).evaluations.map(({ decision }: Json) => decision)
  }
  t.same(await decisions(), [true, false, true])
  t.same(await decisions({ evaluations_semantic: 'execute_all' }), [true, false, true])
  t.same(await decisions({ evaluations_semantic: 'deny_on_first_deny' }), [true, false])
  t.same(await decisions({ evaluations_semantic: 'permit_on_first_permit' }), [true])
  const bogus = { ...endpoints.evaluations, options: { evaluations_semantic: 'bogus_value' } }
  t.equal((await call('evaluations', bogus)).status, 400)
})

t.test('equal requests have equal answers, but for the ids of decisions', async (t) => {
  const withoutIds = (body: object) =>
    JSON.parse(JSON.stringify(body).replace(/"id":"[0-9a-f-]{36}"/g, '"id":""'))
  const unknown = {
    subject: bob,
    evaluations: [{ action: action('fly'), resource: { type: 'ship', id: '1' } }],
  }
  for (const [path, body] of [...Object.entries(endpoints), ['evaluations', unknown] as const]) {
    const first = withoutIds(await ask(path, body))
    for (let repeated = 0; repeated < 2; repeated++) t.same(withoutIds(await ask(path, body)), first, path)
  }
})

t.test('searches find the entities of the fixture, owners too, and put the page first', async (t) => {
  const find = async (path: string, body: object): Promise<Json[]> => {
    const answer = await ask(path, body)
    t.equal(Object.keys(answer)[0], 'page')
    t.type(answer.page.next_token, 'string')
    return answer.results
  }
  const ids = (results: Json[]) => results.map(({ id }) => id)
  const readers = await find('search/subject', searches['search/subject'])
  t.ok(readers.every(({ type }) => type === 'user'))
  t.strictSame(
    readers
      .filter(({ id }) => id === 'alice' || id === 'bob')
      .sort((one, other) => one.id.localeCompare(other.id)),
    [alice, bob],
  )
  t.ok(ids(readers).includes(owner.id), 'an owner holds every action of an application')
  const writers = await find('search/subject', {
    subject: { type: 'user', id: 'x' },
    action: write,
    resource: archived,
  })
  t.ok(ids(writers).includes('bob'))
  t.notOk(ids(writers).includes('alice'))
  t.same(await find('search/subject', { ...searches['search/subject'], subject: { type: 'spaceship' } }), [])
  t.same(ids(await find('search/resource', searches['search/resource'])), ['record-1', 'record-2'])
  const extra = { ...searches['search/resource'], resource: record(9) }
  t.same(ids(await find('search/resource', extra)), ['record-1', 'record-2'], 'an id is ignored')
  const ofAdmin = { subject: admin, action: write, resource: { type: 'record' } }
  t.same(ids(await find('search/resource', ofAdmin)), ['record-2'])
  const verbs = [
    { name: 'read', properties: { permission: 'record:read' } },
    { name: 'write', properties: { permission: 'record:write' } },
  ]
  t.same(await find('search/action', searches['search/action']), verbs)
  t.same(await find('search/action', { ...searches['search/action'], action: action('delete') }), verbs)
  t.same(await find('search/action', { subject: admin, resource: archived }), verbs)
  const nobody = { ...searches['search/action'], subject: { type: 'user', id: 'nonexistent-user' } }
  t.same(await find('search/action', nobody), [])
})

t.test('a paged search finds the same as one page', async (t) => {
  for (const [path, body] of Object.entries(searches)) {
    const { results: whole } = await ask(path, body)
    const paged: Json[] = []
    for (let token: string | undefined; token !== ''; ) {
      const { results, page } = await ask(path, { ...body, page: { limit: 1, ...(token && { token }) } })
      paged.push(...results)
      token = page.next_token
    }
    t.same(paged, whole, path)
    const first = await ask(path, { ...body, page: { limit: 1 } })
    const { results } = await ask(path, { ...body, page: { token: first.page.next_token } })
    t.same([...first.results, ...results], whole, 'a token needs no limit')
  }
})

t.test('what is malformed is 400, at each endpoint', async (t) => {
  const bad: [string, object][] = [
    ...(['subject', 'action', 'resource'] as const).map((part): [string, object] => [
      'evaluation',
      withoutPart(part),
    ]),
    ['evaluation', { ...question, subject: { id: 'alice' } }],
    ['evaluation', { ...question, subject: { type: 'user' } }],
    ['evaluation', { ...question, subject: 'alice' }],
    ['evaluation', { ...question, action: {} }],
    ['evaluation', { ...question, action: { name: 123 } }],
    ['evaluation', { ...question, resource: { id: 'record-1' } }],
    ['evaluation', { ...question, resource: { type: 'record' } }],
    ['search/subject', withoutPart('action', searches['search/subject'])],
    ['search/subject', withoutPart('resource', searches['search/subject'])],
    ['search/subject', { ...searches['search/subject'], action: 'read' }],
    ['search/subject', { ...searches['search/subject'], subject: {} }],
    ['search/subject', { ...searches['search/subject'], resource: { type: 'record' } }],
    ['search/resource', withoutPart('subject', searches['search/resource'])],
    ['search/resource', withoutPart('action', searches['search/resource'])],
    ['search/resource', { ...searches['search/resource'], subject: { type: 'user' } }],
    ['search/resource', { ...searches['search/resource'], resource: {} }],
    ['search/action', withoutPart('resource', searches['search/action'])],
    ['search/action', withoutPart('subject', searches['search/action'])],
    ['search/action', { ...searches['search/action'], subject: 'alice' }],
    ['search/action', { ...searches['search/action'], resource: { type: 'record' } }],
  ]
  for (const [path, body] of bad)
    t.equal((await call(path, body)).status, 400, `${path} ${JSON.stringify(body)}`)
  for (const path of Object.keys(endpoints)) {
    for (const body of ['{"subject": ', '', '[]', '[{}]'])
      t.equal((await call(path, body)).status, 400, `${path} with ${body}`)
    const text = { headers: { 'content-type': 'text/plain' } }
    t.equal((await call(path, JSON.stringify(endpoints[path]), text)).status, 415, path)
  }
})

t.test('each endpoint takes POST with JSON, and echoes the id of the request', async (t) => {
  for (const [path, body] of Object.entries(endpoints)) {
    const id = `conformance-${randomUUID()}`
    const headers = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': id }
    const answer = await call(path, body, { headers })
    t.equal(answer.status, 200, path)
    t.match(answer.headers.get('content-type'), /^application\/json/)
    t.equal(answer.headers.get('x-request-id'), id)
    t.equal(
      (await call(path, { subject: 7 }, { headers })).headers.get('x-request-id'),
      id,
      'of a refusal, too',
    )
    t.equal((await call(path, undefined, { method: 'GET' })).status, 405)
    t.equal((await call(path, body, { method: 'PUT' })).status, 405)
  }
})

t.test('wrong and missing credentials are 401, with the way to authenticate', async (t) => {
  for (const [path, body] of Object.entries(endpoints))
    for (const token of [undefined, `${key.slice(0, -1)}x`, 'x']) {
      const { status, headers } = await call(path, body, { token })
      t.equal(status, 401, path)
      t.match(headers.get('www-authenticate'), /^Bearer/)
    }
})

t.test('the metadata name the decision point and every endpoint below it', async (t) => {
  const { status, headers, body } = await service.call('GET', '/.well-known/authzen-configuration')
  t.equal(status, 200)
  t.match(headers.get('content-type'), /^application\/json/)
  t.equal(body.policy_decision_point, service.url)
  for (const [name, path] of [
    ['access_evaluation_endpoint', 'evaluation'],
    ['access_evaluations_endpoint', 'evaluations'],
    ['search_subject_endpoint', 'search/subject'],
    ['search_resource_endpoint', 'search/resource'],
    ['search_action_endpoint', 'search/action'],
  ] as const)
    t.equal(body[name], `${service.url}/access/v1/${path}`)
})
