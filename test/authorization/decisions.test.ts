import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { pino } from 'pino'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { startService } from '../helpers/service.ts'
import { seriesOf } from '../observe/metrics/series.ts'
import { look } from '../tenancy/staff.ts'

const service = await startService(t)
const decisions = '/api/v1/decisions/'
const policies = '/api/v1/policies/'

t.test('callers who can read decisions can read and explain a denial', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const refused = await member.get(policies)
  t.equal(refused.status, 403)
  const id = refused.body.decision_id

  t.match((await owner.get(`${decisions}${id}/`)).body, {
    id,
    effect: 'deny',
    action: 'policy:list',
    subject: { id: member.id, email: member.email },
    reasons: [{ code: 'missing_permission', layer: 'rbac' }],
    request_id: refused.headers.get('x-request-id'),
  })
  const { body } = await owner.get(`${decisions}${id}/explain/`)
  t.match(body.explanation[0], /policy:list.*denied/)
  t.ok(body.explanation.some((line: string) => /Roles held: member.*owner, admin, auditor/.test(line)))
})

t.test('an explanation shows the values of the conditions, in the version of that time', async (t) => {
  const owner = await service.signUp()
  const conditions = { all: [{ attribute: 'subject.email_verified', operator: 'eq', value: false }] }
  const { body: policy } = await owner.post(policies, {
    name: 'Verify first',
    effect: 'deny',
    actions: ['role:list', 'member:list'],
    conditions,
  })
  const refused = await owner.get(`/api/v1/tenants/${owner.tenantId}/members/`)
  t.equal(refused.status, 403)
  await owner.delete(`${policies}${policy.id}/`)
  const { body } = await owner.get(`${decisions}${refused.body.decision_id}/explain/`)
  t.match(body.trace, [{ policy_id: policy.id, applies: true }])
  t.ok(body.explanation.some((line: string) => line.includes('Verify first')))
  t.ok(body.explanation.some((line: string) => line.includes('the value is false')))
})

t.test('members read decisions about themselves, without the tenant’s policies', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const other = await colleague(service, owner)
  await owner.post(policies, { name: 'A secret rule', effect: 'deny', actions: ['member:list'] })
  const mine = await member.get(`/api/v1/tenants/${owner.tenantId}/members/`)
  const theirs = await other.get(`/api/v1/tenants/${owner.tenantId}/members/`)
  const { body } = await member.get(decisions)
  t.ok(body.results.length > 0)
  t.ok(body.results.every(({ subject }: { subject: { id: string } }) => subject.id === member.id))
  t.notOk(JSON.stringify(body).includes('A secret rule'))
  t.equal('count' in body, false)
  const explained = await member.get(`${decisions}${mine.body.decision_id}/explain/`)
  t.equal(explained.status, 200)
  t.notOk(JSON.stringify(explained.body).includes('A secret rule'))
  t.equal((await member.get(`${decisions}${theirs.body.decision_id}/`)).status, 404)
  t.equal((await member.get(`${decisions}${theirs.body.decision_id}/explain/`)).status, 404)
})

t.test('decisions on changes are kept with their subject, and other tenants cannot see them', async (t) => {
  const owner = await service.signUp()
  const made = await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })
  const { body } = await owner.get(decisions)
  const row = body.results.find(({ action }: { action: string }) => action === 'policy:create')
  t.match(row, { effect: 'allow', subject: { id: owner.id }, request_id: made.headers.get('x-request-id') })
  const stranger = await service.signUp()
  t.equal((await stranger.get(`${decisions}${row.id}/`)).status, 404)
  t.notOk(JSON.stringify((await stranger.get(decisions)).body).includes(owner.id))
})

