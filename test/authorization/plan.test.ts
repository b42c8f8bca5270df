import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { bearer, createClient, predicateOf, sqlOf } from '../../packages/client/exports.ts'
import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import { colleague } from '../helpers/colleague.ts'
import { inTime } from '../helpers/in-time.ts'
import { query, withClient } from '../helpers/query.ts'
import { type Client, startService } from '../helpers/service.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message
const service = await startService(t, { env: skip ? {} : { OPA_PATH: String(opa) }, workers: false })

const plan = '/access/v1/plan'
const attributes = {
  'resource.amount': 'integer',
  'resource.labels': 'array',
  'resource.site': 'string',
  'subject.site': 'string',
  'subject.sites': 'array',
  'subject.note': 'string',
}
const user = ({ id }: { id: string }) => ({ type: 'user', id })
const reading = { action: { name: 'read' }, resource: { type: 'invoice' } }
const leaf = (attribute: string, operator: string, value: unknown) => ({ attribute, operator, value })
const from = (attribute: string, operator: string, value_from: string) => ({
  attribute,
  operator,
  value_from,
})
const own = from('resource.owner_id', 'eq', 'subject.id')

/** A tenant with a member who has attributes, and the policies of a test on reading invoices. */
async function firm(...policies: object[]) {
  const owner = await service.signUp()
  for (const [name, data_type] of Object.entries(attributes)) {
    const [category, key] = name.split('.')
    await owner.post('/api/v1/attribute-definitions/', { category, key, data_type, display_name: name })
  }
  const member = await colleague(service, owner)
  for (const [index, policy] of policies.entries()) {
    const body = { name: `Policy ${index}`, effect: 'allow', actions: ['invoice:read'], ...policy }
    const { status, body: answer } = await owner.post('/api/v1/policies/', body)
    t.equal(status, 201, JSON.stringify(answer))
  }
  return { owner, member }
}

async function give(owner: Client, { id }: Client, body: object): Promise<void> {
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const { results } = (await owner.get(members)).body
  const membership = results.find((one: { user_id: string }) => one.user_id === id)
  t.equal((await owner.patch(`${members}${membership.id}/`, body)).status, 200)
}

const planned = async (caller: Client, body: object = {}) => {
  const { status, body: answer } = await inTime(() => caller.post(plan, { ...reading, ...body }))
  t.equal(status, 200, JSON.stringify(answer))
  return answer
}

t.test('a plan has what is left of deny, gate and allow when the subject is known', async (t) => {
  const { owner, member } = await firm(
    { conditions: { all: [own, leaf('environment.hour', 'between', [0, 23])] } },
    {
      conditions: {
        any: [from('resource.site', 'eq', 'subject.site'), leaf('subject.site', 'eq', 'nowhere')],
      },
    },
    { conditions: { all: [leaf('subject.site', 'eq', 'nowhere'), own] } },
    { effect: 'deny', conditions: leaf('resource.status', 'eq', 'secret') },
    { effect: 'deny', conditions: leaf('resource.status', 'eq', 'secret'), subjects: { roles: ['auditor'] } },
    {
      effect: 'deny',
      conditions: { all: [leaf('subject.site', 'eq', 'nowhere'), leaf('resource.amount', 'gt', 1)] },
    },
    { effect: 'require_approval', conditions: leaf('resource.amount', 'gt', 5_000) },
  )
  for (const one of [owner, member]) await give(owner, one, { attributes: { site: 'Ulm' } })
  const restricted = [leaf('resource.status', 'ne', 'secret'), leaf('resource.amount', 'lte', 5_000)]
  const answer = await planned(owner, { subject: user(member) })
  t.strictSame(answer, {
    kind: 'conditional',
    filter: {
      all: [
        ...restricted,
        { any: [leaf('resource.owner_id', 'eq', member.id), leaf('resource.site', 'eq', 'Ulm')] },
      ],
    },
    obligations: [],
    attributes: {
      'resource.status': 'string',
      'resource.amount': 'integer',
      'resource.owner_id': 'string',
      'resource.site': 'string',
    },
    missing_attributes: [],
    ill_typed_attributes: [],
    ignored_properties: [],
    unknown_action: false,
    unknown_resource_type: false,
    policy_revision: answer.policy_revision,
  })
  const forOwner = await planned(owner)
  t.strictSame(forOwner.filter, { all: restricted }, 'a role grants the rest')
  t.equal((await planned(owner, { subject: { type: 'robot', id: member.id } })).kind, 'conditional')
  t.match(await planned(owner, { action: { name: 'shred' } }), { kind: 'always', attributes: {} })
  t.notOk('filter' in (await planned(owner, { action: { name: 'shred' } })))
  t.match(await planned(owner, { subject: user(member), action: { name: 'shred' } }), { kind: 'never' })
})

