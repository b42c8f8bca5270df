import t from 'tap'
import { actions } from '../../../src/policy-engine/catalogue/actions.ts'
import { listRoutes } from '../../../src/start/app.ts'
import { colleague } from '../../helpers/colleague.ts'
import { numberedEventsOf, openDatabase } from '../../helpers/event-log.ts'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Answer, type Client, claimsOf, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { confirmAddress } from '../../tenancy/staff.ts'
import { codeAt, enrol } from '../otp/authenticator.ts'

const service = await sharedService(t)
const database = await openDatabase(t, service)
const reason = 'Ticket 4711: the list of members is empty'
const refused = { status: 403, body: { code: 'impersonation_not_allowed' } }
const ended = { status: 401 }

const office = (person: Client) => `/api/v1/tenants/${person.tenantId}`

/** Shows a second factor, which a first call enrols. */
const secrets = new Map<string, string>()
async function stepUp(person: Client): Promise<void> {
  const secret = secrets.get(person.id) ?? (await enrol(service, person)).secret
  secrets.set(person.id, secret)
  const code = codeAt(secret, service.now(), 1)
  const { status } = await person.post('/api/v1/auth/otp/verify/', { code })
  if (status !== 200) throw new Error('no second factor')
}

async function idOf(owner: Client, person: Client): Promise<string> {
  const { body } = await owner.get(`${office(owner)}/members/?user_id=${person.id}`)
  return body.results[0].id
}

const start = async (actor: Client, owner: Client, person: Client, why = reason): Promise<Answer> =>
  actor.post(`${office(owner)}/members/${await idOf(owner, person)}/impersonate/`, { reason: why })

/** A client with the token of an impersonation. */
async function actAs(actor: Client, owner: Client, person: Client) {
  const { status, body } = await start(actor, owner, person)
  if (status !== 200) throw new Error(JSON.stringify(body))
  const call = (method: string) => (path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) })
  const token: string = body.access
  return { token, get: call('GET'), post: call('POST'), patch: call('PATCH'), delete: call('DELETE') }
}

/** A tenant with an owner, a supporter who may act as others, and a member. */
async function team(permissions: string[] = []) {
  const owner = await service.signUp()
  await confirmAddress(service, owner)
  await stepUp(owner)
  const role = { name: 'Support', permissions: ['member:impersonate', ...permissions] }
  await owner.post(`${office(owner)}/roles/`, role)
  const supporter = await colleague(service, owner, 'member')
  await owner.patch(`${office(owner)}/members/${await idOf(owner, supporter)}/`, {
    roles: ['member', 'Support'],
  })
  await stepUp(supporter)
  const member = await colleague(service, owner, 'member')
  return { owner, supporter, member }
}

t.test('an owner acts as a member, and every trace names both', async (t) => {
  const { owner, member } = await team()
  await proveAddress(service, member)
  const { status, body, headers } = await start(owner, owner, member)
  t.match({ status, body }, { status: 200, body: { expires_in: 900 } })
  t.equal(headers.get('cache-control'), 'no-store')
  const claims = claimsOf(body.access)
  t.match(claims, { sub: member.id, email: undefined, roles: ['member'], act: { sub: owner.id } })
  t.equal(claims.exp - claims.iat, 900)
  t.equal(claims.fid, claimsOf(owner.access).fid)
  const mail = await service.mailTo(member.email, 'acted as you')
  t.ok(mail.text.includes(reason) && mail.text.includes(owner.email))

  const admin = await colleague(service, owner, 'admin')
  const as = await actAs(owner, owner, admin)
  t.match(await as.get('/api/v1/users/me/'), {
    body: { id: admin.id, impersonator: { id: owner.id, email: owner.email }, memberships: { length: 1 } },
  })
  const made = await as.post(`${office(owner)}/departments/`, { name: 'Looms' })
  t.equal(made.status, 201)
  const { body: log } = await owner.get(`/api/v1/audit-log/?impersonator_id=${owner.id}`)
  t.match(log.results, [
    {
      action: 'department:create',
      actor: { id: admin.id, email: admin.email },
      impersonator: { id: owner.id, email: owner.email },
    },
  ])
  const { body: begun } = await owner.get('/api/v1/audit-log/?action=member:impersonate')
  t.match(begun.results[0], {
    actor: { id: owner.id },
    impersonator: null,
    changes: { reason: { after: reason } },
  })
  await numberedEventsOf(database, owner.tenantId) // the feed shows what the relay has numbered
  const { body: feed } = await owner.get('/api/v1/events/?after=0&page_size=100')
  const events = feed.results as { type: string; actorid: string; impersonatorid: string | null }[]
  const made1 = events.find(({ type }) => type === 'tenant.department_created')
  t.match(made1, { actorid: admin.id, impersonatorid: owner.id })
  t.match(
    events.find(({ type }) => type === 'tenant.member_impersonated'),
    { actorid: owner.id, impersonatorid: null },
  )
  await owner.post(`${office(owner)}/departments/`, { name: 'Dye works' })
  const later = await owner.get('/api/v1/audit-log/?action=department:create')
  t.equal(later.body.results[0].impersonator, null, 'the connection keeps no name')
})