t.test('a policy can be tested without storing it', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const { body: policy } = await owner.post(policies, {
    name: 'Own documents',
    effect: 'allow',
    actions: ['document:read'],
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  })
  const url = `${policies}${policy.id}/test/`
  const input = (owned: string) => ({
    subject: { id: member.id },
    action: 'document:read',
    resource: { type: 'document', id: '1', properties: { owner_id: owned } },
  })
  const { status, body } = await owner.post(url, input(member.id))
  t.equal(status, 200)
  t.match(body, {
    effect: 'allow',
    allowed: true,
    applies: true,
    missing_attributes: [],
    trace: { outcome: 'true' },
  })
  t.match((await owner.post(url, input(owner.id))).body, {
    effect: 'deny',
    applies: false,
    trace: { outcome: 'false' },
  })
  t.match((await owner.post(url, {})).body, {
    effect: 'allow',
    applies: false,
    missing_attributes: ['resource.owner_id'],
  })
  const cases = [
    { name: 'own', input: input(member.id), expect: 'allow' },
    { name: 'other', input: input(owner.id), expect: 'allow' },
  ]
  t.match((await owner.post(url, { cases })).body, {
    cases: [
      { name: 'own', effect: 'allow', expect: 'allow', passed: true },
      { name: 'other', effect: 'deny', expect: 'allow', passed: false },
    ],
    duration_us: Number,
  })
  const draft = { name: 'None', effect: 'deny', actions: ['document:*'] }
  t.match((await owner.post(url, { ...input(member.id), draft })).body, { effect: 'deny', applies: true })
  t.match(await owner.post(url, { draft: { ...draft, conditions: { attribute: 'x.y' } } }), {
    status: 422,
    body: { errors: [{ pointer: /^\/draft\/conditions/, line: 1, column: Number }] },
  })
  t.match((await owner.post(`${policies}test-draft/`, { ...input(member.id), draft })).body, {
    effect: 'deny',
    applies: true,
    matched: [{ name: 'None' }],
  })
  t.match((await owner.post(`${policies}test-draft/`, {})).body.errors, [{ field: 'draft' }])
  t.equal((await owner.get(`${policies}${policy.id}/`)).body.version, 1)
  t.equal((await member.post(url, {})).status, 403)
  const auditor = await colleague(service, owner, 'auditor')
  t.equal((await auditor.post(url, { subject: { roles: ['admin'] } })).body.effect, 'allow')
})

t.test('a preview lists the recorded decisions that would change', async (t) => {
  const owner = await service.signUp()
  const { body: policy } = await owner.post(policies, { name: 'x', effect: 'deny', actions: ['doc:read'] })
  const draft = { name: 'x', effect: 'deny', actions: ['attribute_definition:create'] }
  await owner.post('/api/v1/attribute-definitions/', { key: 'a', category: 'subject', data_type: 'ip' })
  const { status, body } = await owner.post(`${policies}${policy.id}/preview/`, { draft })
  t.equal(status, 200)
  t.match(body, {
    counts: { allow_to_deny: 1, deny_to_allow: 0 },
    flips: [{ action: 'attribute_definition:create', before: 'allow', after: 'deny' }],
  })
  const { body: asNew } = await owner.post(`${policies}preview-draft/`, { draft })
  t.match(asNew, { counts: { allow_to_deny: 1 }, promotion_token: null }, 'a policy that is not stored')
  t.equal(
    (await owner.post('/api/v1/attribute-definitions/', { key: 'b', category: 'subject', data_type: 'ip' }))
      .status,
    201,
  )
})