t.test('a plan refuses what it would not look at', async (t) => {
  const owner = await service.signUp()
  const { action } = reading
  const refused = async (body: object) => {
    const { status, body: answer } = await owner.post(plan, body)
    t.equal(status, 400)
    return answer.errors
  }
  // Without it, the plan would be about the caller.
  t.match(await refused({ ...reading, subjct: user(owner) }), [{ field: 'subjct', meant: 'subject' }])
  const one = { type: 'invoice', id: '1', properties: { amount: 1 } }
  t.match(await refused({ action, resource: one }), [
    { field: 'resource.id', code: 'unknown_field' },
    { field: 'resource.properties', code: 'unknown_field' },
  ])
  t.match(await refused({ ...reading, action: 'invoice:read' }), [{ detail: /"name"/ }])
})

t.test('a plan says that nothing names its action or its type', async (t) => {
  const asker = await service.signUp()
  const hinted = async (type: string, name: string) => {
    const { body } = await asker.post(plan, { action: { name }, resource: { type } })
    return [body.unknown_action, body.unknown_resource_type]
  }
  await asker.post('/api/v1/policies/', { name: 'Orders', effect: 'allow', actions: ['order:read'] })
  t.same(await hinted('order', 'order:read'), [false, false])
  t.same(await hinted('order', 'order:raed'), [true, false])
  t.same(await hinted('ordr', 'read'), [true, true])
  t.same(await hinted('order', 'no action:at all'), [true, false])
})

t.test(
  'of an unknown, foreign or suspended subject nothing is left, nor of an action of the service',
  async (t) => {
    const { owner, member } = await firm({})
    const [stranger, admin] = [await service.signUp(), await colleague(service, owner, 'admin')]
    t.match(await planned(owner, { subject: user(member) }), { kind: 'always' })
    t.match(
      await planned(owner, { subject: { type: 'user', id: member.email } }),
      { kind: 'never' },
      'not verified',
    )
    for (const subject of [user(stranger), user({ id: 'x' }), { type: 'service_account', id: member.id }])
      t.strictSame((await planned(owner, { subject })).kind, 'never', JSON.stringify(subject))
    await give(owner, member, { status: 'suspended' })
    t.match(await planned(admin, { subject: user(member) }), { kind: 'never', obligations: [] })
    t.match(await planned(owner, { action: { name: 'user:read' } }), { kind: 'never' })
    const listed = { action: { name: 'read' }, resource: { type: 'user' } }
    t.match(await owner.post(plan, listed), { status: 422, body: { code: 'not_plannable', name: 'user' } })
  },
)