t.test('a member who changed their address hears of it at the new one, once it is verified', async (t) => {
  const { owner, member } = await team()
  await proveAddress(service, member)
  const moved = { ...member, email: `moved.${member.email}` }
  const change = { email: moved.email, current_password: member.password }
  t.equal((await member.patch('/api/v1/users/me/', change)).status, 200)
  await confirmAddress(service, moved)
  await (await service.logIn(moved)).switchTo(owner.tenantId)
  t.equal((await start(owner, owner, member)).status, 200)
  t.ok((await service.mailTo(moved.email, 'acted as you')).text.includes(reason))
})

t.test('acting as a member needs the permission, a second factor, a reason and a member below', async (t) => {
  const { owner, supporter, member } = await team()
  t.match(await start(member, owner, supporter), { status: 403, body: { code: 'permission_denied' } })
  t.match(await start(owner, owner, member, 'too short'), { status: 400 })
  t.match(await start(supporter, owner, owner), refused, 'an owner')
  t.match(await start(supporter, owner, supporter), refused, 'oneself')
  const admin = await colleague(service, owner, 'admin')
  t.match(await start(supporter, owner, admin), refused, 'a higher role')
  const second = await colleague(service, owner, 'admin')
  await owner.patch(`${office(owner)}/members/${await idOf(owner, second)}/`, { roles: ['owner'] })
  t.match(await start(owner, owner, second), refused, 'another owner')
  const account = await owner.post('/api/v1/service-accounts/', { name: 'Robot', roles: ['member'] })
  const path = `${office(owner)}/members/${account.body.membership_id}/impersonate/`
  t.match(await owner.post(path, { reason }), refused, 'a service account')
  await owner.post(`${office(owner)}/roles/`, { name: 'Writer', permissions: ['note:write'] })
  const writer = await colleague(service, owner, 'Writer')
  t.match(await start(supporter, owner, writer), refused, "an application's permission")
  await owner.patch(`${office(owner)}/members/${await idOf(owner, member)}/`, { status: 'suspended' })
  t.match(await start(owner, owner, member), { status: 409, body: { code: 'invalid_state' } })
  service.advance(601_000)
  t.match(await start(owner, owner, admin), {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal2', max_age: 600 },
  })
})

t.test(
  'the token is refused on each route that is about the account, also for another impersonation',
  async (t) => {
    const { owner, supporter, member } = await team()
    const as = await actAs(owner, owner, member)
    const other = await idOf(owner, supporter)
    const routes = listRoutes(service.deps, { ready: async () => undefined, drain() {} })
    let seen = 0
    for (const { access, action, method, path } of routes) {
      if (access !== 'token' || action === 'public' || actions[action].tokens.includes('key')) continue
      seen++
      const filled = path
        .replace(':mid', other)
        .replace(':id', path.includes('/tenants/:id') ? owner.tenantId : other)
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: { reason } }
      t.match(await service.call(method, filled, { token: as.token, ...body }), refused, `${method} ${path}`)
    }
    t.ok(seen > 30, `${seen} routes`)
    t.match(await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: as.token } }), ended)
  },
)

t.test('it acts in its own tenant alone', async (t) => {
  const { owner, member } = await team()
  const as = await actAs(owner, owner, member)
  const home = claimsOf((await service.logIn(member)).access).tenant_id
  t.not(home, owner.tenantId)
  t.match(await as.get(`/api/v1/tenants/${home}/`), { status: 404 })
  t.match(await as.patch(`/api/v1/tenants/${home}/`, { name: 'Mine' }), { status: 404 })
  t.match(await as.post('/api/v1/auth/switch-tenant/', { tenant_id: home }), refused)
  const { body } = await as.get('/api/v1/tenants/')
  t.same(
    body.results.map(({ id }: { id: string }) => id),
    [owner.tenantId],
  )
  const me = await as.get('/api/v1/users/me/')
  t.equal(me.body.memberships.length, 1)
})

