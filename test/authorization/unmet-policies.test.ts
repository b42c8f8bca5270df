import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t)
const policies = '/api/v1/policies/'

t.test('an explained denial names the allow policies that did not apply, and what failed', async (t) => {
  const owner = await service.signUp()
  const dan = await colleague(service, owner)
  await owner.post('/api/v1/attribute-definitions/', {
    category: 'resource',
    key: 'amount',
    data_type: 'integer',
  })
  const rules = { effect: 'allow', actions: ['order:read'] }
  const small = { attribute: 'resource.amount', operator: 'lte', value: 1000 }
  const own = { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' }
  const created = await owner.post(policies, {
    ...rules,
    name: 'Small orders',
    conditions: { any: [{ all: [small] }, own] },
  })
  t.equal(created.status, 201)
  const other = await owner.post(policies, {
    ...rules,
    name: 'Of another person',
    subjects: { users: [owner.id] },
  })
  t.equal(other.status, 201)
  await owner.post(policies, { ...rules, name: 'Never read', effect: 'deny', conditions: own })
  const asked = await owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: dan.id },
    action: { name: 'order:read' },
    resource: { type: 'order', id: '1', properties: { amount: 5000, owner_id: owner.id } },
  })
  t.match(asked.body, {
    decision: false,
    context: { reasons: [{ code: 'policy_not_met', layer: 'policy' }, { code: 'missing_permission' }] },
  })
  t.equal('policy_id' in asked.body.context.reasons[0], false, 'only who reads policies learns which')
  const url = `/api/v1/decisions/${asked.body.context.id}/explain/`
  const { status, body } = await owner.get(url)
  t.equal(status, 200)
  t.strictSame(
    body.unmet_policies.map(({ failed, ...one }: { failed: unknown[] }) => one),
    [
      { policy_id: created.body.id, version: 1, name: 'Small orders', covers_subject: true },
      { policy_id: other.body.id, version: 1, name: 'Of another person', covers_subject: false },
    ],
  )
  const [{ failed }] = body.unmet_policies
  t.match(failed, [
    {
      path: '/conditions/any/0/all/0',
      outcome: 'false',
      attribute: 'resource.amount',
      value: 1000,
      actual: 5000,
    },
    { path: '/conditions/any/1', outcome: 'false', value_from: 'subject.id', actual: owner.id },
  ])
  t.ok(
    body.explanation.some((line: string) =>
      line.startsWith(
        'The policy "Small orders" can permit this, but does not apply: "resource.amount lte 1000" is false: the value is 5000;',
      ),
    ),
    body.explanation.join('\n'),
  )
  const mine = await dan.get(url)
  t.strictSame(mine.body.unmet_policies, [])
  t.notOk(JSON.stringify(mine.body).includes('Small orders'))
})

t.test('a misspelt attribute of a policy is answered with the attribute that was meant', async (t) => {
  const owner = await service.signUp()
  await owner.post('/api/v1/attribute-definitions/', {
    category: 'resource',
    key: 'amount',
    data_type: 'integer',
  })
  const conditions = { attribute: 'resource.amout', operator: 'lte', value: 1000 }
  const written = { name: 'x', effect: 'allow', actions: ['order:read'], conditions }
  t.match(await owner.post(policies, written), {
    status: 422,
    body: { errors: [{ code: 'unknown_attribute', detail: /Did you mean resource\.amount\?/ }] },
  })
})
