import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import { openDatabase } from '../helpers/event-log.ts'
import { inTime } from '../helpers/in-time.ts'
import type { Client } from '../helpers/service.ts'
import { wrongCounts } from '../tenancy/staff.ts'
import { list, openOperator, policyOf, roleOf } from './operator.ts'

// Applications' manifests: through the command line for operators, and the API for tenants.

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message
const { service, cli, written, apply, store } = await openOperator(t, skip ? {} : { OPA_PATH: String(opa) })
const database = await openDatabase(t, service)
const rows = async (query: string) => (await database.query(query)).rows

const example = readFileSync(
  join(import.meta.dirname, '..', '..', 'docs', 'how-to', 'examples', 'manifest.json'),
  'utf8',
)

// biome-ignore lint/suspicious/noExplicitAny: a manifest is JSON that each test changes
type Json = any

/** A file with the example, changed. */
function withManifest(change: (manifest: Json) => void): string {
  const manifest = JSON.parse(example)
  change(manifest)
  return written(manifest)
}

const managed = async (person: Client) => ({
  roles: (await list(person, `tenants/${person.tenantId}/roles/?managed_by=logbook`)).map(({ name }) => name),
  attributes: (await list(person, 'attribute-definitions/?managed_by=logbook')).map(({ key }) => key),
  policies: (await list(person, 'policies/?managed_by=logbook')).map(({ managed_as }) => managed_as),
})
const complete = {
  roles: ['Navigator', 'Log reader'],
  attributes: ['rank', 'tonnage'],
  policies: ['heavy-ships', 'no-night-departures'],
}

/** Whether a member of the owner's tenant may depart with a ship. */
async function mayDepart(owner: Client, member: { id: string }, tonnage: number) {
  const { body } = await owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: member.id },
    action: { name: 'voyage:depart' },
    resource: { type: 'voyage', id: '7', properties: { tonnage } },
  })
  return body
}

const ada = await service.signUp()
const grace = await service.signUp()
const mate = await service.register()

t.test('a diff shows what would change, and changes nothing', async (t) => {
  const { code, out } = await cli('manifest:diff', '--file', written(example))
  t.equal(code, 0)
  t.match(out, /logbook: this would be version 1/)
  t.match(out, /\+ role navigator\n/)
  t.match(out, /\+ policy heavy-ships\n/)
  t.match(out, /Tenants to change: \d+; unchanged: 0; with conflicts: 0/)
  t.same(await managed(ada), { roles: [], attributes: [], policies: [] })
  t.match(await cli('manifest:apply'), { code: 1, said: /No manifest is applied/ })
})

t.test('every tenant gets the rules, and a second apply changes nothing and says so', async (t) => {
  const before = await rows('select id, policy_revision from tenants order by id')
  const first = (await apply(written(example), '--json')).json()
  t.match(first, { application: 'logbook', version: 1, is_new: true, tenants: { changed: before.length } })
  t.same(await managed(ada), complete)
  t.same(await managed(grace), complete)
  const second = await apply(written(example))
  t.equal(second.code, 0)
  t.match(second.out, /version 1 is applied already. The manifest is the same/)
  t.match(second.out, /Tenants changed: 0; unchanged: 0/)
  t.match((await cli('manifest:list')).out, /logbook +1 .*\nEvery tenant is up to date\./)
  const after = await rows('select id, policy_revision from tenants order by id')
  for (const [index, { policy_revision }] of after.entries())
    t.equal(
      Number(policy_revision),
      Number(before[index]!.policy_revision) + 1,
      'caches read the policies again',
    )
  const [event] = await rows("select data, actor_id from events where type = 'tenant.rules_updated' limit 1")
  t.match(event, { data: { manifest_revision: 1 }, actor_id: null })
  const { body } = await ada.get('/api/v1/audit-log/?action=manifest:apply')
  t.match(body.results, [{ actor: { type: 'system' }, changes: { roles: { after: complete.roles } } }])
})

t.test('a tenant reads what the resource types and actions mean', async (t) => {
  const { status, body } = await grace.get('/api/v1/applications/')
  t.equal(status, 200)
  t.match(body.applications, [{ application: 'logbook', name: 'Logbook', version: 1 }])
  const [voyage] = body.applications[0].resource_types
  t.match(voyage, { type: 'voyage', description: 'A voyage of one ship' })
  t.match(voyage.actions[0], { name: 'voyage:plan', description: 'Plan a voyage' })
})

