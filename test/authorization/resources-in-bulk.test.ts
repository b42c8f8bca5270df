import { randomUUID } from 'node:crypto'
import t from 'tap'
import { flushes } from '../../src/database/executor/pool.ts'
import { colleague } from '../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { type Json, startService } from '../helpers/service.ts'
import { wrongCounts } from '../tenancy/staff.ts'

const service = await startService(t, {
  workers: false,
  env: {
    LIMIT_RESOURCES: '2500',
    LIMIT_DECISION_MS_PER_SECOND: '900',
    LIMIT_DECISION_MS_PER_REQUEST: '10000',
  },
})
const owner = await service.signUp()
const author = await colleague(service, owner)
const database = await openDatabase(t, service)
const all = '/api/v1/resources/'
const put = (resources: unknown, client = owner) => client.put(all, { resources })
const remove = (resources: unknown, client = owner) => client.delete(all, { body: { resources } })
const named = (prefix: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => ({ type: 'document', id: `${prefix}-${n}`, ...more }))
const outcomes = ({ body }: { body: Json }) => body.results.map(({ outcome }: Json) => outcome)
const tally = (answer: { body: Json }) => {
  const counts: Record<string, number> = {}
  for (const outcome of outcomes(answer)) counts[outcome] = (counts[outcome] ?? 0) + 1
  return counts
}
const logged = async (what: string, query = '') => {
  const found: Json[] = []
  for (let next: string | null = `/api/v1/${what}/?page_size=100${query}`; next; ) {
    const { body } = await owner.get(next.replace(/^https?:\/\/[^/]+/, ''))
    found.push(...body.results)
    next = body.results.length > 0 ? (body.next ?? null) : null
  }
  return found
}
const told = async (type: string) =>
  (await eventsOf(database, owner.tenantId)).filter(
    (event) => event.type === `authorization.resource_${type}`,
  )
const define = (key: string) =>
  owner.post('/api/v1/attribute-definitions/', { category: 'resource', key, data_type: 'string' })
await define('stage')

t.test('a thousand resources are registered in one call, each decided, audited and told', async (t) => {
  const resources = named('many', 1_000, { attributes: { stage: 'draft' }, owner_id: owner.id })
  const made = await put(resources)
  t.equal(made.status, 200, JSON.stringify(made.body).slice(0, 300))
  t.same(tally(made), { created: 1_000 })
  t.match(made.body.results[7], { type: 'document', id: 'many-7', outcome: 'created' })
  t.equal((await owner.get(all)).body.count, 1_000)
  const events = await told('created')
  t.equal(new Set(events.map(({ data }) => data.resource_id)).size, 1_000)
  const { rows } = await database.query(
    "select count(*)::int as waiting from outbox where tenant_id = $1 and queue = 'event-fanout' and payload ->> 'event_id' in (select id::text from events where type = 'authorization.resource_created')",
    [owner.tenantId],
  )
  t.equal(rows[0].waiting, 1_000)
  const audited = await logged('audit-log', '&action=registered_resource:update')
  t.equal(new Set(audited.map(({ target }) => target.id)).size, 1_000)
  const decisions = await logged('decisions', '&action=registered_resource:update')
  const known = new Set(decisions.map(({ id }) => id))
  t.equal(known.size, 1_000)
  t.ok(
    audited.every(({ decision_id }) => known.has(decision_id)),
    'each row names the decision of its item',
  )
  t.match((await owner.get(`${all}document/many-7/`)).body, {
    attributes: { stage: 'draft' },
    owner_id: owner.id,
  })
})

t.test('what is the same stays as it is, and what differs is replaced as a whole', async (t) => {
  const before = (await owner.get(`${all}document/many-1/`)).body
  const answer = await put([
    { type: 'document', id: 'many-1', attributes: { stage: 'draft' }, owner_id: owner.id },
    { type: 'document', id: 'many-2', attributes: { stage: 'final' } },
    { type: 'document', id: 'other' },
  ])
  t.same(outcomes(answer), ['unchanged', 'updated', 'created'])
  t.same((await owner.get(`${all}document/many-1/`)).body, before)
  t.match((await owner.get(`${all}document/many-2/`)).body, {
    attributes: { stage: 'final' },
    owner_id: null,
  })
  const [event] = await told('updated')
  t.match(event, { data: { resource_id: 'many-2' } })
})

t.test('a faulty item stands alone, with its field', async (t) => {
  const answer = await put([
    { type: 'document', id: 'good' },
    { type: 'document', id: 'good', attributes: { stage: 'final' } },
    { type: 'document', id: 'a', attributes: { colour: 'red' } },
    { type: 'document', id: 'b', owner_id: randomUUID() },
    { type: 'document', id: 'c', department_id: randomUUID() },
    { type: 'member', id: 'd' },
    { type: 'document', id: '' },
    { type: 'document', id: 7 },
    { type: 'document', id: 'e', atributes: {} },
    { type: 'document', id: 'f', attributes: { stage: 'x'.repeat(17_000) } },
    'document',
    null,
  ])
  t.equal(answer.status, 200)
  const [first, ...faulty] = answer.body.results
  t.equal(first.outcome, 'created')
  t.ok(faulty.every(({ outcome }: Json) => outcome === 'invalid'))
  t.same(
    faulty.map(({ errors: [{ field, code }] }: Json) => `${field} ${code}`),
    [
      'id duplicate',
      'attributes.colour unknown',
      'owner_id unknown',
      'department_id unknown',
      'type invalid',
      'id invalid',
      'id invalid_type',
      'atributes unknown_field',
      'attributes invalid',
      ' invalid_type',
      ' invalid_type',
    ],
  )
  t.match((await owner.get(`${all}document/good/`)).body, { attributes: {} }, 'the first of two counts')
})

