import { randomUUID } from 'node:crypto'
import t from 'tap'
import { type Client, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { confirmAddress, eventsOf, expect, foundFirm, look, wrongCounts } from '../staff.ts'

const service = await sharedService(t)
const begun = service.now()

const define = (owner: Client, key: string, data_type: string) =>
  expect(201, owner.post('/api/v1/attribute-definitions/', { key, data_type, category: 'subject' }))

t.test('a member is read and changed field by field, with one event per change', async (t) => {
  const { owner, path, id, hire, role } = await foundFirm(service)
  const clerk = await hire('member')
  const at = `${path}/members/${clerk.memberId}/`
  const reader = await role('document:read')
  await define(owner, 'level', 'integer')
  await define(owner, 'tags', 'array')
  const { id: department } = await expect(201, owner.post(`${path}/departments/`, { name: 'Sales' }))
  t.match(await clerk.get(at), {
    status: 200,
    body: { id: clerk.memberId, user: { id: clerk.id }, roles: ['member'] },
  })

  service.advance(1000)
  const first = await expect(
    200,
    owner.put(at, { department_id: department, attributes: { level: 3, tags: ['a'] } }),
  )
  t.match(first, { department_id: department, attributes: { level: 3, tags: ['a'] }, roles: ['member'] })
  t.equal(first.updated_at, new Date(service.now()).toISOString())
  service.advance(1000)
  t.same(
    await expect(200, owner.patch(at, { attributes: { tags: ['a'], level: 3 } })),
    first,
    'nothing changed',
  )
  const second = await expect(200, owner.put(at, { roles: ['MEMBER', reader], status: 'active' }))
  t.same(second.roles, ['member', reader])
  t.same((await expect(200, owner.put(at, { role: 'auditor' }))).roles, ['auditor'])
  t.same((await expect(200, owner.put(at, { attributes: {}, department_id: null }))).attributes, {})
  await expect(204, owner.delete(at))
  t.equal((await owner.get(at)).status, 404)
  t.equal((await owner.delete(at)).status, 404)
  const events = (await eventsOf(service, id, 'tenant.member_')).slice(1)
  t.same(events, ['tenant.member_added', ...Array(4).fill('tenant.member_updated'), 'tenant.member_removed'])
})

t.test('sessions ended by an admin are over in this tenant only, until the next login', async (t) => {
  const { owner, path, id, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const clerk = await hire('member')
  const { memberships } = await expect(200, clerk.get('/api/v1/users/me/'))
  const [own] = memberships.flatMap(({ tenant }: { tenant: { id: string } }) =>
    tenant.id === id ? [] : [tenant.id],
  )
  const switchTo = (tenant_id: string, token = clerk.access) =>
    service.call('POST', '/api/v1/auth/switch-tenant/', { token, body: { tenant_id } })
  const elsewhere = await expect(200, switchTo(own))
  const refresh = (token: string) =>
    service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } })
  const revoked = { status: 401, body: { code: 'session_revoked' } }
  service.advance(1)

  const end = () => admin.delete(`${path}/members/${clerk.memberId}/sessions/`)
  const endings = async () => (await eventsOf(service, id, 'tenant.member_sessions_ended')).length
  await expect(204, end())
  await expect(204, end())
  t.match(await clerk.get('/api/v1/users/me/'), revoked, 'the access token, at the next request')
  t.match(await refresh(clerk.refresh), revoked)
  t.match(await switchTo(own), revoked, 'its token does not lead to another tenant either')
  const me = await service.call('GET', '/api/v1/users/me/', { token: elsewhere.access })
  t.equal(me.status, 200, 'the session continues in another tenant')
  t.equal((await refresh(elsewhere.refresh)).status, 200)
  const again = { status: 401, body: { code: 'insufficient_user_authentication' } }
  t.match(await switchTo(id, elsewhere.access), again, 'but cannot enter this tenant')
  for (const method of ['GET', 'PUT'])
    t.match(
      await service.call(method, `${path}/`, {
        token: elsewhere.access,
        body: method === 'PUT' ? {} : undefined,
      }),
      again,
    )
  service.advance(1)
  const fresh = await service.logIn(clerk)
  await fresh.switchTo(id)
  t.equal((await fresh.get('/api/v1/users/me/')).status, 200, 'a new login works')
  t.equal((await refresh(fresh.refresh)).status, 200)
  t.same((await eventsOf(service, id, 'tenant.member_')).slice(-1), ['tenant.member_sessions_ended'])
  t.equal(await endings(), 1, 'what ended no session is not recorded')
  const { results } = await expect(200, owner.get('/api/v1/audit-log/?action=member:update'))
  t.match(results[0], {
    actor: { id: admin.id },
    target: { type: 'member', id: clerk.memberId },
    changes: { sessions: { before: 'live', after: 'ended' } },
  })

  const [{ memberId: ownerId }] = await look(
    service,
    'select id as "memberId" from memberships where tenant_id = $1 and user_id = $2',
    [id, owner.id],
  )
  t.match(
    await admin.delete(`${path}/members/${ownerId}/sessions/`),
    { status: 403 },
    'an admin cannot end the sessions of an owner',
  )
  t.match(await fresh.delete(`${path}/members/${admin.memberId}/sessions/`), { status: 403 })
  t.match(await admin.delete(`${path}/members/${randomUUID()}/sessions/`), { status: 404 })
  const stranger = await service.signUp()
  t.match(await stranger.delete(`${path}/members/${clerk.memberId}/sessions/`), { status: 404 })
  service.advance(1)
  await expect(204, end())
  t.equal(await endings(), 2, 'the session of the new login')
})

