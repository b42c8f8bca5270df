import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const policies = '/api/v1/policies/'
const leaf = (attribute: string, operator: string, value: unknown) => ({ attribute, operator, value })

/** A tenant with an auditor, and with a member and a ship that have the attribute clearance 9. */
async function furnished() {
  const owner = await service.signUp()
  const auditor = await colleague(service, owner, 'auditor')
  const member = await colleague(service, owner)
  const definition = { data_type: 'integer', display_name: 'Clearance', key: 'clearance' }
  for (const category of ['subject', 'resource'])
    await owner.post('/api/v1/attribute-definitions/', { ...definition, category })
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const [{ id }] = (await owner.get(`${members}?user_id=${member.id}`)).body.results
  t.equal((await owner.patch(`${members}${id}/`, { attributes: { clearance: 9 } })).status, 200)
  const ship = { attributes: { clearance: 9 }, owner_id: member.id }
  t.equal((await owner.put('/api/v1/resources/ship/1/', ship)).status, 201)
  return { owner, auditor, member }
}

const hide = (owner: Client, action: string, conditions?: object) =>
  owner.post(policies, {
    name: `No ${action} for auditors`,
    effect: 'deny',
    actions: [action],
    subjects: { roles: ['auditor'] },
    ...(conditions && { conditions }),
  })

const draft = (attribute: string) => ({
  name: 'Draft',
  effect: 'deny',
  actions: ['ship:steer'],
  conditions: leaf(attribute, 'gte', 5),
})

const ask = async (by: Client, attribute: string, more: object) => {
  const { status, body } = await by.post(`${policies}test-draft/`, { draft: draft(attribute), ...more })
  t.equal(status, 200)
  return body
}

t.test('a test is made without the member and the resource that its reader cannot read', async (t) => {
  const { owner, auditor, member } = await furnished()
  const question = { subject: { id: member.id }, resource: { type: 'ship', id: '1' } }
  const seen = { trace: { outcome: 'true', actual: 9 }, withheld: [] }
  for (const attribute of ['subject.clearance', 'resource.clearance'])
    t.match(await ask(auditor, attribute, question), seen)
  await hide(owner, 'member:list', leaf('resource.roles', 'contains', 'member'))
  await hide(owner, 'registered_resource:list')
  for (const attribute of ['subject.clearance', 'resource.clearance']) {
    t.match(await ask(owner, attribute, question), seen)
    const { trace, withheld, applies } = await ask(auditor, attribute, question)
    t.match(trace, { outcome: 'unknown', actual: null, withheld: true })
    t.same([withheld, applies], [[attribute], true], 'a deny applies without a value')
  }
  const given = { subject: { id: member.id, properties: { clearance: 3 } } }
  t.match(await ask(auditor, 'subject.clearance', given), { trace: { actual: 3 }, withheld: [] })
  const supposed = { subject: { roles: ['auditor'], properties: { clearance: 3 } } }
  t.match(await ask(auditor, 'subject.clearance', supposed), { trace: { actual: 3 }, withheld: [] })
  const cases = [{ name: 'one', input: question, expect: 'deny' }]
  const { body } = await auditor.post(`${policies}test-draft/`, { draft: draft('subject.clearance'), cases })
  t.match(body, { cases: [{ passed: true }], withheld: ['subject.clearance'] })
  t.same((await ask(auditor, 'subject.clearance', {})).withheld, [], 'the reader can read themselves')
})

t.test(
  'a test does not tell a member and a resource that its reader cannot read from unknown ones',
  async (t) => {
    const { owner, auditor, member } = await furnished()
    await proveAddress(service, member)
    await hide(owner, 'member:list', leaf('resource.roles', 'contains', 'member'))
    await hide(owner, 'registered_resource:list', leaf('resource.clearance', 'gte', 9))
    const pairs = {
      'subject.clearance': [
        { subject: { id: member.email }, resource: { type: 'ship', id: '1' } },
        { subject: { id: 'unknown@example.org' }, resource: { type: 'ship', id: '2' } },
      ],
      'resource.clearance': [
        { resource: { type: 'ship', id: '1' } },
        { resource: { type: 'ship', id: '2' } },
      ],
    }
    for (const [attribute, [hidden, unknown]] of Object.entries(pairs)) {
      const { duration_us: _, ...one } = await ask(auditor, attribute, hidden!)
      const { duration_us: __, ...other } = await ask(auditor, attribute, unknown!)
      t.same(other, one)
      t.match(one, { trace: { withheld: true }, withheld: [attribute] })
      t.match(await ask(owner, attribute, unknown!), { trace: { actual: null }, withheld: [] })
    }
  },
)