t.test('a body without resources, with too many or too long is refused', async (t) => {
  for (const resources of [[], named('x', 1_001), 'all', undefined])
    t.match(await put(resources), { status: 400, body: { errors: [{ field: 'resources' }] } })
  t.equal((await remove([])).status, 400)
  const long = (bytes: number) => [{ type: 'document', id: 'long', padding: 'x'.repeat(bytes) }]
  t.equal((await put(long(4 * 1024 * 1024))).status, 413)
  t.equal((await put(long(4 * 1024 * 1024 - 200))).status, 200)
})

t.test('a policy that denies some leaves the others alone, and each denial is logged', async (t) => {
  const denied = await owner.post('/api/v1/policies/', {
    name: 'Nothing of their own',
    effect: 'deny',
    actions: ['registered_resource:*'],
    conditions: { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
  })
  t.equal(denied.status, 201, JSON.stringify(denied.body))
  const answer = await put([
    { type: 'document', id: 'open', owner_id: author.id },
    { type: 'document', id: 'hidden', owner_id: owner.id },
  ])
  t.equal(answer.status, 200, JSON.stringify(answer.body))
  t.match(answer.body.results, [
    { outcome: 'created' },
    { outcome: 'invalid', errors: [{ code: 'permission_denied' }] },
  ])
  const decisions = await logged('decisions', '&action=registered_resource:update&effect=deny')
  t.equal(decisions.length, 1)
  t.equal((await owner.delete(`/api/v1/policies/${denied.body.id}/`)).status, 204)
})

t.test('a policy that requires an approval has no effect on the action, as for a single PUT', async (t) => {
  const gated = await owner.post('/api/v1/policies/', {
    name: 'Two see it',
    effect: 'require_approval',
    actions: ['registered_resource:update'],
    approval: {},
  })
  t.match(gated, { status: 201, body: { warnings: [{ code: 'not_gateable' }] } })
  t.same(outcomes(await put(named('gated', 1))), ['created'])
})

t.test('the statements of a call do not depend on the number of its items', async (t) => {
  const flushesOf = async (act: () => Promise<unknown>) => {
    let sent = 0
    const count = () => {
      sent++
    }
    flushes.subscribe(count)
    await act()
    flushes.unsubscribe(count)
    return sent
  }
  // Timers of the process send statements of their own now and then.
  const fewest = async (name: string, size: number) => {
    const sent: number[] = []
    for (const n of [1, 2, 3, 4]) sent.push(await flushesOf(() => put(named(`${name}${n}-`, size))))
    return Math.min(...sent)
  }
  t.equal(await fewest('lots', 60), await fewest('few', 2))
})

t.test('of two bulks over the same names each sees the one before', async (t) => {
  const resources = named('race', 100)
  const answers = await Promise.all([put(resources), put(resources.toReversed()), put(resources)])
  const created = answers.flatMap(outcomes).filter((outcome) => outcome === 'created')
  t.equal(created.length, 100)
  const single = (id: string) => owner.put(`${all}document/${id}/`, {})
  const mixed = await Promise.all([put(named('mix', 50)), ...named('mix', 5).map(({ id }) => single(id))])
  t.ok(mixed.every(({ status }) => status === 200 || status === 201))
  t.equal((await owner.get(`${all}?resource_type=document&page_size=1`)).status, 200)
})

t.test('deletion answers deleted or absent, and tells each', async (t) => {
  const answer = await remove([...named('race', 100), { type: 'document', id: 'nothing' }])
  t.same(tally(answer), { deleted: 100, absent: 1 })
  t.equal((await told('deleted')).length, 100)
  t.same(tally(await remove(named('race', 100))), { absent: 100 })
})

t.test('a tenant registers no more than the limit, and the rest is invalid', async (t) => {
  const { count } = (await owner.get(all)).body
  await put(named('fill', 1_000))
  const left = 2_500 - count - 1_000
  const answers = await Promise.all([put(named('p', 900)), put(named('q', 900))])
  t.equal(answers.flatMap(outcomes).filter((outcome) => outcome === 'created').length, Math.min(left, 1_800))
  const refused = answers
    .flatMap(({ body }) => body.results)
    .find(({ outcome }: Json) => outcome === 'invalid')
  t.match(refused, { errors: [{ code: 'limit_reached' }] })
  t.equal((await owner.get(all)).body.count, Math.min(2_500, count + 2_800))
})

t.test('no other tenant reads, changes or deletes what is registered', async (t) => {
  const stranger = await service.signUp()
  t.same(outcomes(await remove(named('many', 3), stranger)), ['absent', 'absent', 'absent'])
  t.same(outcomes(await put(named('many', 3), stranger)), ['created', 'created', 'created'])
  t.match((await owner.get(`${all}document/many-0/`)).body, { attributes: { stage: 'draft' } })
  t.equal((await service.call('PUT', all, { body: { resources: named('x', 1) } })).status, 401)
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