t.test(
  'at most 2 KB of an application’s values are kept, and an explanation works without the rest',
  async (t) => {
    const owner = await service.signUp()
    for (const key of ['a', 'b', 'c'])
      await owner.post('/api/v1/attribute-definitions/', { key, category: 'resource', data_type: 'string' })
    const look_at = (key: string) => ({ attribute: `resource.${key}`, operator: 'eq', value: 'x' })
    const conditions = { any: ['a', 'b', 'c'].map(look_at) }
    const { body: policy } = await owner.post(policies, {
      name: 'x',
      effect: 'deny',
      actions: ['doc:read'],
      conditions,
    })
    const ask = async (length: number, id = '1') => {
      const properties = { a: 'x', b: 'b'.repeat(length), c: 'c'.repeat(length) }
      const question = {
        subject: { type: 'user', id: owner.id },
        action: { name: 'read' },
        resource: { type: 'doc', id, properties },
      }
      const { body } = await owner.post('/access/v1/evaluation', question)
      t.equal(body.decision, false)
      const [{ facts }] = await look(service, 'select facts from decisions where id = $1', [body.context.id])
      t.ok(Buffer.byteLength(JSON.stringify(facts)) <= 2_048, `${JSON.stringify(facts).length}`)
      const { body: explained } = await owner.get(`${decisions}${body.context.id}/explain/`)
      t.match(explained, { effect: 'deny', explanation: [/denied/] })
      return { facts, explained }
    }
    t.equal((await ask(200)).facts.sent.resource.b.length, 200)
    const large = await ask(1_000)
    t.equal(large.facts.sent, undefined)
    t.match(large.facts.subject, { id: owner.id })
    t.match(await owner.post(`${policies}${policy.id}/preview/`, {}), { body: { not_replayable: Number } })
    const ids = await ask(10, '\u{1f4c4}'.repeat(127))
    t.ok(ids.facts.subject || ids.facts.cut)
  },
)

t.test(
  'at its daily limit a tenant loses allowed reads first, then all but a sample, counted and logged',
  async (t) => {
    const lines: Record<string, unknown>[] = []
    const write = (text: string) => {
      const line = JSON.parse(text)
      if (line.msg === 'decisions of a tenant are not kept') lines.push(line)
    }
    const logTo = pino({ level: 'warn' }, { write })
    const limited = await startService(t, { env: { LIMIT_DECISIONS_PER_DAY: '40' }, workers: false, logTo })
    const owner = await limited.signUp()
    const member = await colleague(limited, owner)
    const kept = async () => {
      await limited.deps.decisionLog.flush()
      return (
        await look(limited, 'select count(*)::int as n from decisions where tenant_id = $1', [owner.tenantId])
      )[0].n
    }
    const dropped = async (labels: string) =>
      seriesOf(await limited.deps.metrics.scrape()).get(`bailiwick_decisions_dropped_total{${labels}}`) ?? 0
    let strangers = 0
    const ask = (times: number, id: () => string) =>
      Promise.all(
        Array.from({ length: times }, () =>
          owner.post('/access/v1/evaluation', {
            subject: { type: 'user', id: id() },
            action: { name: 'doc:read' },
            resource: { type: 'doc', id: '1' },
          }),
        ),
      )
    const deny = (times: number) => ask(times, () => `stranger-${++strangers}`)
    while ((await kept()) < 24) await deny(4)
    const readsDropped = () => dropped('effect="allow",reason="daily_limit"')
    for (let n = 0; n < 20 && (await readsDropped()) === 0; n++) await ask(200, () => owner.id)
    t.ok((await readsDropped()) > 0, 'at 60 % no sampled read is kept')
    t.equal(await dropped('effect="deny",reason="daily_limit"'), 0)
    t.ok((await kept()) <= 28)

    const before = await kept()
    for (let n = 0; n < 75; n++) await deny(4)
    const after = await kept()
    const lost = await dropped('effect="deny",reason="daily_limit"')
    t.ok(after >= 32 && after < 50, `${after} are kept`)
    t.equal(after - before + lost, 300, 'each of the others is counted')
    const { results } = (await owner.get('/api/v1/audit-log/?action=decision:throttle')).body
    t.match(results, [
      { actor: { type: 'system' }, changes: { questions: { after: 'sampled until midnight' } } },
    ])
    t.equal((await member.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name: 'x' })).status, 403)
    const own = (await owner.get('/api/v1/decisions/?action=role:create')).body.results
    t.match(own, [{ effect: 'deny', subject: { id: member.id } }], 'denials of own actions have a reserve')

    t.match(lines, [
      { msg: 'decisions of a tenant are not kept', tenant_id: owner.tenantId, count: 1, denials: 0 },
    ])
    limited.advance(60_000)
    await deny(10)
    const logged = lines.slice(1).map(({ denials }) => denials as number)
    t.equal(logged.length, 1, 'one line a minute')
    t.ok(logged[0]! >= lost)
    limited.advance(86_400_000)
    const tomorrow = await limited.logIn(owner)
    const then = await kept()
    for (let n = 0; n < 10; n++)
      await tomorrow.post('/access/v1/evaluation', {
        subject: { type: 'user', id: `tomorrow-${n}` },
        action: { name: 'doc:read' },
        resource: { type: 'doc', id: '1' },
      })
    t.ok((await kept()) >= then + 10, 'the count starts again the next day')
  },
)

