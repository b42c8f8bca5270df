import { randomUUID } from 'node:crypto'
import t from 'tap'
import { decideShadows } from '../../src/authorization/decisions/decide-shadows.ts'
import { buildSliceWithShadows } from '../../src/policy-engine/compile/slice.ts'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { tampered } from '../helpers/tampered.ts'
import { built, question } from '../policies/stage.ts'

const service = await sharedService(t)
const policies = '/api/v1/policies/'

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

async function policyOf(owner: Client, policy: object): Promise<Json> {
  const { status, body } = await owner.post(policies, { name: 'Trial', mode: 'shadow', ...policy })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const ask = async (asking: Client, name: string, properties: object = {}) => {
  const resource = { type: 'doc', id: '1', properties }
  const question = { subject: { type: 'user', id: asking.id }, action: { name }, resource }
  return (await asking.post('/access/v1/evaluation', question)).body
}
const daysOf = async (owner: Client, id: string) => (await owner.get(`${policies}${id}/stats/`)).body.days
const today = () => new Date(service.now()).toISOString().slice(0, 10)
const counts = (more: object) => ({
  version: 1,
  applied: 0,
  would_deny: 0,
  would_allow: 0,
  would_gate: 0,
  errors: 0,
  ...more,
})

t.test('a policy in shadow mode decides nothing, and is recorded with what it would have done', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const conditions = { attribute: 'resource.status', operator: 'eq', value: 'secret' }
  const deny = await policyOf(owner, {
    name: 'No secrets',
    effect: 'deny',
    actions: ['doc:read'],
    conditions,
  })
  const allow = await policyOf(owner, { name: 'All write', effect: 'allow', actions: ['doc:write'] })
  const gate = await policyOf(owner, { name: 'Two people', effect: 'require_approval', actions: ['doc:*'] })

  const secret = await ask(owner, 'doc:read', { status: 'secret' })
  t.match(secret, { decision: true, context: { effect: 'allow', obligations: [] } })
  t.equal((await ask(owner, 'doc:read', { status: 'open' })).decision, true)
  const refused = await ask(member, 'doc:write')
  t.equal(refused.decision, false, 'an allow in shadow mode permits nothing')

  const read = async (id: string, by = owner) => (await by.get(`/api/v1/decisions/${id}/`)).body
  t.match(await read(secret.context.id), {
    effect: 'allow',
    matched: [],
    shadow: [
      { policy_id: deny.id, version: 1, name: 'No secrets', effect: 'deny', outcome: 'would_deny' },
      { policy_id: gate.id, effect: 'require_approval', outcome: 'would_gate' },
    ],
  })
  t.match((await read(refused.context.id)).shadow, [{ policy_id: allow.id, outcome: 'would_allow' }])
  t.same((await read(refused.context.id, member)).shadow, [], 'members do not see the policies')

  t.match(await daysOf(owner, deny.id), [counts({ day: today(), evaluated: 2, applied: 1, would_deny: 1 })])
  t.match(await daysOf(owner, allow.id), [counts({ evaluated: 1, applied: 1, would_allow: 1 })])
  t.match(await daysOf(owner, gate.id), [counts({ evaluated: 3, applied: 2, would_gate: 2 })])
  t.equal((await member.get(`${policies}${deny.id}/stats/`)).status, 403)
  t.equal((await owner.get(`${policies}${randomUUID()}/stats/`)).status, 404)
  const metrics = await service.deps.metrics.scrape()
  t.match(metrics, /bailiwick_shadow_decisions_total\{outcome="would_deny"\} [1-9]/)
})

t.test('requests to the service are recorded, too, by day and version', async (t) => {
  const owner = await service.signUp()
  const conditions = { attribute: 'resource.name', operator: 'eq', value: 'Secret' }
  const trial = await policyOf(owner, { effect: 'deny', actions: ['department:create'], conditions })
  const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
  const make = async (name: string) => (await owner.post(departments, { name })).status
  t.same([await make('Open'), await make('Secret')], [201, 201])
  const log = (await owner.get('/api/v1/decisions/?action=department:create')).body.results
  t.match(log, [{ effect: 'allow', shadow: [{ outcome: 'would_deny' }] }, { shadow: [] }])
  service.advance(86_400_000)
  const again = await service.logIn(owner)
  await again.post(departments, { name: 'Secret' })
  await again.put(`${policies}${trial.id}/`, { description: 'Edited' })
  await again.post(departments, { name: 'Secret' })
  const day = (ago: number) => new Date(service.now() - ago * 86_400_000).toISOString().slice(0, 10)
  t.match(await daysOf(again, trial.id), [
    counts({ day: day(0), version: 2, evaluated: 1, applied: 1, would_deny: 1 }),
    counts({ day: day(0), version: 1, evaluated: 1, applied: 1, would_deny: 1 }),
    counts({ day: day(1), version: 1, evaluated: 2, applied: 1, would_deny: 1 }),
  ])
})

