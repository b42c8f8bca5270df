import t from 'tap'
import { query } from '../helpers/query.ts'
import type { Client, Json } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect } from '../tenancy/staff.ts'
import { type Directory, openDirectory, openFirm, patch, scimError, user } from './open-directory.ts'

const service = await sharedService(t, { workers: false })
const rules = '/api/v1/directory/rules/'
const { superuser } = service.databases

const addGroup = (directory: Directory, displayName: string, ...members: string[]): Promise<Json> =>
  expect(201, directory.post('/Groups', { displayName, members: members.map((value) => ({ value })) }))
const put = (directory: Directory, group: Json, op: 'add' | 'remove', ...ids: string[]) => {
  const value = ids.map((id) => ({ value: id }))
  return expect(204, directory.patch(`/Groups/${group.id}`, patch({ op, path: 'members', value })))
}
const addRole = async (owner: Client, name: string, ...permissions: string[]): Promise<string> =>
  (await expect(201, owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, { name, permissions }))).id
const addRule = (owner: Client, group: Json, ...roles: string[]): Promise<Json> =>
  expect(201, owner.post(rules, { group: group.id, roles }))

async function hire(owner: Client, ...roles: string[]): Promise<Client> {
  const person = await service.signUp()
  await expect(201, owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, { user_id: person.id, roles }))
  await person.switchTo(owner.tenantId!)
  return person
}

async function firmWithPeople(...names: string[]) {
  const firm = await openFirm(service)
  const { directory, domain, owner, members } = firm
  const people: string[] = []
  for (const name of names)
    people.push((await expect(201, directory.post('/Users', user(`${name}@${domain}`)))).id)
  const rolesOf = async (id: string) => (await expect(200, owner.get(`${members}${id}/`))).roles
  return { ...firm, people, rolesOf }
}

t.test('members of a group have what its rules give, and lose only that', async (t) => {
  const { owner, directory, members, people, rolesOf } = await firmWithPeople('ada', 'bea')
  const [ada, bea] = people as [string, string]
  const [reader, writer] = [
    await addRole(owner, 'Reader', 'note:read'),
    await addRole(owner, 'Writer', 'note:write'),
  ]
  const department = await expect(
    201,
    owner.post(`/api/v1/tenants/${owner.tenantId}/departments/`, { name: 'Sales' }),
  )
  const crew = await addGroup(directory, 'Crew', ada)
  await expect(200, owner.put(`${members}${bea}/`, { roles: ['member', 'Reader'] }))
  const { headers: before } = await owner.get(`${members}${ada}/`)
  const rule = await expect(
    201,
    owner.post(rules, { group: crew.id, roles: ['reader', writer], department_id: department.id }),
  )
  t.match(rule, {
    group: crew.id,
    group_name: 'Crew',
    roles: [reader, writer].sort(),
    department_id: department.id,
  })
  t.match(await owner.get(`${rules}?group=${crew.id}`), { body: { count: 1, results: [{ id: rule.id }] } })
  const { headers, body: given } = await owner.get(`${members}${ada}/`)
  t.not(headers.get('etag'), before.get('etag'))
  t.match(given, { roles: ['member', 'Reader', 'Writer'], department_id: department.id })

  await put(directory, crew, 'add', bea)
  t.same(await rolesOf(bea), ['member', 'Reader', 'Writer'])
  t.match(await owner.delete(`/api/v1/tenants/${owner.tenantId}/roles/${writer}/`), {
    status: 409,
    body: { code: 'role_in_use' },
  })
  t.match(await owner.delete(`/api/v1/tenants/${owner.tenantId}/departments/${department.id}/`), {
    status: 409,
  })
  await put(directory, crew, 'remove', bea)
  t.same(await rolesOf(bea), ['member', 'Reader'], 'a person gave this one')
  const guests = await addGroup(directory, 'Guests', ada)
  await addRule(owner, guests, 'Writer')
  t.equal((await owner.delete(`${rules}${rule.id}/`)).status, 204)
  t.same(await rolesOf(ada), ['member', 'Writer'], 'another rule gives it')
  t.equal((await directory.delete(`/Groups/${guests.id}`)).status, 204)
  t.same(await rolesOf(ada), ['member'])
  t.match((await owner.get(rules)).body, { count: 0 }, 'rules go with their group')
  t.match(
    await query(
      superuser,
      `select changes from audit_log where action = 'directory:update' and tenant_id = '${owner.tenantId}' order by id limit 1`,
    ),
    [{ changes: { members_changed: { after: 1 } } }],
  )
})