t.test('an evaluation knows the words of a manifest, also those that no rule names', async (t) => {
  const declares = withManifest((manifest) => {
    manifest.application = 'harbour'
    Object.assign(manifest, { roles: {}, policies: {}, attributes: {}, webhooks: {} })
    manifest.resource_types = {
      berth: { description: 'A place for a ship', actions: { moor: 'Moor a ship' } },
      crane: { description: 'It lifts', actions: {} },
    }
  })
  t.equal((await apply(declares)).code, 0)
  // A process reads the words again after ten seconds.
  service.advance(10_000)
  const hints = async (name: string, type: string, id = '1') => {
    const question = { subject: { type: 'user', id: grace.id }, action: { name }, resource: { type, id } }
    const { context } = (await grace.post('/access/v1/evaluation', question)).body
    return [context.unknown_action, context.unknown_resource_type]
  }
  t.same(await hints('berth:moor', 'berth'), [false, false])
  t.same(await hints('berth:mor', 'berth'), [true, false])
  t.same(await hints('crane:lift', 'crane'), [true, false])
  t.same(await hints('quay:lift', 'quay'), [true, true])
  const registered = await grace.put('/api/v1/resources/quay/7/', { attributes: {} })
  t.equal(registered.status, 201)
  t.same(await hints('quay:lift', 'quay', '7'), [true, false])
})

t.test('a policy of a manifest can be a module of Rego', { skip }, async (t) => {
  const text = (limit: number) =>
    `package policy\n\ndeny contains "Too heavy." if input.resource.weight > ${limit}\n`
  const withModule = (module: unknown, more: object = {}, moreOfOpen: object = {}) =>
    withManifest((manifest) => {
      manifest.application = 'port'
      Object.assign(manifest, { roles: {}, resource_types: {}, webhooks: {} })
      manifest.resource_types = { cargo: { description: 'Goods', actions: { load: 'Load them' } } }
      manifest.attributes = { 'resource.weight': { data_type: 'number' } }
      const open = { name: 'Load', effect: 'allow', actions: ['cargo:load'] }
      const policy = { name: 'Weight', kind: 'rego', effect: 'deny', actions: ['cargo:load'], module }
      manifest.policies = { open: { ...open, ...moreOfOpen }, weight: { ...policy, ...more } }
    })
  const may = async (owner: Client, weight: number) => {
    const resource = { type: 'cargo', id: '1', properties: { weight } }
    const question = { subject: { type: 'user', id: owner.id }, action: { name: 'cargo:load' }, resource }
    return (await inTime(() => owner.post('/access/v1/evaluation', question))).body.decision
  }
  for (const [module, more, fault] of [
    [text(5).replace('weight', 'length'), {}, /resource\.length/],
    [
      'package policy\n\ndeny contains x if true\n',
      {},
      /\n\d{2}:17 {2}\/policies\/weight\/module .*Line 3, column .* unsafe/,
    ],
    [
      undefined,
      {},
      /\n27:15 {2}\/policies\/weight\/module {2}required {2}A policy of the kind rego has a module/,
    ],
    [text(5), { kind: 'json' }, /Only a policy of the kind rego/],
    [text(5), { effect: 'require_approval' }, /A module can only allow or deny/],
  ] as const)
    t.match(await apply(withModule(module, more)), { code: 1, said: fault })
  t.equal((await apply(withModule(text(5)))).code, 0)
  t.same([await may(grace, 4), await may(grace, 6)], [true, false])
  const newcomer = await service.signUp()
  t.same([await may(newcomer, 4), await may(newcomer, 6)], [true, false], 'also for a new tenant')
  const policy = await policyOf(grace, 'weight')
  t.match(policy, { kind: 'rego', module: text(5), managed_by: 'port', module_off_at: null })
  t.match(await apply(withModule(text(5))), { code: 0, out: /The manifest is the same/ })
  t.equal((await apply(withModule(text(9)))).code, 0)
  t.same([await may(grace, 6), await may(grace, 10)], [true, false])
  t.match(await apply(withModule(undefined, { kind: 'json' })), { code: 1, said: /kind .* cannot change/ })
  const empty = () =>
    withManifest((manifest) => {
      manifest.application = 'port'
      Object.assign(manifest, { roles: {}, policies: {}, attributes: {}, resource_types: {}, webhooks: {} })
    })
  const before = await policyOf(grace, 'open')
  // The tenants stay behind, and never had the version without the policy.
  await store(empty())
  const light = 'package policy\n\nallow contains "Light." if input.resource.weight < 8\n'
  t.equal((await apply(withModule(text(9), {}, { kind: 'rego', module: light }))).code, 0)
  const open = await policyOf(grace, 'open')
  t.match(open, { kind: 'rego', module: light, version: 1 })
  t.not(open.id, before.id, 'a policy of another kind is a new one')
  t.equal((await apply(empty())).code, 0)
})

