import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t)
const policies = '/api/v1/policies/'

// biome-ignore lint/suspicious/noExplicitAny: tests check the content of answers
type Json = any

async function policyOf(owner: Client, policy: object): Promise<Json> {
  const { status, body } = await owner.post(policies, { name: 'Trial', ...policy })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const define = (owner: Client, key: string, data_type: string) =>
  owner.post('/api/v1/attribute-definitions/', { key, data_type, category: 'resource' })
const ask = async (asking: Client, name: string, properties: object = {}, type = name.split(':')[0]) => {
  const question = {
    subject: { type: 'user', id: asking.id },
    action: { name },
    resource: { type, id: '1', properties },
  }
  return (await asking.post('/access/v1/evaluation', question)).body.decision
}
const preview = async (owner: Client, id: string, body: object = {}): Promise<Json> =>
  (await owner.post(`${policies}${id}/preview/`, body)).body
const large = { attribute: 'resource.amount', operator: 'gt', value: 100 }

t.test('a preview of a policy in shadow mode says what its counts say', async (t) => {
  const owner = await service.signUp()
  await define(owner, 'amount', 'integer')
  const trial = await policyOf(owner, {
    effect: 'deny',
    actions: ['invoice:pay'],
    mode: 'shadow',
    conditions: large,
  })
  for (const amount of [500, 600, 700, 800]) t.equal(await ask(owner, 'invoice:pay', { amount }), true)
  t.match((await owner.get(`${policies}${trial.id}/stats/`)).body.days, [{ would_deny: 4 }])
  const found = await preview(owner, trial.id)
  t.match(found, {
    evaluated: 4,
    not_replayable: 0,
    missing_attributes: {},
    counts: { allow_to_deny: 4 },
    promotion_token: String,
  })
  t.match(found.flips, Array(4).fill({ before: 'allow', after: 'deny', action: 'invoice:pay' }))
  const draft = { name: 'x', effect: 'deny', actions: ['invoice:pay'], conditions: { ...large, value: 650 } }
  t.match(await preview(owner, trial.id, { draft }), { evaluated: 4, counts: { allow_to_deny: 2 } })
})

t.test('what a policy would have done counts where a decision cannot be decided again', async (t) => {
  const owner = await service.signUp()
  await define(owner, 'amount', 'integer')
  for (const key of ['a', 'b', 'c']) await define(owner, key, 'string')
  // Too many bytes: the log keeps the decision without what was sent.
  const long = { a: 'x'.repeat(1_000), b: 'x'.repeat(1_000), c: 'x'.repeat(1_000) }
  const exist = Object.keys(long).map((key) => ({ attribute: `resource.${key}`, operator: 'exists' }))
  const policy = { effect: 'deny', actions: ['invoice:pay'], mode: 'shadow' }
  const trial = await policyOf(owner, { ...policy, conditions: { all: [large, ...exist] } })
  for (const amount of [500, 600]) t.equal(await ask(owner, 'invoice:pay', { amount, ...long }), true)
  const found = await preview(owner, trial.id)
  t.match(found, { evaluated: 2, not_replayable: 0, counts: { allow_to_deny: 2 } })
  t.match(found.flips, Array(2).fill({ before: 'allow', after: 'deny' }))
  const draft = { ...policy, name: 'x', mode: 'enforce', conditions: large }
  t.match(
    await preview(owner, trial.id, { draft }),
    { evaluated: 0, not_replayable: 2, missing_attributes: { 'resource.amount': 2 } },
    'a draft is another policy',
  )
})

t.test('a promotion says what could not be decided again, and asks to accept it', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  await define(owner, 'amount', 'integer')
  for (let n = 0; n < 3; n++) t.equal(await ask(member, 'invoice:pay', { amount: 500 }), false)
  const trial = await policyOf(owner, {
    effect: 'allow',
    actions: ['invoice:pay'],
    mode: 'shadow',
    conditions: large,
  })
  const found = await preview(owner, trial.id)
  t.match(found, {
    evaluated: 0,
    not_replayable: 3,
    missing_attributes: { 'resource.amount': 3 },
    flips: [],
    promotion_token: String,
  })
  const promote = (more: object) =>
    owner.post(`${policies}${trial.id}/promote/`, { promotion_token: found.promotion_token, ...more })
  t.match(await promote({}), {
    status: 409,
    body: {
      code: 'invalid_state',
      current_state: 'shadow',
      not_replayable: 3,
      missing_attributes: { 'resource.amount': 3 },
      detail: /3 decisions.*resource\.amount.*accept_unreplayed: true/,
    },
  })
  t.match(await promote({ accept_unreplayed: 'yes' }), {
    status: 400,
    body: { errors: [{ field: 'accept_unreplayed' }] },
  })
  t.match(await promote({ accept_unreplayed: true }), { status: 200, body: { mode: 'enforce' } })
})