t.test('an explained denial leaves out policies that compare what its reader cannot read', async (t) => {
  const { owner, auditor, member } = await furnished()
  const allow = { effect: 'allow', actions: ['ship:sink'], subjects: { roles: ['member'] } }
  for (const attribute of ['subject.clearance', 'resource.clearance'])
    await owner.post(policies, { ...allow, name: attribute, conditions: leaf(attribute, 'gte', 50) })
  const { body } = await owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: member.id },
    action: { name: 'ship:sink' },
    resource: { type: 'ship', id: '1' },
  })
  t.equal(body.decision, false)
  const unmet = async (by: Client) => {
    const explained = await by.get(`/api/v1/decisions/${body.context.id}/explain/`)
    t.equal(explained.status, 200)
    return explained.body.unmet_policies.map(({ name }: { name: string }) => name).toSorted()
  }
  const both = ['resource.clearance', 'subject.clearance']
  t.same(await unmet(auditor), both)
  await hide(owner, 'member:list', leaf('resource.roles', 'contains', 'member'))
  t.same(await unmet(auditor), ['resource.clearance'])
  await hide(owner, 'registered_resource:list')
  t.same([await unmet(auditor), await unmet(owner)], [[], both])
})

t.test('an explained decision shows no comparison of what its reader cannot read', async (t) => {
  const { owner, auditor, member } = await furnished()
  const deny = { effect: 'deny', actions: ['ship:sink'], subjects: { roles: ['member'] } }
  for (const attribute of ['subject.clearance', 'resource.clearance'])
    await owner.post(policies, { ...deny, name: `By ${attribute}`, conditions: leaf(attribute, 'gte', 5) })
  const { body } = await owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: member.id },
    action: { name: 'ship:sink' },
    resource: { type: 'ship', id: '1' },
  })
  const compared = async (by: Client) => {
    const explained = await by.get(`/api/v1/decisions/${body.context.id}/explain/`)
    t.match(explained, { status: 200, body: { matched: [{}, {}] } })
    const { trace, explanation } = explained.body
    const said = ['subject.clearance', 'resource.clearance'].filter((name) =>
      explanation.some((sentence: string) => sentence.startsWith(`"${name} gte 5" is true: the value is 9`)),
    )
    const shown = trace.map((one: { trace: { attribute: string } }) => one.trace.attribute).toSorted()
    t.same(shown, said.toSorted())
    return shown
  }
  const both = ['resource.clearance', 'subject.clearance']
  t.same(await compared(auditor), both)
  await hide(owner, 'member:list', leaf('resource.roles', 'contains', 'member'))
  t.same(await compared(auditor), ['resource.clearance'])
  await hide(owner, 'registered_resource:list')
  t.same([await compared(auditor), await compared(owner)], [[], both])
})

t.test('an explained decision shows no comparison of a policy that its reader cannot read', async (t) => {
  const { owner, auditor, member } = await furnished()
  const deny = { effect: 'deny', actions: ['ship:sink'], conditions: leaf('resource.clearance', 'gte', 5) }
  await owner.post(policies, { ...deny, name: 'Secret' })
  const { body } = await owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: member.id },
    action: { name: 'ship:sink' },
    resource: { type: 'ship', id: '1' },
  })
  await hide(owner, 'policy:read')
  const explained = async (by: Client) =>
    (await by.get(`/api/v1/decisions/${body.context.id}/explain/`)).body.trace.length
  t.same([await explained(auditor), await explained(owner)], [0, 1])
})

t.test('a preview decides only the decisions that its reader can read, as they can read them', async (t) => {
  const { owner, auditor, member } = await furnished()
  const question = {
    subject: { type: 'user', id: member.id },
    action: { name: 'ship:steer' },
    resource: { type: 'ship', id: '1' },
  }
  t.equal((await owner.post('/access/v1/evaluation', question)).status, 200)
  const allow = { name: 'All may steer', effect: 'allow', actions: ['ship:steer'] }
  const preview = async (by: Client) => (await by.post(`${policies}preview-draft/`, { draft: allow })).body
  const flip = {
    subject: { id: member.id, email: member.email },
    before: 'deny',
    after: 'allow',
    withheld: [],
  }
  t.match(await preview(auditor), { flips: [flip], withheld: 0 })
  await owner.post(policies, {
    name: 'Auditors see no addresses',
    effect: 'allow',
    actions: ['decision:list'],
    subjects: { roles: ['auditor'] },
    obligations: [{ type: 'mask_fields', properties: { fields: ['subject.email'] } }],
  })
  t.match(await preview(owner), { flips: [flip], withheld: 0 })
  const masked = { ...flip, subject: { id: member.id, email: null }, withheld: ['subject.email'] }
  t.match(await preview(auditor), { flips: [masked], withheld: 0 })
  await hide(owner, 'decision:read')
  const none = await preview(auditor)
  t.match(none, { evaluated: 0, counts: { deny_to_allow: 0 } })
  t.same(none.flips, [])
  t.ok(none.withheld > 0)
})