t.test(
  'a plan asks for access:evaluate, about oneself too, and records no decision of its own',
  async (t) => {
    const { owner, member } = await firm({ conditions: own })
    t.match(await member.post(plan, reading), {
      status: 403,
      body: { code: 'permission_denied', detail: /it takes the permission access:evaluate/ },
    })
    t.match(await member.post(plan, { ...reading, subject: user(member) }), { status: 403 })
    t.equal((await service.call('POST', plan, { body: reading })).status, 401)
    await owner.post(plan, { ...reading, subject: user(member) })
    await owner.post('/access/v1/evaluation', {
      ...reading,
      subject: user(member),
      resource: { type: 'invoice', id: '1' },
    })
    const { results } = (await owner.get('/api/v1/decisions/?action=invoice:read&kind=question')).body
    t.equal(results.length, 1, 'of the evaluation')
    for (const [body, field] of [
      [{ action: { name: 'read' } }, 'resource'],
      [{ ...reading, action: { name: '' } }, 'action.name'],
      [{ ...reading, subject: 'me' }, 'subject'],
      [{ ...reading, context: { x: 'x'.repeat(33_000) } }, 'context'],
    ] as const)
      t.match(await owner.post(plan, body), { status: 400, body: { errors: [{ field }] } })
  },
)

t.test('departments are listed and times are instants', async (t) => {
  const { owner, member } = await firm(
    { conditions: from('resource.department_id', 'in_department', 'subject.department_id') },
    { effect: 'deny', conditions: leaf('resource.created_at', 'lt', 'now-24h') },
  )
  const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
  const made = async (name: string, parent_id: string | null = null) =>
    (await owner.post(departments, { name, parent_id })).body.id as string
  const sales = await made('Sales')
  const [north, lab] = [await made('North', sales), await made('Lab')]
  const youngest = { attribute: 'resource.created_at', operator: 'gte' }
  const since = new Date(service.now() - 86_400_000).toISOString()
  t.match(await planned(owner, { subject: user(member) }), { kind: 'never' }, 'of no department')
  await give(owner, member, { department_id: sales })
  const { filter } = await planned(owner, { subject: user(member) })
  t.strictSame(filter.all[0], { ...youngest, value: since })
  t.match(filter.all[1], { attribute: 'resource.department_id', operator: 'in' })
  t.strictSame(filter.all[1].value.toSorted(), [north, sales].sort())
  await owner.post('/api/v1/policies/', {
    name: 'Not of the laboratory',
    effect: 'deny',
    actions: ['invoice:read'],
    conditions: leaf('resource.department_id', 'in_department', lab),
  })
  const { all } = (await planned(owner)).filter
  const others = all.find((one: { attribute: string }) => one.attribute === 'resource.department_id')
  t.strictSame(others.value.toSorted(), [north, sales].sort(), 'an id of no department is not chosen')
})

t.test(
  'an obligation has the filter of its policy, and its rows are chosen only if it is carried out',
  async (t) => {
    const obligation = { type: 'watermark', properties: { text: 'draft' } }
    const { owner, member } = await firm(
      { conditions: leaf('resource.status', 'eq', 'draft'), obligations: [obligation] },
      { conditions: own },
      { conditions: leaf('subject.site', 'eq', 'nowhere'), obligations: [obligation] },
    )
    const answer = await planned(owner, { subject: user(member) })
    t.strictSame(answer.obligations, [{ ...obligation, filter: leaf('resource.status', 'eq', 'draft') }])
    const asOwner = await planned(owner)
    t.match(asOwner, { kind: 'always', obligations: answer.obligations }, 'it binds also what a role grants')
    const draft = { status: 'draft', owner_id: member.id }
    for (const [obligations, drafts] of [
      [[], false],
      [['watermark'], true],
    ] as const)
      for (const one of [answer, asOwner]) {
        const isChosen = predicateOf(one, { obligations })
        t.equal(isChosen(draft), drafts)
        t.equal(isChosen({ ...draft, status: 'sent' }), true)
      }
    const columns = { 'resource.status': 'status', 'resource.owner_id': 'owner_id' }
    const { text, values } = sqlOf(asOwner, { columns })
    t.strictSame(values, [['draft']])
    const rows = "(values ('draft'), ('sent'), (null)) as rows (status)"
    const sql = `select status from ${rows} where ${text.replaceAll('$1', `'{draft}'`)} order by 1`
    const found = await query(service.databases.superuser, sql)
    t.strictSame(found, [{ status: 'sent' }, { status: null }])
  },
)