t.test('a batch counts each of its decisions', async (t) => {
  const owner = await service.signUp()
  const trial = await policyOf(owner, { effect: 'deny', actions: ['doc:read'] })
  const resource = { type: 'doc', id: '1' }
  const batch = { subject: { type: 'user', id: owner.id }, action: { name: 'doc:read' }, resource }
  await owner.post('/access/v1/evaluations', { ...batch, evaluations: Array(25).fill({}) })
  t.match(await daysOf(owner, trial.id), [counts({ evaluated: 25, applied: 25, would_deny: 25 })])
})

t.test('policies in shadow mode use up no time of real decisions', async (t) => {
  const owner = await service.signUp()
  for (let number = 0; number < 20; number++) {
    const condition = { attribute: 'environment.user_agent', operator: 'eq', value: `x${number}` }
    const made = await owner.post(policies, {
      name: `Tried ${number}`,
      effect: 'deny',
      actions: ['voyage:depart'],
      mode: 'shadow',
      conditions: { all: [condition] },
    })
    t.equal(made.status, 201)
  }
  const question = { subject: { type: 'user', id: owner.id }, action: { name: 'voyage:depart' } }
  const evaluations = Array.from({ length: 1_000 }, (_, n) => ({ resource: { type: 'voyage', id: `v${n}` } }))
  t.equal((await owner.post('/access/v1/evaluations', { ...question, evaluations })).status, 200)
  const next = await owner.post('/access/v1/evaluation', {
    ...question,
    resource: { type: 'voyage', id: 'v' },
  })
  t.equal(next.status, 200)
})

t.test('a previewed policy is promoted with one call', async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  const auditor = await colleague(service, owner, 'auditor')
  await ask(owner, 'doc:read')
  const trial = await policyOf(owner, { effect: 'deny', actions: ['doc:read'] })
  const other = await policyOf(owner, { effect: 'deny', actions: ['doc:write'] })
  const at = `${policies}${trial.id}/`
  const preview = async (by = owner) => (await by.post(`${at}preview/`, {})).body.promotion_token
  const promote = (promotion_token: unknown, by = owner, path = at) =>
    by.post(`${path}promote/`, { promotion_token })
  const invalid = { status: 400, body: { errors: [{ field: 'promotion_token', code: 'invalid' }] } }
  const outdated = { status: 400, body: { errors: [{ field: 'promotion_token', code: 'outdated' }] } }

  const token = await preview()
  t.equal((await owner.post(`${at}preview/`, { draft: trial })).body.promotion_token, null, 'not of a draft')
  t.equal((await owner.post(`${at}promote/`, {})).status, 400)
  for (const wrong of [`${token}A`, tampered(token), 'x', token.slice(0, -8)])
    t.match(await promote(wrong), invalid, 'tampered with')
  t.match(await promote(token, admin), invalid, 'the preview of another person')
  t.match(await promote(token, owner, `${policies}${other.id}/`), invalid, 'of another policy')
  t.equal((await promote(await preview(auditor), auditor)).status, 403, 'who reads policies changes none')
  await owner.put(`${policies}${other.id}/`, { description: 'Edited' })
  t.match(await promote(token), outdated, 'another policy has changed')
  const second = await preview()
  service.advance(3_600_000)
  t.match(await promote(second, await service.logIn(owner)), outdated, 'after an hour')

  const again = await service.logIn(owner)
  t.equal((await ask(again, 'doc:read')).decision, true)
  const promoted = await promote(await preview(again), again)
  t.match(promoted, { status: 200, body: { mode: 'enforce', version: 2 } })
  t.equal((await ask(again, 'doc:read')).decision, false)
  t.match(await promote(await preview(again), again), { status: 400 }, 'an enforced policy has no token')
  t.match(await promote('x', again), {
    status: 409,
    body: { code: 'invalid_state', current_state: 'enforce' },
  })
  t.match((await again.get(`${at}versions/`)).body.results[0], { reason: 'Promoted from shadow mode' })
})

t.test('a policy in shadow mode that cannot be evaluated is an error, and no denial', async (t) => {
  const slice = buildSliceWithShadows('tenant', 1, [], built([{ effect: 'deny' }]))
  const query = { ...question([]), slice }
  const failing = {
    decide(): never {
      throw new Error('broken')
    },
  }
  const decision = service.deps.access.decide(query)
  t.match(decideShadows(failing, query, decision), [{ policy_id: 'p0', outcome: 'error' }])
  t.match(decideShadows(service.deps.access, query, decision), [{ outcome: 'applied' }], 'denied before, too')
  const route = { ...query, phase: 'route' as const }
  t.equal(decideShadows(failing, route, decision).length, 1)
  const reading = { attribute: 'resource.name', operator: 'eq', value: 'x' }
  const policies = built([{ effect: 'deny', conditions: reading }])
  const unknown = { ...route, slice: buildSliceWithShadows('tenant', 1, [], policies) }
  t.same(decideShadows(failing, unknown, decision), [], 'the object is not known yet')
})
