import { randomUUID } from 'node:crypto'
import t from 'tap'
import { startService } from '../../helpers/service.ts'
import { eventsOf, expect, foundFirm, look, wrongCounts } from '../staff.ts'

const service = await startService(t, { env: { LIMIT_CUSTOM_ROLES: '5' } })
const revision = async (id: string) =>
  (
    await look(
      service,
      `select (policy_revision + coalesce(policy_changes, 0))::int as r
       from tenants left join tenant_revisions on tenant_id = id where id = $1`,
      [id],
    )
  )[0].r

t.test('on a cluster, a tenant that lost its row of tenant_revisions is served', async (t) => {
  const { owner, path, id } = await foundFirm(service)
  await look(service, 'delete from tenant_revisions where tenant_id = $1', [id])
  await expect(200, owner.get(`${path}/roles/`))
  const before = await revision(id)
  await expect(201, owner.post(`${path}/roles/`, { name: 'Clerk' }))
  t.equal(await revision(id), before + 1)
})

t.test(
  'a role is created, read, listed, changed and deleted, and each change raises the policy revision',
  async (t) => {
    const { owner, path, id } = await foundFirm(service)
    const before = await revision(id)
    const body = {
      name: ' Clerk ',
      description: 'Files',
      permissions: ['member:list', 'document:read', 'document:read'],
    }
    const role = await expect(201, owner.post(`${path}/roles/`, body))
    t.match(role, {
      name: 'Clerk',
      description: 'Files',
      permissions: ['member:list', 'document:read'],
      is_system: false,
      member_count: 0,
    })
    const at = `${path}/roles/${role.id}/`
    t.same({ ...(await expect(200, owner.get(at))), warnings: [] }, role)
    const list = await expect(200, owner.get(`${path}/roles/`))
    t.same(
      list.results.map((r: { name: string; is_system: boolean }) => [r.name, r.is_system]),
      [
        ['owner', true],
        ['admin', true],
        ['member', true],
        ['auditor', true],
        ['Clerk', false],
      ],
    )
    t.equal(list.count, 5)
    t.ok(list.results[0].permissions.includes('tenant:delete'), 'the permissions of a system role are shown')
    t.equal(list.results[0].member_count, 1)

    service.advance(1000)
    t.same(await expect(200, owner.put(at, body)), role, 'nothing changed')
    t.same((await expect(200, owner.patch(at, { permissions: [] }))).permissions, [])
    t.match(await expect(200, owner.put(at, { name: 'CLERK', description: '' })), {
      name: 'CLERK',
      description: '',
    })
    await expect(204, owner.delete(at))
    t.equal((await owner.get(at)).status, 404)
    t.equal(await revision(id), before + 4)
    t.same(
      await eventsOf(service, id, 'tenant.role_'),
      ['created', 'updated', 'updated', 'deleted'].map((verb) => `tenant.role_${verb}`),
    )
  },
)

t.test('a change of permissions takes effect at the next request of the members with the role', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const role = await expect(
    201,
    owner.post(`${path}/roles/`, { name: 'Staff', permissions: ['member:list'] }),
  )
  const clerk = await hire('Staff')
  t.equal((await clerk.get(`${path}/members/`)).status, 200)
  t.equal((await clerk.get(`${path}/roles/`)).status, 403)
  await expect(200, owner.put(`${path}/roles/${role.id}/`, { permissions: ['role:*'] }))
  t.equal((await clerk.get(`${path}/members/`)).status, 403)
  t.equal((await clerk.get(`${path}/roles/`)).status, 200)
  await expect(200, owner.put(`${path}/roles/${role.id}/`, { name: 'Renamed' }))
  t.equal((await clerk.get(`${path}/roles/`)).status, 200)
  const inUse = { status: 409, body: { code: 'role_in_use' } }
  t.match(await owner.delete(`${path}/roles/${role.id}/`), inUse)
  t.equal((await owner.get(`${path}/roles/${role.id}/`)).body.member_count, 1)
})

t.test('system roles cannot be changed or deleted', async (t) => {
  const { owner, path } = await foundFirm(service)
  for (const { id } of (await expect(200, owner.get(`${path}/roles/`))).results) {
    const refused = { status: 409, body: { code: 'system_role' } }
    t.match(await owner.put(`${path}/roles/${id}/`, { description: 'mine' }), refused)
    t.match(await owner.put(`${path}/roles/${id}/`, {}), refused)
    t.match(await owner.delete(`${path}/roles/${id}/`), refused)
  }
})

t.test('names are compared without case and in NFC, within one tenant', async (t) => {
  const { owner, path } = await foundFirm(service)
  const taken = { status: 409, body: { code: 'name_taken' } }
  await expect(201, owner.post(`${path}/roles/`, { name: 'Caf\u00e9' }))
  for (const name of ['cafe\u0301', 'CAFÉ', ' café ', 'Owner', 'AUDITOR'])
    t.match(await owner.post(`${path}/roles/`, { name }), taken, name)
  const second = await expect(201, owner.post(`${path}/roles/`, { name: 'Bar' }))
  t.match(await owner.put(`${path}/roles/${second.id}/`, { name: 'Cafe\u0301' }), taken)
  const answers = await Promise.all(
    ['Twin', 'twin', 'TWIN'].map((name) => owner.post(`${path}/roles/`, { name })),
  )
  t.same(answers.map((answer) => answer.status).sort(), [201, 409, 409])
  const other = await foundFirm(service)
  t.equal((await other.owner.post(`${other.path}/roles/`, { name: 'Café' })).status, 201)
})