t.test(
  'what no filter can say is refused with its name, and a long filter for its length',
  { skip },
  async (t) => {
    const { owner, member } = await firm({ conditions: own })
    const write = (name: string, condition: string, more = {}) =>
      owner.post('/api/v1/policies/', {
        ...{ name, kind: 'rego', effect: 'deny', actions: ['invoice:read'], ...more },
        module: `package policy\n\ndeny contains "x" if ${condition}\n`,
      })
    t.equal((await write('By site', 'input.subject.site == "Bonn"')).status, 201)
    const about = { subject: user(member) }
    t.match(await planned(owner, about), { kind: 'never' }, 'without the site the module denies')
    await give(owner, member, { attributes: { site: 'Ulm' } })
    t.match(await planned(owner, about), { kind: 'conditional' })
    await give(owner, member, { attributes: { site: 'Bonn' } })
    t.match(await planned(owner, about), { kind: 'never' })
    await write('By amount', 'input.resource.amount > 5', { subjects: { users: [owner.id] } })
    t.match(await planned(owner, about), { kind: 'never' }, 'it is about another subject')
    t.match(await owner.post(plan, reading), {
      status: 422,
      body: { code: 'not_plannable', name: 'By amount', detail: /Rego module.*By amount/ },
    })
    await write('By name', 'input.resource.name == "x"')
    t.match(await owner.post(plan, { ...reading, ...about }), { status: 422, body: { name: 'By name' } })
    t.match(
      await planned(owner, { subject: user({ id: 'x' }) }),
      { kind: 'never' },
      'no module runs for an unknown subject',
    )
  },
)

t.test('a filter above 64 KiB is refused', async (t) => {
  const { owner, member } = await firm({ conditions: from('subject.note', 'contains', 'resource.name') })
  const noted = async (note: string) => {
    await give(owner, member, { attributes: { note } })
    return owner.post(plan, { ...reading, subject: user(member) })
  }
  t.match(await noted('abc'), {
    status: 200,
    body: { filter: { operator: 'in', value: ['', 'abc', 'ab', 'a', 'bc', 'b', 'c'] } },
  })
  const text = Array.from({ length: 1024 }, (_none, index) => String.fromCharCode(0x4e00 + index)).join('')
  t.match(await noted(text), { status: 422, body: { code: 'too_large' } })
  const sites = Array.from({ length: 80 }, (_none, index) => `${index}`.padEnd(1000, 'x'))
  await owner.post('/api/v1/policies/', {
    name: 'Sites',
    effect: 'allow',
    actions: ['invoice:list'],
    conditions: from('resource.site', 'in', 'subject.sites'),
  })
  const listing = {
    ...reading,
    action: { name: 'list' },
    subject: { type: 'robot', id: '1', properties: { sites } },
  }
  t.match(await owner.post(plan, listing), { status: 400, body: { errors: [{ field: 'subject' }] } })
  await owner.post('/api/v1/policies/', {
    name: 'Many sites',
    effect: 'allow',
    actions: ['invoice:list'],
    conditions: {
      any: Array.from({ length: 14 }, (_none, index) =>
        leaf(
          'resource.site',
          'in',
          Array.from({ length: 10 }, (_, item) => `${index} ${item}`.padEnd(100, 'x')),
        ),
      ),
    },
  })
  const short = { ...listing.subject, properties: { sites: sites.slice(0, 20) } }
  t.match(await owner.post(plan, { ...listing, subject: short }), { status: 200 })
  for (const index of Array.from({ length: 4 }).keys())
    await owner.post('/api/v1/policies/', {
      name: `Still more sites ${index}`,
      effect: 'allow',
      actions: ['invoice:list'],
      conditions: leaf(
        'resource.site',
        'in',
        Array.from({ length: 100 }, (_none, item) => `${index} ${item}`.padEnd(120, 'x')),
      ),
    })
  t.match(await owner.post(plan, { ...listing, subject: short }), {
    status: 422,
    body: { code: 'too_large' },
  })
})