t.test('a change takes effect at the next request of the member', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const admin = await hire('admin')
  const at = `${path}/members/${admin.memberId}/`
  t.equal((await admin.post(`${path}/departments/`, { name: 'x' })).status, 201)
  await expect(200, owner.put(at, { roles: ['member'] }))
  t.match(await admin.post(`${path}/departments/`, { name: 'x' }), {
    status: 403,
    body: { code: 'permission_denied' },
  })
  t.equal((await admin.get(`${path}/members/`)).status, 200)

  await expect(200, owner.put(at, { status: 'suspended' }))
  const refused = { status: 403, body: { code: 'no_active_membership' } }
  const enter = () => admin.post('/api/v1/auth/switch-tenant/', { tenant_id: admin.tenantId })
  t.match(await admin.get('/api/v1/users/'), refused)
  t.equal((await admin.get(`${path}/`)).status, 404)
  t.match(await admin.post('/api/v1/auth/refresh/', { refresh: admin.refresh }), refused)
  t.match(await enter(), refused)
  t.equal((await admin.get('/api/v1/tenants/')).status, 200)
  await expect(200, owner.put(at, { status: 'active' }))
  t.equal((await admin.get('/api/v1/users/')).status, 200)

  await expect(204, owner.delete(at))
  t.match(await admin.get('/api/v1/users/'), refused)
  t.match(await enter(), refused)
})

t.test(
  'a person is added with department and attributes, gets a mail, and leaves on their own',
  async (t) => {
    const { owner, path, hire } = await foundFirm(service)
    const guest = await service.signUp()
    await define(owner, 'level', 'integer')
    const { id: department } = await expect(201, owner.post(`${path}/departments/`, { name: 'Desk' }))
    const body = { user_id: guest.id, department_id: department, attributes: { level: 1 } }
    const member = await expect(201, owner.post(`${path}/members/`, body))
    t.match(member, {
      roles: ['member'],
      department_id: department,
      attributes: { level: 1 },
      status: 'active',
    })
    t.match(await service.mailTo(guest.email, 'added'), { text: /Firm/ })
    t.match(await owner.post(`${path}/members/`, body), { status: 409, body: { code: 'already_member' } })

    const other = await hire('member')
    await guest.switchTo(owner.tenantId)
    t.equal((await guest.delete(`${path}/members/${other.memberId}/`)).status, 403)
    t.equal((await guest.delete(`${path}/members/${randomUUID()}/`)).status, 404)
    t.equal((await guest.delete(`${path}/members/${member.id}/`)).status, 204)
    t.match(await guest.get('/api/v1/users/'), { status: 403, body: { code: 'no_active_membership' } })
  },
)