t.test('invalid values are refused by field', async (t) => {
  const { owner, path } = await foundFirm(service)
  const cases: [object, string][] = [
    [{}, 'name'],
    [{ name: ' ' }, 'name'],
    [{ name: 'x'.repeat(65) }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: randomUUID() }, 'name'],
    [{ name: 'x', description: 'x'.repeat(2001) }, 'description'],
    [{ name: 'x', permissions: 'member:list' }, 'permissions'],
    [{ name: 'x', permissions: [null] }, 'permissions.0'],
    ...[
      'member:destroy',
      'profile:read',
      'profile:*',
      'session:own',
      '*',
      '*:*',
      'document',
      'Document:read',
      'a:b:c',
      'document:',
      ':read',
      '1a:b',
      `${'a'.repeat(64)}:b`,
    ].map((permission): [object, string] => [
      { name: 'x', permissions: ['member:list', permission] },
      'permissions.1',
    ]),
  ]
  for (const [body, field] of cases)
    t.match(
      await owner.post(`${path}/roles/`, body),
      { status: 400, body: { errors: [{ field }] } },
      JSON.stringify(body).slice(0, 70),
    )
  const longest = { name: '😀'.repeat(64), permissions: ['a.b-c_d:e', 'x:*'] }
  t.equal((await owner.post(`${path}/roles/`, longest)).status, 201)
  const guest = await service.register()
  t.equal((await owner.post(`${path}/members/`, { user_id: guest.id, role: longest.name })).status, 201)
})

t.test('callers cannot grant a permission they lack', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const make = (permissions: string[], name = randomUUID().slice(0, 8)) => ({ name, permissions })
  const admin = await hire('admin')
  const maker = await expect(
    201,
    owner.post(`${path}/roles/`, make(['role:*', 'member:list', 'report:*', 'memo:read'], 'Maker')),
  )
  const clerk = await hire('Maker')
  const denied = { status: 403, body: { code: 'permission_denied' } }
  for (const permissions of [['tenant:delete'], ['tenant:*'], ['document:read', 'tenant:suspend']])
    t.match(await admin.post(`${path}/roles/`, make(permissions)), denied)
  for (const permissions of [['member:create'], ['member:*'], ['memo:write'], ['memo:*'], ['document:read']])
    t.match(await clerk.post(`${path}/roles/`, make(permissions)), denied, permissions.join())
  const mine = await expect(
    201,
    clerk.post(`${path}/roles/`, make(['role:list', 'role:*', 'report:read', 'report:*', 'memo:read'])),
  )
  t.match(await clerk.put(`${path}/roles/${mine.id}/`, { permissions: ['webhook:list'] }), denied)
  t.match(await clerk.put(`${path}/roles/${maker.id}/`, { permissions: ['role:*', 'policy:update'] }), denied)
  t.equal(
    (await clerk.put(`${path}/roles/${maker.id}/`, { permissions: ['role:*'] })).status,
    200,
    'removing permissions is always allowed',
  )
  t.equal((await admin.post(`${path}/roles/`, make(['document:read', 'policy:*']))).status, 201)
})

t.test('the limit of custom roles holds, also for concurrent requests', async (t) => {
  const { owner, path } = await foundFirm(service)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => owner.post(`${path}/roles/`, { name: `r${n}` })),
  )
  t.equal(answers.filter((answer) => answer.status === 201).length, 5)
  t.ok(answers.every(({ status, body }) => status === 201 || body.code === 'limit_reached'))
})

t.test('a role that is granted and deleted at once is either gone or in use', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const clerk = await hire('member')
  for (let round = 0; round < 8; round++) {
    const role = await expect(201, owner.post(`${path}/roles/`, { name: `Round ${round}` }))
    const guest = await service.register()
    const [given, added, deleted] = await Promise.all([
      owner.put(`${path}/members/${clerk.memberId}/`, { roles: ['member', role.id] }),
      owner.post(`${path}/members/`, { user_id: guest.id, roles: [role.id] }),
      owner.delete(`${path}/roles/${role.id}/`),
    ])
    const outcome = [given!.status, added!.status, deleted!.status].join()
    t.ok(['200,201,409', '200,400,409', '400,201,409', '400,400,204'].includes(outcome), outcome)
    await expect(200, owner.put(`${path}/members/${clerk.memberId}/`, { roles: ['member'] }))
    if (added!.status === 201) await expect(204, owner.delete(`${path}/members/${added!.body.id}/`))
    if (deleted!.status === 409) await expect(204, owner.delete(`${path}/roles/${role.id}/`))
  }
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