t.test('a User who waits gets roles with the membership, and keeps them while suspended', async (t) => {
  const { owner, directory, domain, rolesOf } = await firmWithPeople()
  await addRole(owner, 'Reader', 'note:read')
  const { id } = await expect(201, directory.post('/Users', { userName: 'later' }))
  const crew = await addGroup(directory, 'Crew', id)
  await addRule(owner, crew, 'Reader')
  await expect(
    200,
    directory.patch(
      `/Users/${id}`,
      patch({ op: 'add', path: 'emails', value: [{ value: `later@${domain}` }] }),
    ),
  )
  t.same(await rolesOf(id), ['member', 'Reader'])
  const active = (value: boolean) => patch({ op: 'replace', path: 'active', value })
  await expect(200, directory.patch(`/Users/${id}`, active(false)))
  await put(directory, crew, 'remove', id)
  await expect(200, directory.patch(`/Users/${id}`, active(true)))
  t.same(await rolesOf(id), ['member'], 'taken away meanwhile')
})

t.test('a rule gives at most what its editor can give', async (t) => {
  const { owner, directory, people } = await firmWithPeople('ada')
  const other = await openFirm(service)
  const crew = await addGroup(directory, 'Crew', people[0]!)
  const theirs = await addGroup(other.directory, 'Crew')
  const admin = await hire(owner, 'admin')
  const auditor = await hire(owner, 'auditor')
  await addRole(owner, 'Provisioner', 'scim:provision')
  const foreign = await addRole(other.owner, 'Foreign', 'note:read')
  const refused = (client: Client, body: object) => client.post(rules, { group: crew.id, ...body })
  t.match(await refused(owner, { roles: ['owner'] }), { status: 400, body: { errors: [{ field: 'roles' }] } })
  t.match(await refused(owner, { roles: [foreign] }), { status: 400, body: { errors: [{ field: 'roles' }] } })
  t.match(await refused(owner, { group: theirs.id, roles: ['member'] }), {
    status: 400,
    body: { errors: [{ field: 'group' }] },
  })
  t.match(await refused(owner, {}), { status: 400, body: { errors: [{ field: 'roles' }] } })
  t.match(await refused(admin, { roles: ['Provisioner'] }), { status: 403 })
  t.match(await refused(auditor, { roles: ['member'] }), { status: 403 })
  t.equal((await auditor.get(rules)).status, 200)
  const rule = await addRule(owner, crew, 'Provisioner')
  t.match(await admin.delete(`${rules}${rule.id}/`), { status: 403 }, 'nor takes it away')
  t.match(await other.owner.delete(`${rules}${rule.id}/`), { status: 404 })
  t.equal((await owner.delete(`${rules}${rule.id}/`)).status, 204)

  const policy = { name: 'No auditors', effect: 'deny', actions: ['member:update'] }
  const conditions = { all: [{ attribute: 'resource.roles', operator: 'contains', value: 'auditor' }] }
  await expect(201, owner.post('/api/v1/policies/', { ...policy, conditions }))
  t.match(await refused(admin, { roles: ['auditor'] }), { status: 403 }, 'a policy denies it')
  t.match(await refused(admin, { roles: ['member'] }), { status: 201 })
  const gate = { name: 'Four eyes', effect: 'require_approval', actions: ['member:update'] }
  const approval = { approval: { approver: { roles: ['owner'] } } }
  await expect(201, owner.post('/api/v1/policies/', { ...gate, ...approval, conditions: {} }))
  t.match(await refused(admin, { roles: ['member'] }), { status: 403 }, 'or demands an approval')
})