t.test('it never permits what the actor may not do, whatever policies give the member', async (t) => {
  const { owner, supporter, member } = await team()
  const rule = async (policy: object) => {
    const { status, body } = await owner.post('/api/v1/policies/', { conditions: {}, ...policy })
    t.equal(status, 201, JSON.stringify(body))
  }
  const as = await actAs(supporter, owner, member)
  t.match(await as.get(`${office(owner)}/members/`), { status: 200 })
  await rule({ name: 'Readers', effect: 'allow', actions: ['audit:list'], subjects: { users: [member.id] } })
  t.match(await member.get('/api/v1/audit-log/'), { status: 200 })
  t.match(await as.get('/api/v1/audit-log/'), refused)
  await rule({
    name: 'No support',
    effect: 'deny',
    actions: ['department:list'],
    subjects: { roles: ['Support'] },
  })
  t.match(await member.get(`${office(owner)}/departments/`), { status: 200 })
  t.match(await as.get(`${office(owner)}/departments/`), refused)

  const mine = `${office(owner)}/members/${await idOf(owner, member)}/`
  t.match(await as.delete(mine), refused, 'a member may leave, but not be made to')
  await rule({ name: 'Writers', effect: 'allow', actions: ['note:write'], subjects: { users: [member.id] } })
  const question = {
    subject: { type: 'user', id: member.id },
    action: { name: 'note:write' },
    resource: { type: 'note', id: '1' },
  }
  t.match(await member.post('/access/v1/evaluation', question), { body: { decision: true } })
  t.match(await as.post('/access/v1/evaluation', question), { body: { decision: false } })
  const search = {
    subject: question.subject,
    action: question.action,
    resource: { type: 'note', candidates: [{ id: '1' }] },
  }
  t.match(await member.post('/access/v1/search/resource', search), { body: { results: { length: 1 } } })
  t.match(await as.post('/access/v1/search/resource', search), { body: { results: { length: 0 } } })
})

t.test('it reads what the lists show: why the member was refused, and what they asked for', async (t) => {
  const { owner, supporter, member } = await team()
  const rule = { actions: ['department:create'], subjects: { users: [member.id] }, conditions: {} }
  await owner.post('/api/v1/policies/', { name: 'Writers', effect: 'allow', ...rule })
  await owner.post('/api/v1/policies/', { name: 'Ask first', effect: 'require_approval', ...rule })
  const asked = await member.post(`${office(owner)}/departments/`, { name: 'Looms' })
  t.match(asked, { status: 403, body: { code: 'approval_required' } })
  t.match(await member.get('/api/v1/audit-log/'), { status: 403 })
  const as = await actAs(supporter, owner, member)
  for (const list of ['decisions', 'approval-requests']) {
    const { results } = (await as.get(`/api/v1/${list}/`)).body
    t.match(await as.get(`/api/v1/${list}/${results[0]?.id}/`), { status: 200 }, list)
    t.match(await supporter.get(`/api/v1/${list}/${results[0]?.id}/`), { status: 404 }, 'not as oneself')
  }
})

t.test('a call that needs an approval is refused, so that an actor cannot approve their own', async (t) => {
  const { owner } = await team()
  const admin = await colleague(service, owner, 'admin')
  const gate = {
    name: 'Four eyes',
    effect: 'require_approval',
    actions: ['department:create'],
    conditions: {},
  }
  await owner.post('/api/v1/policies/', gate)
  const as = await actAs(owner, owner, admin)
  const body = { name: 'Looms' }
  t.match(await as.post(`${office(owner)}/departments/`, body), refused)
  const list = async () => (await owner.get('/api/v1/approval-requests/')).body.results
  t.equal((await list()).length, 0)
  const asked = await admin.post(`${office(owner)}/departments/`, body)
  const { id } = asked.body.approval_request
  await owner.post(`/api/v1/approval-requests/${id}/approve/`)
  const headers = { 'approval-request': id }
  t.match(
    await service.call('POST', `${office(owner)}/departments/`, { token: as.token, body, headers }),
    refused,
  )
  t.match(await admin.post(`${office(owner)}/departments/`, body, { headers }), { status: 201 })
})