t.test('a new tenant has the rules from its first moment', async (t) => {
  const person = await service.signUp()
  t.same(await managed(person), complete)
  const { body } = await person.post('/api/v1/tenants/', { name: 'Another' })
  await person.switchTo(body.id)
  t.same(await managed(person), complete)
})

t.test('the rules decide together with those that the tenant wrote', async (t) => {
  await ada.post(`/api/v1/tenants/${ada.tenantId}/members/`, { user_id: mate.id, roles: ['Navigator'] })
  t.equal((await mayDepart(ada, mate, 100)).decision, true, 'by a role of the manifest')
  const heavy = await mayDepart(ada, mate, 6000)
  t.match(heavy, { decision: false, context: { reasons: [{ code: 'policy_deny' }] } })
  const explained = await ada.get(`/api/v1/decisions/${heavy.context.id}/explain/`)
  t.match(JSON.stringify(explained.body), /Only captains depart with heavy ships/)
  const own = { name: 'Nobody departs', effect: 'deny', actions: ['voyage:depart'] }
  const { body } = await ada.post('/api/v1/policies/', own)
  t.match(body, { managed_by: null, managed_as: null, is_optional: false, created_by: ada.id })
  t.equal((await mayDepart(ada, mate, 100)).decision, false)
  t.equal((await ada.delete(`/api/v1/policies/${body.id}/`)).status, 204)
  t.equal((await mayDepart(ada, mate, 100)).decision, true)
  t.equal((await mayDepart(grace, mate, 100)).decision, false, 'not a member of another tenant')
})

t.test('a tenant cannot change what the manifest gives it', async (t) => {
  const refused = { status: 409, body: { code: 'managed', application: 'logbook' } }
  const role = await roleOf(ada, 'Navigator')
  t.match(role, { managed_by: 'logbook', managed_as: 'navigator', is_system: false })
  const rolePath = `/api/v1/tenants/${ada.tenantId}/roles/${role.id}/`
  t.match(await ada.patch(rolePath, { permissions: ['voyage:cancel'] }), refused)
  t.match(await ada.put(rolePath, { name: 'Mine' }), refused)
  t.match(await ada.delete(rolePath), refused)

  const heavy = await policyOf(ada, 'heavy-ships')
  t.match(heavy, { managed_by: 'logbook', is_optional: false, created_by: null, version: 1 })
  const policyPath = `/api/v1/policies/${heavy.id}/`
  t.match(await ada.patch(policyPath, { is_active: false }), refused, 'not optional')
  t.match(await ada.patch(policyPath, { effect: 'allow' }), refused)
  t.match(await ada.patch(policyPath, { conditions: null }), refused)
  t.match(await ada.delete(policyPath), refused)
  t.match(await ada.post(`${policyPath}rollback/`, { version: 1 }), refused)
  t.equal((await ada.patch(policyPath, { name: heavy.name })).status, 200, 'the same again is no change')
  t.equal((await ada.post(`${policyPath}test/`, {})).status, 200, 'it can be tested')
  const { body: versions } = await ada.get(`${policyPath}versions/`)
  const first = versions.results.find(({ version }: Json) => version === 1)
  t.match(first, { author: { id: null }, reason: 'Manifest of logbook, version 1' })

  const [rank] = await list(ada, 'attribute-definitions/?managed_by=logbook')
  t.match(await ada.delete(`/api/v1/attribute-definitions/${rank.id}/`), refused)
  t.same(await managed(ada), complete)
  t.equal(
    (
      await ada.post(`/api/v1/tenants/${ada.tenantId}/roles/`, {
        name: 'Cook',
        permissions: ['voyage:cancel'],
      })
    ).status,
    201,
    'it can add its own',
  )
})