t.test(
  'a person who was added without being asked reads who added them, and leaves with the link in the mail, once',
  async (t) => {
    const { owner, id } = await foundFirm(service)
    await confirmAddress(service, owner)
    await expect(200, owner.patch('/api/v1/users/me/', { first_name: 'Ann', last_name: 'x'.repeat(100) }))
    const guest = await service.signUp()
    const add = (tenantId: string, roles: string[]) =>
      expect(201, owner.post(`/api/v1/tenants/${tenantId}/members/`, { user_id: guest.id, roles }))
    await add(id, ['member'])
    const mail = await service.mailTo(guest.email, owner.email)
    t.match(mail.text, `Ann ${'x'.repeat(59)}… (${owner.email}) made you a member of “Firm”`)
    t.match(mail.text, `${service.url}/leave-tenant?token=`)
    t.equal(mail.subject, 'You were added to an organisation at Bailiwick')
    const second = await expect(201, owner.post('/api/v1/tenants/', { name: 'Second' }))
    await owner.switchTo(second.id)
    await add(second.id, ['owner'])
    await guest.switchTo(id)

    const leave = (token: unknown) => service.call('POST', '/api/v1/tenants/leave/', { body: { token } })
    t.match(await leave('no such token'), { status: 400, body: { code: 'token_invalid' } })
    const answers = await Promise.all([leave(tokenIn(mail)), leave(tokenIn(mail))])
    t.same(answers.map(({ status }) => status).sort(), [200, 400])
    t.same(answers.find(({ status }) => status === 200)?.body, { message: 'You have left the tenant' })
    t.match(await guest.get('/api/v1/users/'), { status: 403, body: { code: 'no_active_membership' } })
    t.equal((await eventsOf(service, id, 'tenant.member_')).at(-1), 'tenant.member_removed')
    const [row] = await look(
      service,
      `select actor_id from audit_log where tenant_id = $1 and action = 'member:delete'`,
      [id],
    )
    t.equal(row.actor_id, guest.id, 'the person is the actor')

    // The link of another tenant stays valid, and the last owner cannot leave.
    const link = tokenIn(await service.mailTo(guest.email, 'Second'))
    await guest.switchTo(second.id)
    const members = `/api/v1/tenants/${second.id}/members/`
    const { results } = await expect(200, owner.get(members))
    const own = results.find((member: { user_id: string }) => member.user_id === owner.id)
    await expect(204, owner.delete(`${members}${own.id}/`))
    t.match(await leave(link), { status: 409, body: { code: 'last_owner' } })
    await expect(201, guest.post(members, { user_id: owner.id, roles: ['owner'] }))
    t.equal((await leave(link)).status, 200)
    const late = tokenIn(await service.mailTo(owner.email, 'Second'))
    service.advance(7 * 24 * 3_600_000)
    t.match(await leave(late), { status: 400, body: { code: 'token_expired' } })
  },
)

t.test(
  'a mail to a person outside names its sender without an address that the sender only claims',
  async (t) => {
    const { owner, path } = await foundFirm(service)
    await expect(
      200,
      owner.patch('/api/v1/users/me/', { first_name: 'Boss', last_name: 'boss@corp.example' }),
    )
    const guest = await service.signUp()
    const invited = `invited.${guest.email}`
    await expect(201, owner.post(`${path}/members/`, { user_id: guest.id }))
    await expect(201, owner.post(`${path}/invitations/`, { email: invited, roles: ['member'] }))
    const added = await service.mailTo(guest.email, 'You were added')
    t.match(added.text, 'Boss made you a member of “Firm”')
    const invitation = await service.mailTo(invited, 'You are invited')
    t.match(invitation.text, 'Boss invites you to “Firm”')
    for (const { text } of [added, invitation]) t.notMatch(text, '@')
  },
)

t.test('invalid values are refused by field', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const { memberId } = await hire('member')
  const { id: stranger } = await service.signUp()
  const both: [object, string][] = [
    [{ roles: [] }, 'roles'],
    [{ roles: 'admin' }, 'roles'],
    [{ roles: [7] }, 'roles.0'],
    [{ roles: ['nobody knows'] }, 'roles'],
    [{ role: '' }, 'role'],
    [{ department_id: 'x' }, 'department_id'],
    [{ department_id: randomUUID() }, 'department_id'],
    [{ attributes: [] }, 'attributes'],
    [{ attributes: { constructor: 1 } }, 'attributes.constructor'],
    [{ attributes: { hasOwnProperty: 1 } }, 'attributes.hasOwnProperty'],
    [{ attributes: { 'Not a key': 1 } }, 'attributes.Not a key'],
    [{ attributes: { unheard_of: 1 } }, 'attributes.unheard_of'],
    [{ attributes: { long: 'x'.repeat(17_000) } }, 'attributes'],
  ]
  const change = (body: object) => owner.put(`${path}/members/${memberId}/`, body)
  const add = (body: object) => owner.post(`${path}/members/`, { user_id: stranger, ...body })
  for (const [body, field] of both)
    for (const send of [change, add])
      t.match(
        await send(body),
        { status: 400, body: { errors: [{ field }] } },
        JSON.stringify(body).slice(0, 60),
      )
  t.match(await change({ status: 'gone' }), { status: 400, body: { errors: [{ field: 'status' }] } })
  t.match(await add({ user_id: randomUUID() }), { status: 400, body: { errors: [{ field: 'user_id' }] } })
  t.match(await owner.post(`${path}/members/`, {}), { status: 400, body: { errors: [{ field: 'user_id' }] } })
  const byMail = { status: 400, body: { errors: [{ field: 'email' }] } }
  t.match(await owner.post(`${path}/members/`, { email: 'nobody@example.com' }), byMail)
})

