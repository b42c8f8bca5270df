import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Client } from '../helpers/service.ts'
import { wrongCounts } from '../tenancy/staff.ts'
import { list, openOperator, policyOf, roleOf } from './operator.ts'

// Manifests where the tenant, or another application, has the name or uses what leaves.

const { service, cli, written, apply, store } = await openOperator(t)

// biome-ignore lint/suspicious/noExplicitAny: a manifest is JSON that each test changes
type Json = any

const ada = await service.signUp()
const grace = await service.signUp()
const mate = await service.register()
await ada.post(`/api/v1/tenants/${ada.tenantId}/members/`, { user_id: mate.id })

/** A manifest with roles by key, and a policy for one of them. */
function withRoles(application: string, names: Record<string, string>, ruled?: string) {
  const roles = Object.fromEntries(Object.entries(names).map(([key, name]) => [key, { name }]))
  const rule = { name: 'Ruled', effect: 'deny', actions: ['policy:create'], subjects: { roles: [ruled] } }
  return written({ application, name: application, roles, policies: ruled ? { rule } : {} })
}
const galley = (names: Record<string, string>, ruled?: string) => withRoles('galley', names, ruled)
const conflictOf = (person: Client, pointer: string) => ({
  code: 1,
  out: new RegExp(
    `with conflicts: 1; failed: 0\\n(Kept .*\\n)?${person.tenantId} {2}galley {2}${pointer} {2}role_name_taken\\n`,
  ),
})

t.test('a role takes the name that another role of its manifest gives up or leaves', async (t) => {
  t.match(await apply(galley({ a: 'Baker' })), { code: 0 })
  t.match(await apply(galley({ b: 'Baker', a: 'Butcher' }, 'Baker')), { code: 0 })
  t.match(await roleOf(ada, 'Baker'), { managed_as: 'b' })
  t.match(await roleOf(ada, 'Butcher'), { managed_as: 'a' })
  t.match(
    await apply(galley({ a: 'Baker' }, 'Baker')),
    { code: 0 },
    'an earlier policy named the role that left',
  )
  t.match(await roleOf(ada, 'Baker'), { managed_as: 'a' })
  t.same((await policyOf(ada, 'rule')).subjects.roles, ['Baker'])
  t.equal(await roleOf(ada, 'Butcher'), undefined)
})

t.test('a role that left its manifest and is in use keeps its name', async (t) => {
  t.match(await apply(galley({ a: 'Baker', b: 'Butcher' })), { code: 0 })
  const { id } = await roleOf(ada, 'Butcher')
  const members = `tenants/${ada.tenantId}/members/`
  const member = (await list(ada, members)).find(({ user }) => user.id === mate.id)
  t.equal((await ada.patch(`/api/v1/${members}${member.id}/`, { roles: ['Butcher'] })).status, 200)
  t.match(await apply(galley({ a: 'Butcher' })), conflictOf(ada, '/roles/a/name'))
  t.match(await roleOf(grace, 'Butcher'), { managed_as: 'a' }, 'there, no member has it')
  t.match(await cli('manifest:apply', '--adopt'), { code: 0 })
  t.match(await roleOf(ada, 'Butcher'), { id, managed_as: 'a', member_count: 1 })
  t.equal(await roleOf(ada, 'Baker'), undefined)
})

t.test("a managed role is never renamed to the name of the tenant's own role", async (t) => {
  const roles = `/api/v1/tenants/${grace.tenantId}/roles/`
  t.equal((await grace.post(roles, { name: 'Pilot', permissions: [] })).status, 201)
  const { id } = await roleOf(grace, 'Pilot')
  const renamed = galley({ b: 'Butcher', a: 'Pilot' })
  t.match(await cli('manifest:diff', '--file', renamed), conflictOf(grace, '/roles/a/name'))
  t.match(await apply(renamed), conflictOf(grace, '/roles/a/name'))
  t.match(await roleOf(ada, 'Pilot'), { managed_as: 'a', member_count: 1 })
  t.match(await cli('manifest:apply', '--adopt'), { code: 0 })
  t.match(await roleOf(grace, 'Pilot'), { id, managed_as: 'a' })
  t.match(await roleOf(grace, 'Butcher'), { managed_as: 'b' })
})

t.test("a role in use whose place an adopted role takes becomes the tenant's own", async (t) => {
  const roles = `/api/v1/tenants/${ada.tenantId}/roles/`
  t.equal((await ada.post(roles, { name: 'Steward', permissions: [] })).status, 201)
  t.match(
    await apply(galley({ a: 'Steward', b: 'Pilot' }), '--adopt'),
    conflictOf(ada, '/roles/b/name'),
    'its name is not free',
  )
  t.match(await apply(galley({ a: 'Steward' }), '--adopt'), { code: 0 })
  t.match(await roleOf(ada, 'Steward'), { managed_as: 'a' })
  t.match(await roleOf(ada, 'Pilot'), { managed_by: null, member_count: 1 })
})

t.test('a tenant that is behind gets a role that moved to another application', async (t) => {
  await store(galley({}))
  await store(withRoles('pantry', { keeper: 'Steward' }))
  t.match(await roleOf(ada, 'Steward'), { managed_by: 'galley' })
  t.match(await cli('manifest:apply'), { code: 0 })
  t.match(await roleOf(ada, 'Steward'), { managed_by: 'pantry', managed_as: 'keeper' })
  t.match(await roleOf(grace, 'Steward'), { managed_by: 'pantry' })
})