t.test(
  'a member who asks about themselves again and again uses a tenth of the log of decisions',
  async (t) => {
    const limited = await startService(t, { env: { LIMIT_DECISIONS_PER_DAY: '100' }, workers: false })
    const owner = await limited.signUp()
    const [member, other] = [await colleague(limited, owner), await colleague(limited, owner)]
    const question = (id: string) => ({
      subject: { type: 'user', id },
      action: { name: 'doc:read' },
      resource: { type: 'doc', id: '1' },
    })
    const evaluations = Array.from({ length: 1_000 }, () => question(member.id))
    t.equal((await member.post('/access/v1/evaluations', { evaluations })).status, 200)
    const about = async (id: string, action: string) => {
      await limited.deps.decisionLog.flush()
      return (
        await look(
          limited,
          'select count(*)::int as n from decisions where tenant_id = $1 and subject_id = $2 and action = $3',
          [owner.tenantId, id, action],
        )
      )[0].n
    }
    const kept = await about(member.id, 'doc:read')
    t.ok(kept >= 10 && kept < 50, `${kept} of 1,000: a tenth of 100, and one in a hundred of the rest`)
    const path = `/api/v1/tenants/${owner.tenantId}/roles/`
    t.equal((await member.post(path, { name: 'x' })).status, 403)
    t.equal(await about(member.id, 'role:create'), 1, 'what the member then tries is in the log')
    await other.post('/access/v1/evaluation', question(other.id))
    t.equal(await about(other.id, 'doc:read'), 1)
  },
)

t.test('a preview of many decisions runs in a thread, and has the same answer', async (t) => {
  const owner = await service.signUp()
  const made = await owner.post(policies, {
    name: 'Everybody reads',
    effect: 'allow',
    actions: ['doc:read'],
    conditions: { attribute: 'subject.id', operator: 'eq', value: 'a' },
  })
  t.equal(made.status, 201)
  const question = { subject: { type: 'printer', id: 'b' }, action: { name: 'doc:read' } }
  const resource = { type: 'doc', id: '1' }
  const asked = await owner.post('/access/v1/evaluation', { ...question, resource })
  t.equal(asked.body.decision, false)
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  t.teardown(() => client.end())
  await client.query(
    `insert into decisions select (jsonb_populate_record(d, jsonb_build_object('id', gen_random_uuid()))).*
     from decisions d cross join generate_series(1, 400) where d.id = $1`,
    [asked.body.context.id],
  )
  const url = `${policies}${made.body.id}/preview/`
  const draft = { name: 'x', effect: 'allow', actions: ['doc:read'] }
  for (const limit of [100, 350]) {
    const { status, body } = await owner.post(url, { draft, limit })
    t.equal(status, 200)
    t.match(body, { evaluated: limit, not_replayable: 0, counts: { deny_to_allow: limit } })
    t.equal(body.flips.length, limit)
  }
  if (process.platform !== 'linux') return
  const threads = lowThreads()
  // Modules of another file in this process can have run beside it.
  t.ok(threads.length > 0, 'the thread has a low priority')
  t.equal((await owner.post(url, { draft, limit: 350 })).status, 200)
  t.same(lowThreads(), threads, 'the next preview uses the same thread')
})

/** The threads of this process with a low priority, apart from those that hash (proc(5): `nice` is the 19th field). */
const lowThreads = () =>
  readdirSync('/proc/self/task').filter((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    return !stat.includes('(libuv-worker') && stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16] === '10'
  })