t.test('a tenant can turn an optional policy off and on, and a newer version respects that', async (t) => {
  const { id } = await policyOf(ada, 'no-night-departures')
  const path = `/api/v1/policies/${id}/`
  t.match(await ada.patch(path, { is_active: false, effect: 'allow' }), {
    status: 409,
    body: { code: 'managed' },
  })
  t.match(await ada.patch(path, { is_active: false }), {
    status: 200,
    body: { is_active: false, is_optional: true },
  })
  const changed = withManifest((manifest) => {
    manifest.policies['no-night-departures'].conditions.value = 23
  })
  const { out } = await cli('manifest:diff', '--file', changed)
  t.match(out, /~ policy no-night-departures\n {4}conditions: .*22.* → .*23/)
  t.equal((await apply(changed)).code, 0)
  t.match((await ada.get(path)).body, { is_active: false, conditions: { value: 23 }, version: 3 })
  t.match(await policyOf(grace, 'no-night-departures'), {
    is_active: true,
    conditions: { value: 23 },
    version: 2,
  })
  t.match(await ada.patch(path, { is_active: true }), { status: 200, body: { is_active: true } })
})

t.test("a tenant's own role of the same name is never overwritten", async (t) => {
  const clashing = withManifest((manifest) => {
    manifest.roles.cook = { name: 'Cook', permissions: ['log_entry:read'] }
  })
  const diff = await cli('manifest:diff', '--file', clashing)
  t.equal(diff.code, 1)
  t.match(diff.out, new RegExp(`${ada.tenantId}  logbook  /roles/cook/name  role_name_taken`))
  const applied = await apply(clashing)
  t.equal(applied.code, 1)
  t.match(applied.out, /with conflicts: 1/)
  t.match(await roleOf(ada, 'Cook'), { managed_by: null, permissions: ['voyage:cancel'] })
  t.match(await roleOf(grace, 'Cook'), { managed_by: 'logbook' }, 'other tenants have the new rules')
  t.match((await cli('manifest:list')).out, /1 tenants are behind/)
  t.match(await policyOf(ada, 'heavy-ships'), { is_active: true }, 'a rule that is not concerned stays')
  t.match(
    (await cli('doctor')).out,
    /1 tenants do not have the rules of the newest manifests\n {2}→ npm run cli -- manifest:apply/,
  )

  t.equal((await cli('manifest:apply', '--adopt')).code, 0)
  t.match(await roleOf(ada, 'Cook'), { managed_by: 'logbook', permissions: ['log_entry:read'] })
})