t.test('a conflict keeps back its rule and what needs it, and denials and deletions apply', async (t) => {
  const vera = await service.signUp()
  const fleet = (more: Json) =>
    written({ application: 'fleet', name: 'Fleet', resource_types: boats, ...more })
  const boats = { boat: { description: 'A boat.', actions: { sail: 'Sail it.', sell: 'Sell it.' } } }
  const allow = (name: string, actions: string[], more = {}) => ({ name, effect: 'allow', actions, ...more })
  const first = { old: allow('Old', ['boat:sail']), kept: allow('Kept', ['boat:sail']) }
  t.match(await apply(fleet({ policies: first })), { code: 0 })
  const roles = `/api/v1/tenants/${vera.tenantId}/roles/`
  t.equal((await vera.post(roles, { name: 'Skipper', permissions: [] })).status, 201)
  for (const key of ['draught', 'homeport']) {
    const body = { key, category: 'resource', data_type: 'string' }
    t.equal((await vera.post('/api/v1/attribute-definitions/', body)).status, 201)
  }
  const deep = { attribute: 'resource.draught', operator: 'gt', value: 3 }
  const second = {
    attributes: { 'resource.draught': { data_type: 'number' }, 'resource.homePort': { data_type: 'string' } },
    roles: {
      skipper: { name: 'Skipper', permissions: ['boat:sail'] },
      mate: { name: 'Mate', permissions: [] },
    },
    policies: {
      kept: allow('Kept', ['boat:sail', 'boat:sell'], { subjects: { roles: ['Skipper'] } }),
      shallow: { name: 'Shallow', effect: 'deny', actions: ['boat:sail'], conditions: deep },
      sealed: { name: 'Sealed', effect: 'deny', actions: ['boat:sell'] },
    },
  }
  const applied = await apply(fleet(second), '--json')
  t.equal(applied.code, 1)
  t.match(applied.json().conflicts, [
    {
      tenant_id: vera.tenantId,
      conflicts: [
        { code: 'role_name_taken', pointer: '/roles/skipper/name' },
        { code: 'attribute_taken', pointer: '/attributes/resource.draught' },
        { code: 'attribute_taken', pointer: '/attributes/resource.homePort' },
        { code: 'needs_conflicting', pointer: '/policies/kept' },
        { code: 'needs_conflicting', pointer: '/policies/shallow' },
      ],
    },
  ])
  t.match(await policyOf(vera, 'sealed'), { effect: 'deny' }, 'a denial of its own applies')
  t.equal(await policyOf(vera, 'old'), undefined, 'what left the manifest is deleted')
  t.match(await policyOf(vera, 'kept'), { actions: ['boat:sail'], version: 1 }, 'the earlier form')
  t.equal(await policyOf(vera, 'shallow'), undefined)
  t.match(await roleOf(vera, 'Mate'), { managed_by: 'fleet' })
  t.match(await roleOf(vera, 'Skipper'), { managed_by: null })
  const { id } = await roleOf(vera, 'Skipper')
  t.equal((await vera.delete(`${roles}${id}/`)).status, 204)
  t.match(await cli('manifest:apply'), { code: 1 }, 'the attribute is in the way still')
  t.match(await policyOf(vera, 'kept'), { actions: ['boat:sail', 'boat:sell'] })
})

t.test("a tenant's own policies cannot fill the budget of a managed denial", async (t) => {
  const vera = await service.signUp()
  const value = Array.from({ length: 100 }, () => randomUUID().repeat(4))
  const conditions = { attribute: 'resource.name', operator: 'in', value }
  for (let full = false, index = 0; !full; index++) {
    const body = { name: `Own ${index}`, effect: 'deny', actions: ['ferry:board'], conditions }
    const answer = await vera.post('/api/v1/policies/', body)
    full = answer.status === 422
    if (full) t.match(answer.body.errors, [{ code: 'too_large' }], `after ${index} policies`)
  }
  const ferries = { ferry: { description: 'A ferry.', actions: { board: 'Board it.' } } }
  const give = (policies: Json) => {
    const manifest = { application: 'ferries', name: 'Ferries', resource_types: ferries, policies }
    return apply(written(manifest))
  }
  const rule = (effect: string, more: Json = { conditions }) => ({
    name: `Board: ${effect} ${Object.keys(more).join()}`,
    effect,
    actions: ['ferry:board'],
    ...more,
  })
  t.notMatch((await give({ closed: rule('deny') })).out, /too_costly/)
  t.match(await list(vera, 'policies/?managed_by=ferries'), [{ managed_as: 'closed', effect: 'deny' }])

  const open = ['one', 'two', 'three']
  const of = (policy: Json) => Object.fromEntries(open.map((key) => [key, { ...policy, name: key }]))
  t.notMatch((await give(of(rule('allow')))).out, /too_costly/)
  const shut = Object.fromEntries(open.map((key) => [`not_${key}`, { ...rule('deny'), name: `Not ${key}` }]))
  const replaced = await give({ ...of(rule('allow', {})), ...shut })
  t.notMatch(replaced.out, /too_costly/, 'nor does an allow that the same run replaces')
  const given = await list(vera, 'policies/?managed_by=ferries')
  t.same(given.map(({ managed_as }: Json) => managed_as).sort(), [...open, ...Object.keys(shut)].sort())
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