t.test(
  'an address outside the allowed domains of a tenant cannot be added, nor become the address of a member',
  async (t) => {
    const { owner, path } = await foundFirm(service)
    const person = await service.signUp()
    const add = () => owner.post(`${path}/members/`, { user_id: person.id })
    await expect(200, owner.put(`${path}/`, { settings: { allowed_email_domains: ['elsewhere.example'] } }))
    t.match(await add(), {
      status: 400,
      body: { errors: [{ field: 'user_id', code: 'email_domain_not_allowed' }] },
    })
    await expect(200, owner.put(`${path}/`, { settings: { allowed_email_domains: ['example.com'] } }))
    t.match(
      await add(),
      { status: 400, body: { errors: [{ field: 'user_id', code: 'email_domain_not_allowed' }] } },
      'an address that the person only claims is of no domain',
    )
    await confirmAddress(service, person)
    const { id: memberId } = await expect(201, add())

    const move = (email: string) => person.patch('/api/v1/users/me/', { email })
    const refused = await move('person@elsewhere.example')
    t.match(refused, {
      status: 400,
      body: { errors: [{ field: 'email', code: 'email_domain_not_allowed' }] },
    })
    t.match(refused.body.detail, /“Firm” requires an address of example\.com/)
    t.equal((await move(`moved.${person.email}`)).status, 200)
    await expect(204, owner.delete(`${path}/members/${memberId}/`))
    t.equal(
      (await move(`${person.id}@elsewhere.example`)).status,
      200,
      'a person who left can use any address',
    )
  },
)

t.test('callers cannot grant permissions they lack, and only owners can change owners', async (t) => {
  const { owner, path, hire, role } = await foundFirm(service)
  const closer = await role('tenant:delete')
  const keeper = await role('member:update', 'member:create', 'member:list', 'member:delete')
  const reader = await role('document:read')
  const [admin, clerk, second, staff] = [
    await hire('admin'),
    await hire('member'),
    await hire('owner'),
    await hire(keeper),
  ]
  const of = (person: { memberId: string }) => `${path}/members/${person.memberId}/`
  const denied = { status: 403, body: { code: 'permission_denied' } }
  const stranger = await service.signUp()
  const add = (roles: string[]) => ({ user_id: stranger.id, roles })

  for (const roles of [['owner'], [closer], ['member', 'owner']]) {
    t.match(await admin.put(of(clerk), { roles }), denied, `an admin gives ${roles}`)
    t.match(await admin.put(of(admin), { roles: ['admin', ...roles] }), denied, `an admin takes ${roles}`)
    t.match(await admin.post(`${path}/members/`, add(roles)), denied)
  }
  for (const body of [{ roles: ['member'] }, { status: 'suspended' }, { attributes: { x: 1 } }])
    t.match(await admin.put(of(second), body), denied)
  t.match(await admin.delete(of(second)), denied)
  t.equal((await admin.put(of(clerk), { roles: ['admin', reader] })).status, 200)
  t.equal((await admin.put(of(clerk), { roles: ['member'] })).status, 200)

  for (const roles of [['admin'], ['auditor'], ['member'], [reader]])
    t.match(
      await staff.put(of(clerk), { roles: ['member', ...roles] }),
      roles[0] === 'member' ? { status: 200 } : denied,
    )
  t.match(await staff.put(of(staff), { roles: [keeper, reader] }), denied, 'members cannot raise themselves')
  t.match(
    await staff.put(of(staff), { attributes: { clearance: 9 } }),
    denied,
    'nor through attributes that policies read',
  )
  t.match(await staff.put(of(staff), { attributes: {}, department_id: null, roles: [keeper] }), {
    status: 200,
  })
  t.match(await clerk.put(of(clerk), { roles: ['member'] }), denied)

  t.match(await admin.put(of(admin), { roles: ['member'] }), { status: 200 }, 'members can lower themselves')
  t.match(await admin.put(of(admin), { roles: ['admin'] }), denied, 'and cannot undo it')
  t.match(await owner.put(of(clerk), { roles: ['owner'] }), { status: 200 })
  t.match(await second.delete(of(clerk)), { status: 204 })
})