t.test('what a newer manifest no longer has goes, unless the tenant uses it', async (t) => {
  const { out } = await apply(
    withManifest((manifest) => {
      delete manifest.roles.navigator
      delete manifest.roles.reader
      delete manifest.policies['heavy-ships']
      delete manifest.policies['no-night-departures']
      delete manifest.attributes['subject.rank']
    }),
  )
  t.match(out, /- role navigator\n/)
  t.match(out, /Kept as the tenant's own, because they are in use: 1 roles and attributes/)
  t.same(await managed(ada), { roles: [], attributes: ['tonnage'], policies: [] })
  t.match(await roleOf(ada, 'Navigator'), { managed_by: null, member_count: 1 }, 'a member has it')
  t.equal(await roleOf(grace, 'Navigator'), undefined)
  t.match(await mayDepart(ada, mate, 6000), { decision: true })
  t.equal((await apply(written(example), '--adopt')).code, 0)
  t.same((await managed(ada)).roles.toSorted(), complete.roles.toSorted())
})

t.test('a run that ended early is continued', async (t) => {
  await store(
    withManifest((manifest) => {
      manifest.roles.navigator.permissions.push('voyage:cancel')
    }),
  )
  t.notMatch((await roleOf(ada, 'Navigator')).permissions, ['voyage:cancel'])
  const { body } = await grace.post('/api/v1/tenants/', { name: 'Meanwhile' })
  await grace.switchTo(body.id)
  t.equal((await roleOf(grace, 'Navigator')).permissions.length, 4, 'created meanwhile, it has the newest')
  const continued = (await cli('manifest:apply', '--json')).json()
  t.match(continued.tenants, { conflicting: 0, failed: 0 })
  t.equal((await roleOf(ada, 'Navigator')).permissions.length, 4)
  const behind = 'select id from tenants where manifest_revision < (select max(revision) from manifests)'
  t.same(await rows(behind), [])
})

t.test('roles of a manifest can swap their names', async (t) => {
  const swapped = withManifest((manifest) => {
    manifest.roles.navigator.name = 'Log reader'
    manifest.roles.reader.name = 'Navigator'
    manifest.policies['no-night-departures'].subjects.roles = ['Log reader']
  })
  t.match(await apply(swapped), { code: 0 })
  t.match(await roleOf(ada, 'Navigator'), { managed_as: 'reader' })
  t.match(await roleOf(ada, 'Log reader'), { managed_as: 'navigator', member_count: 1 })
})

t.test('faults are told with line, column and pointer, and change nothing', async (t) => {
  const faulty = written(`{
  "application": "logbook", "name": "Logbook", "colour": "blue",
  "resource_types": { "role": { "description": "No", "actions": {} } },
  "attributes": { "subject.id": { "data_type": "string" }, "resource.tonnage": { "data_type": "string" }, "resource.Owner_ID": { "data_type": "string" }, "resource.homePort": { "data_type": "string" }, "resource.homeport": { "data_type": "string" } },
  "roles": { "chief": { "name": "Owner", "permissions": ["ship:steer", "member:paint"] } },
  "policies": { "p": { "name": "P", "effect": "deny", "actions": ["voyage:sink"], "subjects": { "roles": ["Cook"] } } }
}`)
  const first = await apply(faulty)
  t.equal(first.code, 1)
  t.match(first.said, /2:58 {2}\/colour {2}unknown/)
  t.match(first.said, /5:\d+ {2}\/roles\/chief\/permissions\/1 .*no permission member:paint/)

  const { said } = await apply(written(readFileSync(faulty, 'utf8').replace(', "member:paint"', '')))
  for (const expected of [
    /2:58 {2}\/colour {2}unknown_member/,
    /3:\d+ {2}\/resource_types\/role {2}name_taken/,
    /4:\d+ {2}\/attributes\/subject.id {2}name_taken/,
    /4:\d+ {2}\/attributes\/resource.tonnage\/data_type {2}type_changed/,
    /4:\d+ {2}\/attributes\/resource.Owner_ID {2}name_taken/,
    /4:\d+ {2}\/attributes\/resource.homeport {2}name_taken .*resource\.homePort by case alone/,
    /5:\d+ {2}\/roles\/chief\/name {2}name_taken/,
    /5:\d+ {2}\/roles\/chief\/permissions\/0 {2}unknown_resource_type/,
    /6:\d+ {2}\/policies\/p\/actions\/0 {2}unknown_resource_type/,
    /6:\d+ {2}\/policies\/p\/subjects\/roles\/0 {2}unknown_role/,
  ])
    t.match(said, expected)
  t.match(await apply(written('{')), { code: 1, said: /1:2 .*parse_error/ })
  t.match(await cli('manifest:apply', '--file', 'no-such.json'), { code: 2, said: /ENOENT/ })
  t.match((await cli('manifest:list')).out, /Every tenant is up to date/)
})

t.test('two applications keep apart', async (t) => {
  const other = (name: string) => ({ application: 'galley', name: 'Galley', roles: { cook: { name } } })
  t.match(await apply(written(JSON.stringify(other('Navigator')))), {
    code: 1,
    said: /\/roles\/cook\/name {2}name_taken {2}The application logbook has a role with this name/,
  })
  t.match(await apply(written(JSON.stringify(other('Ship cook')))), { code: 0 })
  t.match(await roleOf(ada, 'Ship cook'), { managed_by: 'galley' })
  t.equal((await managed(ada)).roles.length, 2, 'those of the other application stay')
  t.match(await apply(written(JSON.stringify({ application: 'galley', name: 'Galley' }))), { code: 0 })
  t.equal(await roleOf(ada, 'Ship cook'), undefined)
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