t.test('an answer that the member got for an Idempotency-Key is not told to the actor', async (t) => {
  const { owner } = await team()
  const admin = await colleague(service, owner, 'admin')
  const as = await actAs(owner, owner, admin)
  const headers = { 'idempotency-key': 'one-of-the-admin' }
  const body = { name: 'Weaver' }
  t.match(await admin.post(`${office(owner)}/roles/`, body, { headers }), { status: 201 })
  t.match(await service.call('POST', `${office(owner)}/roles/`, { token: as.token, body, headers }), {
    status: 409,
  })
})

t.test('it ends with each thing that it rests on, at the next request', async (t) => {
  const ways: Record<string, [(team: Awaited<ReturnType<typeof newTeam>>) => Promise<unknown>, object]> = {
    'the actor logs out': [({ supporter }) => supporter.post('/api/v1/auth/logout/'), ended],
    "the actor's sessions in the tenant end": [
      ({ owner, actorId }) => owner.delete(`${office(owner)}/members/${actorId}/sessions/`),
      ended,
    ],
    'the actor is suspended': [
      ({ owner, actorId }) => owner.patch(`${office(owner)}/members/${actorId}/`, { status: 'suspended' }),
      { status: 403, body: { code: 'no_active_membership' } },
    ],
    'the actor is removed': [
      ({ owner, actorId }) => owner.delete(`${office(owner)}/members/${actorId}/`),
      { status: 403, body: { code: 'no_active_membership' } },
    ],
    'the actor loses the permission': [
      ({ owner, actorId }) => owner.patch(`${office(owner)}/members/${actorId}/`, { roles: ['member'] }),
      refused,
    ],
    'the member rises above the actor': [
      ({ owner, memberId }) => owner.patch(`${office(owner)}/members/${memberId}/`, { roles: ['admin'] }),
      refused,
    ],
    'the member becomes an owner': [
      ({ owner, memberId }) => owner.patch(`${office(owner)}/members/${memberId}/`, { roles: ['owner'] }),
      refused,
    ],
    'the member is suspended': [
      ({ owner, memberId }) => owner.patch(`${office(owner)}/members/${memberId}/`, { status: 'suspended' }),
      { status: 403, body: { code: 'no_active_membership' } },
    ],
    'its time is over': [async () => service.advance(906_000), ended],
  }
  const newTeam = async () => {
    const made = await team()
    const [actorId, memberId] = await Promise.all([
      idOf(made.owner, made.supporter),
      idOf(made.owner, made.member),
    ])
    return { ...made, actorId, memberId }
  }
  for (const [name, [end, answer]] of Object.entries(ways)) {
    const people = await newTeam()
    const as = await actAs(people.supporter, people.owner, people.member)
    const path = `${office(people.owner)}/members/`
    t.match(await as.get(path), { status: 200 })
    await end(people)
    t.match(await as.get(path), answer, name)
  }
})

t.test(
  'a member who never entered the tenant cannot be acted as, unless they accepted an invitation',
  async (t) => {
    const owner = await service.signUp()
    await stepUp(owner)
    const added = await service.signUp()
    await owner.post(`${office(owner)}/members/`, { user_id: added.id })
    t.match(await start(owner, owner, added), refused)
    await added.switchTo(owner.tenantId)
    t.equal((await start(owner, owner, added)).status, 200)

    const invited = await service.signUp()
    t.equal((await owner.post(`${office(owner)}/invitations/`, { email: invited.email })).status, 201)
    const token = tokenIn(await service.mailTo(invited.email, 'invited'))
    t.equal((await invited.post('/api/v1/invitations/accept/', { token })).status, 200)
    t.equal((await start(owner, owner, invited)).status, 200)
    await owner.delete(`${office(owner)}/members/${await idOf(owner, invited)}/`)
    service.advance(1_000)
    await owner.post(`${office(owner)}/members/`, { user_id: invited.id })
    t.match(await start(owner, owner, invited), refused, 'an invitation to an earlier membership')
  },
)

t.test('the mail repeats no more than 100 characters of the reason', async (t) => {
  const { owner, member } = await team()
  await proveAddress(service, member)
  t.equal((await start(owner, owner, member, 'x'.repeat(500))).status, 200)
  t.match((await service.mailTo(member.email, 'acted as you')).text, `“${'x'.repeat(99)}…”`)
})