t.test('a preview is about the actions that the policy names', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  for (const name of ['invoice:pay', 'invoice:read', 'report:read'])
    t.equal(await ask(member, name), false, name)
  t.equal(await ask(member, 'invoice:read', {}, 'archive'), false)
  await member.get(policies)
  const { id } = await policyOf(owner, { effect: 'deny', actions: ['doc:read'] })
  const evaluated = async (draft: object) =>
    (await preview(owner, id, { draft: { name: 'x', effect: 'allow', ...draft } })).evaluated
  t.equal(await evaluated({ actions: ['invoice:pay'] }), 1)
  t.equal(await evaluated({ actions: ['invoice:*'] }), 3)
  t.equal(await evaluated({ actions: ['invoice:*'], resource_types: ['archive'] }), 1)
  t.equal(await evaluated({ actions: ['policy:*'] }), 2, 'one denial, one change')
  t.equal(await evaluated({ actions: ['report:read', 'invoice:pay'] }), 2)
  t.ok((await evaluated({ actions: ['*'] })) > 5)
})

t.test('a change of an enforced policy is compared with its stored form', async (t) => {
  const owner = await service.signUp()
  const { id } = await policyOf(owner, { effect: 'deny', actions: ['invoice:pay'] })
  t.equal(await ask(owner, 'invoice:pay'), false)
  t.match(await preview(owner, id), { evaluated: 1, flips: [] }, 'it is in force')
  const draft = { name: 'x', effect: 'deny', actions: ['invoice:read'] }
  t.match(await preview(owner, id, { draft }), { counts: { deny_to_allow: 1 } }, 'the action it named before')
})

t.test('what other policies have changed since is no effect of this one', async (t) => {
  const owner = await service.signUp()
  const other = await policyOf(owner, { effect: 'deny', actions: ['invoice:pay'] })
  t.equal(await ask(owner, 'invoice:pay'), false)
  t.equal((await owner.patch(`${policies}${other.id}/`, { is_active: false })).status, 200)
  const never = { attribute: 'subject.email', operator: 'eq', value: 'nobody@example.com' }
  const draft = {
    name: 'x',
    effect: 'deny',
    actions: ['invoice:pay', 'department:create'],
    conditions: never,
  }
  const url = `${policies}preview-draft/`
  t.match((await owner.post(url, { draft })).body, { evaluated: 1, flips: [] })

  const approver = await colleague(service, owner, 'owner')
  await policyOf(owner, { effect: 'require_approval', actions: ['department:create'] })
  const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
  const gated = await owner.post(departments, { name: 'New' })
  const { id } = gated.body.approval_request
  t.equal((await approver.post(`/api/v1/approval-requests/${id}/approve/`, {})).status, 200)
  const made = await owner.post(departments, { name: 'New' }, { headers: { 'approval-request': id } })
  t.equal(made.status, 201, 'an approved call')
  t.match((await owner.post(url, { draft })).body, { evaluated: 3, flips: [] })
})
