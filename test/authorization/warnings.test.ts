import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t)
const owner = await service.signUp()
const define = (category: string, key: string, data_type: string, more: object = {}) =>
  owner.post('/api/v1/attribute-definitions/', { category, key, data_type, ...more })
await define('resource', 'size', 'string', { allowed_values: ['s', 'm', 'l'] })
await define('resource', 'amount', 'integer')
await define('resource', 'price', 'number')
await define('resource', 'urgent', 'boolean')
await define('subject', 'level', 'integer')
await define('resource', 'term', 'datetime', {
  allowed_values: ['2026-03-31T00:00:00Z', '2026-09-30T02:00:00+02:00'],
})

type Warning = { pointer: string; code: string; detail: string; meant?: string | null }
async function warningsOf(policy: object, by: Client = owner): Promise<Warning[]> {
  const named = { name: 'Trial', effect: 'deny', actions: ['tenant:update'], ...policy }
  const { status, body } = await by.post('/api/v1/policies/', { is_active: false, ...named })
  if (status !== 201) throw new Error(JSON.stringify(body))
  for (const { detail } of body.warnings) if (!detail.endsWith('.')) throw new Error(`No sentence: ${detail}`)
  return body.warnings
}
const found = async (policy: object) =>
  (await warningsOf(policy)).map(({ pointer, code }) => `${pointer} ${code}`)
const is = (key: string, operator: string, value?: unknown) => ({
  attribute: key.includes('.') ? key : `resource.${key}`,
  operator,
  ...(value !== undefined && { value }),
})

t.test('a condition that never or always holds is pointed out, at its smallest part', async (t) => {
  const never: [object, string][] = [
    [is('size', 'eq', 'xl'), '/conditions'],
    [is('term', 'lt', '2026-03-01T00:00:00Z'), '/conditions'],
    [{ all: [is('amount', 'gt', 5), is('amount', 'lt', 3)] }, '/conditions'],
    [{ all: [is('amount', 'gt', 5), is('amount', 'lt', 6)] }, '/conditions'],
    [{ all: [is('amount', 'eq', 5), is('amount', 'ne', 5)] }, '/conditions'],
    [{ all: [is('size', 'in', ['s', 'm']), is('size', 'eq', 'l')] }, '/conditions'],
    [{ all: [is('size', 'not_exists'), is('size', 'eq', 'l')] }, '/conditions'],
    [{ any: [is('environment.hour', 'gte', 24), is('environment.hour', 'lt', 0)] }, '/conditions/any/0'],
    [
      { all: [is('urgent', 'eq', true), { all: [is('price', 'gt', 2), is('price', 'lt', 1)] }] },
      '/conditions/all/1',
    ],
  ]
  for (const [conditions, pointer] of never) {
    const [first] = await warningsOf({ conditions })
    t.match(first, { pointer, code: 'never_true' }, JSON.stringify(conditions))
  }
  const always: [object, string][] = [
    [{ any: [is('amount', 'lt', 5), is('amount', 'gte', 5)] }, '/conditions'],
    [{ any: [is('size', 'eq', 's'), is('size', 'ne', 's')] }, '/conditions'],
    [{ any: [is('urgent', 'eq', true), is('urgent', 'eq', false)] }, '/conditions'],
    [is('size', 'in', ['s', 'm', 'l']), '/conditions'],
    [is('environment.weekday', 'between', [1, 7]), '/conditions'],
    [{ none: [is('size', 'eq', 'xl')] }, '/conditions/none/0'],
  ]
  for (const [conditions, pointer] of always) {
    const [first] = await warningsOf({ conditions })
    const code = 'none' in conditions ? 'never_true' : 'always_true'
    t.match(first, { pointer, code }, JSON.stringify(conditions))
  }
  const open = [
    { all: [is('amount', 'gt', 3), is('amount', 'lt', 5)] },
    { all: [is('price', 'gt', 5), is('price', 'lt', 6)] },
    { any: [is('size', 'eq', 's'), is('size', 'eq', 'm')] },
    { all: [is('size', 'exists'), is('size', 'eq', 'l')] },
    { none: [is('amount', 'lt', 5), is('amount', 'gt', 7)] },
    { any: [is('size', 'exists'), is('amount', 'exists')] },
    is('environment.hour', 'between', [8, 18]),
    is('term', 'eq', '2026-09-30T00:00:00Z'),
    null,
  ]
  for (const conditions of open) t.same(await found({ conditions }), [], JSON.stringify(conditions))
})