t.test('a rule of the installation that looks at the resource is named', { skip }, async (t) => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/add-rules-of-your-own.md'), 'utf8')
  const [, rule = ''] = /^```rego\n([\s\S]*?)^```/m.exec(page) ?? []
  const looking = `package authz.platform.own_rows\n\ndeny contains "No." if {\n\tinput.application\n\tinput.resource.id == "0"\n}\n`
  const demanding = `package authz.platform.marked\n\nobligations contains {"type": "watermark", "properties": {}} if input.application\n`
  const started = async (files: Record<string, string>) => {
    const env = { POLICIES_DIR: t.testdir(files), OPA_PATH: String(opa) }
    return (await startService(t, { env, workers: false })).signUp()
  }
  const bound = await started({ 'no_webhooks.rego': rule, 'marked.rego': demanding })
  const obligations = [{ type: 'watermark', properties: {}, filter: null }]
  t.match(await bound.post(plan, reading), { status: 200, body: { kind: 'always', obligations } })
  const refused = await (await started({ 'own_rows.rego': looking })).post(plan, reading)
  t.match(refused, { status: 422, body: { code: 'not_plannable', name: 'own_rows' } })
})

t.test('rows of a table are chosen as one evaluation each permits them', async (t) => {
  const { owner, member } = await firm(
    { conditions: own },
    { conditions: leaf('resource.labels', 'contains_any', ['public', 7]) },
    { effect: 'deny', conditions: leaf('resource.amount', 'gt', 1_000) },
    { effect: 'require_approval', conditions: leaf('resource.id', 'starts_with', 'G') },
  )
  const rows = [
    { id: 'A1', owner_id: member.id, amount: 5, labels: [] },
    { id: 'A2', owner_id: member.id, amount: 5_000, labels: [] },
    { id: 'A3', owner_id: member.id, amount: null, labels: ['public'] },
    { id: 'A4', owner_id: owner.id, amount: 1_000, labels: ['public', 'x'] },
    { id: 'A5', owner_id: null, amount: 1, labels: [7] },
    { id: 'A6', owner_id: owner.id, amount: 1, labels: ['7'] },
    { id: 'A7', owner_id: owner.id, amount: 1, labels: Array(129).fill('public') },
    { id: 'A8', owner_id: member.id, amount: 2 ** 53, labels: [] },
    { id: 'G1', owner_id: member.id, amount: 1, labels: [] },
    { id: member.id, owner_id: owner.id, amount: 1, labels: [] },
  ]
  const subject = user(member)
  const evaluations = rows.map(({ id, ...properties }) => ({ resource: { type: 'invoice', id, properties } }))
  const { body } = await owner.post('/access/v1/evaluations', {
    subject,
    action: reading.action,
    evaluations,
  })
  const permitted = rows.filter((_row, index) => body.evaluations[index].decision).map(({ id }) => id)
  t.strictSame(permitted, ['A1', 'A4', 'A5'])
  const client = createClient({ url: service.url, credentials: bearer(owner.access) })
  const answer = await client.plan({ ...reading, subject })
  t.strictSame(
    rows.filter(predicateOf(answer)).map(({ id }) => id),
    permitted,
  )
  const columns = {
    'resource.id': 'id',
    'resource.owner_id': { sql: 'owner_id', type: 'uuid' },
    'resource.amount': 'amount',
    'resource.labels': 'labels',
  } as const
  const { text, values } = sqlOf(answer, { columns, from: 2 })
  const found = await withClient(service.databases.superuser, (sql) =>
    sql.query(
      `select id from json_to_recordset($1) as invoices (id text, owner_id uuid, amount bigint, labels jsonb) where ${text}`,
      [JSON.stringify(rows), ...values],
    ),
  )
  t.strictSame(
    found.rows.map(({ id }) => id),
    permitted,
  )
})