t.test('rules reach no members above their editor, and none whom a policy protects', async (t) => {
  const { owner, directory, members, people, rolesOf } = await firmWithPeople('ada', 'bea')
  const [ada, bea] = people as [string, string]
  const [reader, admin] = [await addRole(owner, 'Reader', 'note:read'), await hire(owner, 'admin')]
  const crew = await addGroup(directory, 'Crew', ada)
  const rule = await addRule(admin, crew, 'Reader')
  const give = (client: Client) => client.post(rules, { group: crew.id, roles: [reader] })
  await expect(200, owner.put(`${members}${ada}/`, { roles: ['owner', 'Reader'] }))
  t.match(await give(admin), { status: 403 })
  t.match(await admin.delete(`${rules}${rule.id}/`), { status: 403 })
  await addRole(owner, 'Provisioner', 'scim:provision')
  await expect(200, owner.put(`${members}${ada}/`, { roles: ['member', 'Provisioner'] }))
  t.match(await give(admin), { status: 403 }, 'nor those with a permission that they lack')
  await expect(200, owner.put(`${members}${ada}/`, { roles: ['member', 'admin'] }))
  t.match(await give(admin), { status: 201 }, 'equals they do')

  const policy = { name: 'No admins', effect: 'deny', actions: ['member:update'] }
  const conditions = { all: [{ attribute: 'resource.roles', operator: 'contains', value: 'admin' }] }
  await expect(201, owner.post('/api/v1/policies/', { ...policy, conditions }))
  t.match(await give(owner), { status: 403 })
  t.match(await owner.delete(`${rules}${rule.id}/`), { status: 403 })
  const remove = patch({ op: 'remove', path: 'members', value: [{ value: ada }] })
  t.match(await directory.patch(`/Groups/${crew.id}`, remove), scimError(403))
  t.match(await directory.delete(`/Groups/${crew.id}`), scimError(403))
  await put(directory, crew, 'add', bea)
  t.same(await rolesOf(bea), ['member', 'Reader'], 'others are free')
})

t.test('a rule gives no role that has grown beyond its editor', async (t) => {
  const { owner, directory, people, rolesOf } = await firmWithPeople('ada', 'bea')
  const [ada, bea] = people as [string, string]
  const reader = await addRole(owner, 'Reader', 'note:read')
  const admin = await hire(owner, 'admin')
  const { id: later } = await expect(201, directory.post('/Users', { userName: 'later' }))
  const [crew, guests] = [await addGroup(directory, 'Crew', later), await addGroup(directory, 'Guests', ada)]
  await addRule(admin, crew, 'Reader')
  await addRule(owner, guests, 'Reader')
  await put(directory, crew, 'add', bea)
  t.same(await rolesOf(bea), ['member', 'Reader'])
  const grown = { name: 'Reader', permissions: ['note:read', 'scim:provision'] }
  await expect(200, owner.put(`/api/v1/tenants/${owner.tenantId}/roles/${reader}/`, grown))
  const added = patch({ op: 'add', path: 'emails', value: [{ value: `${crypto.randomUUID()}@example.com` }] })
  await expect(200, directory.patch(`/Users/${later}`, added))
  await put(directory, crew, 'add', ada)
  await put(directory, guests, 'remove', ada)
  t.same(await rolesOf(ada), ['member'], 'the owner could give it, the admin cannot')
  await put(directory, guests, 'add', ada)
  t.same(await rolesOf(ada), ['member', 'Reader'])
  await put(directory, guests, 'add', bea)
  await put(directory, guests, 'remove', bea)
  t.same(await rolesOf(bea), ['member'])
})

t.test('a policy that denies a directory to change members holds for groups', async (t) => {
  const { owner, directory, people, rolesOf } = await firmWithPeople('ada')
  await addRole(owner, 'Reader', 'note:read')
  const crew = await addGroup(directory, 'Crew')
  await addRule(owner, crew, 'Reader')
  await expect(
    201,
    owner.post('/api/v1/policies/', {
      name: 'No readers',
      effect: 'deny',
      actions: ['member:update'],
      conditions: { all: [{ attribute: 'subject.id', operator: 'eq', value: directory.account.id }] },
    }),
  )
  const add = patch({ op: 'add', path: 'members', value: [{ value: people[0] }] })
  t.match(await directory.patch(`/Groups/${crew.id}`, add), scimError(403))
  t.same(await rolesOf(people[0]!), ['member'])

  const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
  const { id: department_id } = await expect(201, owner.post(departments, { name: 'Sales' }))
  const sales = await addGroup(directory, 'Sales')
  await expect(201, owner.post(rules, { group: sales.id, department_id }))
  t.match(await directory.patch(`/Groups/${sales.id}`, add), scimError(403), 'also if it gives no role')
})