t.test('a policy that a broader deny shadows is pointed out', async (t) => {
  const deny = { name: 'Nothing here', effect: 'deny', actions: ['doc:*'], is_active: true }
  const { body } = await owner.post('/api/v1/policies/', deny)
  const allow = { effect: 'allow', actions: ['doc:read', 'doc:write'] }
  t.same(await found(allow), ['/effect shadowed_by_deny'])
  const [warning] = await warningsOf(allow)
  t.match(warning?.detail, /"Nothing here"/)
  t.same(await found({ ...allow, subjects: { roles: ['member'] } }), ['/effect shadowed_by_deny'])
  t.same(await found({ ...allow, effect: 'deny' }), [], 'two denies')
  t.same(
    await found({ ...allow, actions: ['doc:read', 'tenant:*'] }),
    ['/actions/1 not_grantable'].filter(Boolean),
  )
  await owner.put(`/api/v1/policies/${body.id}/`, { subjects: { roles: ['admin'] } })
  t.same(await found(allow), [], 'a deny about fewer people')
  t.same(await found({ ...allow, subjects: { roles: ['admin'] } }), ['/effect shadowed_by_deny'])
  await owner.put(`/api/v1/policies/${body.id}/`, { subjects: {}, mode: 'shadow' })
  t.same(await found(allow), [], 'a deny in shadow mode')
  await owner.put(`/api/v1/policies/${body.id}/`, { mode: 'enforce', conditions: is('size', 'eq', 's') })
  t.same(await found(allow), [], 'a deny under a condition')
})

t.test('a quorum that the approvers cannot reach is pointed out', async (t) => {
  const gate = (approval: object) => found({ effect: 'require_approval', approval })
  t.same(await gate({ quorum: 1 }), [])
  t.same(await gate({ quorum: 2 }), ['/approval/quorum quorum_unreachable'])
  t.same(await gate({ quorum: 1, approver: { roles: ['auditor'] } }), ['/approval/quorum quorum_unreachable'])
  await colleague(service, owner, 'admin')
  t.same(await gate({ quorum: 2 }), [])
})

t.test('an attribute that most members lack is pointed out', async (t) => {
  await colleague(service, owner)
  const level = is('subject.level', 'gte', 3)
  t.same(await found({ conditions: { all: [is('urgent', 'eq', true), level] } }), [
    '/conditions/all/1 attribute_rare',
  ])
  t.match(await warningsOf({ conditions: level }), [{ detail: /3 of 3 active members .* applies to all/ }])
  t.match(await warningsOf({ effect: 'allow', actions: ['doc:read'], conditions: level }), [
    { detail: /does not apply/ },
  ])
  t.same(await found({ conditions: { ...level, operator: 'exists', value: undefined } }), [])
  const members = `/api/v1/tenants/${owner.tenantId}/members/`
  const [one, other, lacking] = (await owner.get(members)).body.results
  for (const { id } of [one, other]) await owner.put(`${members}${id}/`, { attributes: { level: 4 } })
  t.same(await found({ conditions: level }), [])
  const about = (...people: { user_id: string }[]) =>
    found({ conditions: level, subjects: { users: people.map(({ user_id }) => user_id) } })
  t.same(await about(lacking), ['/conditions attribute_rare'], 'of the members that the policy is about')
  t.same(await about(one, lacking), [])
})

t.test('an action that nothing else names is pointed out', async (t) => {
  const names = (...actions: string[]) => found({ actions })
  t.same(await names('ship:steer'), ['/actions/0 unknown_action'])
  t.same(await names('ship:*', 'tenant:update', '*'), ['/actions/0 unknown_action'])
  await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, {
    name: 'Captain',
    permissions: ['ship:steer'],
  })
  t.same(await names('ship:steer', 'ship:*'), [])
  t.same(await names('ship:stear'), ['/actions/0 unknown_action'])
  await owner.post('/api/v1/policies/', { name: 'Cargo', effect: 'allow', actions: ['cargo:load'] })
  t.same(await names('cargo:load'), [])
})