t.test('the last owner cannot leave, be removed, demoted or suspended', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const mine = (await expect(200, owner.get(`${path}/members/`))).results[0].id
  const last = { status: 409, body: { code: 'last_owner' } }
  const tries = () => [
    owner.put(`${path}/members/${mine}/`, { roles: ['admin'] }),
    owner.put(`${path}/members/${mine}/`, { status: 'suspended' }),
    owner.delete(`${path}/members/${mine}/`),
  ]
  for (const answer of await Promise.all(tries())) t.match(answer, last)
  const idle = await hire('owner')
  await expect(200, owner.put(`${path}/members/${idle.memberId}/`, { status: 'suspended' }))
  for (const answer of await Promise.all(tries())) t.match(answer, last, 'a suspended owner does not count')
  await expect(200, owner.put(`${path}/members/${idle.memberId}/`, { status: 'active' }))
  t.equal((await owner.delete(`${path}/members/${mine}/`)).status, 204)
  t.match(await idle.delete(`${path}/members/${idle.memberId}/`), last)
})

t.test('of the last two owners one always remains, also when both go at once', async (t) => {
  const { owner, path, id, hire } = await foundFirm(service)
  const second = await hire('owner')
  const spare = await hire('owner')
  const mine = (await expect(200, owner.get(`${path}/members/`))).results[0].id
  await expect(200, spare.put(`${path}/members/${spare.memberId}/`, { roles: ['member'] }))
  const ways = [
    () => owner.put(`${path}/members/${second.memberId}/`, { roles: ['member'] }),
    () => second.put(`${path}/members/${mine}/`, { roles: ['member'] }),
    () => owner.put(`${path}/members/${second.memberId}/`, { status: 'suspended' }),
    () => second.delete(`${path}/members/${mine}/`),
    () => owner.put(`${path}/members/${mine}/`, { roles: ['admin'] }),
    () => second.delete(`${path}/members/${second.memberId}/`),
  ]
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => ways[n % ways.length]!()))
  t.ok(
    answers.every(({ status }) => [200, 204, 403, 404, 409].includes(status)),
    answers.map(({ status }) => status).join(' '),
  )
  const owners = await look(
    service,
    `select m.id from memberships m join membership_roles mr on mr.tenant_id = m.tenant_id and mr.membership_id = m.id
     join roles r on r.tenant_id = mr.tenant_id and r.id = mr.role_id and r.name = 'owner' where m.tenant_id = $1 and m.status = 'active'`,
    [id],
  )
  t.equal(owners.length, 1)
})

t.test('two owners who remove each other, fifty times: one remains each time', async (t) => {
  const { owner, path, hire, id } = await foundFirm(service)
  const second = await hire('owner')
  const mine = (await expect(200, owner.get(`${path}/members/`))).results[0].id
  const outcomes: string[] = []
  for (let round = 0; round < 50; round++) {
    const [a, b] = await Promise.all([
      owner.put(`${path}/members/${second.memberId}/`, { roles: ['member'] }),
      second.put(`${path}/members/${mine}/`, { roles: ['member'] }),
    ])
    outcomes.push([a!.status, b!.status].sort().join())
    const loser = a!.status === 200 ? second.memberId : mine
    const winner = a!.status === 200 ? owner : second
    await expect(200, winner.put(`${path}/members/${loser}/`, { roles: ['owner'] }))
  }
  t.ok(
    outcomes.every((outcome) => ['200,403', '200,409'].includes(outcome)),
    [...new Set(outcomes)].join(' '),
  )
  const counts = await look(
    service,
    `select rows::int from row_counts where tenant_id = $1 and relation = 'memberships'`,
    [id],
  )
  t.same(counts, [{ rows: 2 }])
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service, begun), [])
})