t.test('a rule gives a role that the mapping of a deleted connection gave before', async (t) => {
  const { owner, directory, people, rolesOf } = await firmWithPeople('ada', 'bea')
  const [ada, bea] = people as [string, string]
  const reader = await addRole(owner, 'Reader', 'note:read')
  const oidc = { issuer: 'https://login.example', client_id: 'x', client_secret: 'x' }
  const connections = '/api/v1/connections/'
  const { id } = await expect(201, owner.post(connections, { name: 'Login', kind: 'oidc', oidc }))
  await query(
    superuser,
    `insert into membership_roles (tenant_id, membership_id, role_id, source, connection_id)
     select m.tenant_id, m.id, '${reader}', 'connection', '${id}' from memberships m where m.id in ('${ada}', '${bea}')`,
  )
  await addRule(owner, await addGroup(directory, 'Crew', ada), 'Reader')
  await expect(204, owner.delete(`${connections}${id}/`))
  t.same(await rolesOf(ada), ['member', 'Reader'])
  t.same(await rolesOf(bea), ['member'])
})

t.test('a tenant has at most 500 rules', async (t) => {
  const owner = await service.signUp()
  const directory = await openDirectory(service, owner)
  const crew = await addGroup(directory, 'Crew')
  await query(
    superuser,
    `insert into directory_rules (tenant_id, id, group_id, created_at)
     select '${owner.tenantId}', gen_random_uuid(), '${crew.id}', now() from generate_series(1, 499)`,
  )
  await addRule(owner, crew, 'member')
  t.match(await owner.post(rules, { group: crew.id, roles: ['member'] }), {
    status: 409,
    body: { code: 'limit_reached' },
  })
})

t.test('parallel changes of rules and groups leave exactly what the rules say', async (t) => {
  const { owner, directory, members, people } = await firmWithPeople('a', 'b', 'c', 'd')
  const names = ['One', 'Two', 'Three']
  for (const name of names) await addRole(owner, name, 'note:read')
  await expect(200, owner.put(`${members}${people[0]}/`, { roles: ['member', 'One'] }))
  const groups = [
    await addGroup(directory, 'G0'),
    await addGroup(directory, 'G1'),
    await addGroup(directory, 'G2'),
  ]
  const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!
  const doSomething = async () => {
    if (Math.random() < 0.6)
      return put(directory, pick(groups), pick(['add', 'remove'] as const), pick(people), pick(people))
    const { results } = await expect(200, owner.get(rules))
    if (results.length < 4) return addRule(owner, pick(groups), pick(names), pick(names))
    return owner.delete(`${rules}${pick(results as Json[]).id}/`)
  }
  for (let round = 0; round < 12; round++) await Promise.all(Array.from({ length: 4 }, doSomething))
  const unlike = `
    with due as (
      select distinct g.member_id, rr.role_id from directory_group_members g
      join directory_rules r using (tenant_id, group_id)
      join directory_rule_roles rr on rr.tenant_id = r.tenant_id and rr.rule_id = r.id
      where g.tenant_id = '${owner.tenantId}')
    select 'missing' as what from due d where not exists (
      select 1 from membership_roles mr where mr.membership_id = d.member_id and mr.role_id = d.role_id)
    union all
    select 'too much' from membership_roles mr where mr.tenant_id = '${owner.tenantId}' and source = 'directory'
      and not exists (select 1 from due d where mr.membership_id = d.member_id and mr.role_id = d.role_id)`
  t.same(await query(superuser, unlike), [])
  t.match(
    (await owner.get(`${members}${people[0]}/`)).body.roles,
    ['member', 'One'],
    'what a person gave stays',
  )
})