t.test('an action that nearly is a known one names it', async (t) => {
  const meant = async (...actions: string[]) =>
    (await warningsOf({ actions, effect: 'allow' })).map((warning) => `${warning.pointer} ${warning.meant}`)
  t.same(await meant('ship:stear', 'membr:list', 'cargo:lod', 'kite:fly'), [
    '/actions/0 ship:steer',
    '/actions/1 member:list',
    '/actions/2 cargo:load',
    '/actions/3 null',
  ])
  const [first] = await warningsOf({ actions: ['ship:stear'] })
  t.match(
    first?.detail,
    /names ship:stear\. Did you mean ship:steer\? It applies if your application asks for it\./,
  )
})

t.test(
  'a permission of a role and a scope of a key that nearly are known ones come with warnings',
  async (t) => {
    const roles = `/api/v1/tenants/${owner.tenantId}/roles/`
    await owner.post('/api/v1/policies/', {
      name: 'Orders',
      effect: 'allow',
      actions: ['order:approve', 'order:read'],
    })
    const permissions = ['oder:approve', 'kite:fly', 'order:read', 'member:list', 'ship:stear']
    const role = await owner.post(roles, { name: 'Clerk', permissions })
    t.match(role, { status: 201, body: { permissions } })
    t.same(
      role.body.warnings.map(({ pointer, code, meant }: Warning) => [pointer, code, meant]),
      [
        ['/permissions/0', 'unknown_action', 'order:approve'],
        ['/permissions/4', 'unknown_action', 'ship:steer'],
      ],
    )
    t.match(role.body.warnings[0].detail, /names oder:approve\. Did you mean order:approve\?/)
    const one = `${roles}${role.body.id}/`
    t.equal(
      (await owner.patch(one, { description: 'Again' })).body.warnings.length,
      2,
      'it does not know itself',
    )
    t.same((await owner.patch(one, { permissions: ['kite:fly', 'order:read'] })).body.warnings, [])
    t.notOk('warnings' in (await owner.get(one)).body)
    const scopes = ['order:raed', 'membr:list', 'kite:fly', 'order:read']
    const key = await owner.post('/api/v1/users/me/keys/', { name: 'q', scopes })
    t.match(key, { status: 201, body: { scopes } })
    t.same(
      key.body.warnings.map(({ pointer, meant }: Warning) => `${pointer} ${meant}`),
      ['/scopes/0 order:read', '/scopes/1 member:list'],
    )
    t.same((await owner.post('/api/v1/users/me/keys/', { name: 'all' })).body.warnings, [])
  },
)

t.test('who cannot read policies learns no action from them', async (t) => {
  const rule = { name: 'Refunds', effect: 'deny', actions: ['refund:approve'] }
  await owner.post('/api/v1/policies/', rule)
  const member = await colleague(service, owner)
  const meant = async (who: typeof member) => {
    const key = { name: 'Refunds', scopes: ['refund:aprove'] }
    const { status, body } = await who.post('/api/v1/users/me/keys/', key)
    t.equal(status, 201)
    return body.warnings.map(({ meant }: Warning) => meant)
  }
  t.same([await meant(owner), await meant(member)], [['refund:approve'], []])
})

t.test('an obligation that nearly is one of the service is pointed out', async (t) => {
  const demanded = (...types: string[]) =>
    warningsOf({ effect: 'allow', actions: ['cargo:load'], obligations: types.map((type) => ({ type })) })
  t.match(await demanded('watermark', 'mask_field', 'stepup'), [
    { pointer: '/obligations/1/type', code: 'unknown_obligation', meant: 'mask_fields' },
    { pointer: '/obligations/2/type', code: 'unknown_obligation', meant: 'step_up' },
  ])
  t.same(await demanded('watermark', 'log'), [])
})
