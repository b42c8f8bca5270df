import t from 'tap'
import { expireInvitations } from '../../../src/tenancy/invitations/expire-invitations.ts'
import { openWorkerDeps } from '../../../workers/deps.ts'
import { type Client, startService, tokenIn } from '../../helpers/service.ts'
import { expect, foundFirm, look } from '../staff.ts'

// Concurrent requests, and changes between the mail and the click.

const service = await startService(t)
const { config, log, clock } = service.deps
const worker = await openWorkerDeps(config, log, clock)
t.teardown(() => worker.close())
const firm = await foundFirm(service)
const path = `${firm.path}/invitations/`
let people = 0
const newAddress = () => `racer${++people}.${process.pid}@example.com`
const newAccount = { password: 'a quiet harbour' }

async function invited(more: Record<string, unknown> = {}, by: Client = firm.owner) {
  const email = newAddress()
  const { id } = await expect(201, by.post(path, { email, ...more }))
  return { id, email, token: tokenIn(await service.mailTo(email, 'invited')) }
}

const accept = (token: string, by?: Client) =>
  service.call('POST', '/api/v1/invitations/accept/', { token: by?.access, body: { token, ...newAccount } })
const invalid = { status: 400, body: { code: 'invitation_invalid' } }
const typesAbout = async (id: string) =>
  (await look(service, 'select type from events where subject = $1 order by id', [id])).map((row) => row.type)
const statuses = (answers: { status: number }[]) => answers.map(({ status }) => status).sort()

t.test('of many concurrent accepts with one token, one succeeds', async (t) => {
  const { id, token } = await invited()
  const answers = await Promise.all(Array.from({ length: 6 }, () => accept(token)))
  t.equal(statuses(answers)[0], 200)
  t.notOk(
    statuses(answers)
      .slice(1)
      .some((status) => status !== 400 && status !== 401),
  )
  t.same(await typesAbout(id), ['tenant.invitation_created', 'tenant.invitation_accepted'])
  const person = await service.signUp()
  const { id: second } = await expect(201, firm.owner.post(path, { email: person.email }))
  const theirs = tokenIn(await service.mailTo(person.email, 'invited'))
  const mine = await Promise.all(Array.from({ length: 6 }, () => accept(theirs, person)))
  t.same(statuses(mine), [200, 400, 400, 400, 400, 400])
  t.same(await typesAbout(second), ['tenant.invitation_created', 'tenant.invitation_accepted'])
})

t.test('accepting and cancelling at once: exactly one succeeds', async (t) => {
  for (let round = 0; round < 4; round++) {
    const { id, token } = await invited()
    const [joined, cancelled] = await Promise.all([accept(token), firm.owner.post(`${path}${id}/cancel/`)])
    t.same(
      [joined.status, cancelled.status],
      joined.status === 200 ? [200, 409] : [400, 200],
      `${joined.status} ${cancelled.status}`,
    )
    t.equal((await typesAbout(id)).length, 2)
  }
})

t.test('accepting and resending at once: the token is either used or invalid', async (t) => {
  for (let round = 0; round < 4; round++) {
    const { id, token } = await invited()
    const [joined, resent] = await Promise.all([accept(token), firm.owner.post(`${path}${id}/resend/`)])
    t.same([joined.status, resent.status], joined.status === 200 ? [200, 409] : [400, 200])
  }
})

t.test('of many concurrent invitations to one address, one is created', async (t) => {
  const email = newAddress()
  const answers = await Promise.all(Array.from({ length: 6 }, () => firm.owner.post(path, { email })))
  t.same(statuses(answers), [201, 409, 409, 409, 409, 409])
})

t.test('a token with one changed byte is invalid', async (t) => {
  const { token } = await invited()
  for (let at = 0; at < token.length - 1; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    t.match(await accept(`${token.slice(0, at)}${other}${token.slice(at + 1)}`), invalid, `byte ${at}`)
  }
  for (const text of [`${token}x`, token.slice(1), ` ${token}`, 'null'])
    t.match(await accept(text), invalid, text)
  t.equal((await accept('')).status, 400)
})

t.test('tokens of one purpose are not accepted for another', async (t) => {
  const person = await service.signUp()
  const verify = tokenIn(await service.mailTo(person.email, 'Confirm'))
  t.match(await accept(verify, person), invalid)
  t.match(await accept(person.access), { status: 400 })
  const { token } = await invited()
  t.match(await service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }), {
    status: 400,
    body: { code: 'token_invalid' },
  })
  t.equal((await service.call('GET', '/api/v1/users/me/', { token })).status, 401)
})

t.test('a role that was deleted, or raised above the inviter, invalidates the invitation', async (t) => {
  const name = await firm.role('member:list')
  const { token } = await invited({ roles: [name] })
  const roles = (await firm.owner.get(`${firm.path}/roles/?search=${encodeURIComponent(name)}`)).body.results
  await expect(204, firm.owner.delete(`${firm.path}/roles/${roles[0].id}/`) as never)
  t.match(await accept(token), invalid)

  const inviterRole = await firm.role('invitation:create', 'member:list')
  const inviter = await firm.hire(inviterRole)
  const given = await firm.role('member:list')
  const raised = await invited({ roles: [given] }, inviter)
  const { results } = (await firm.owner.get(`${firm.path}/roles/?search=${encodeURIComponent(given)}`)).body
  const target = results.find((role: { name: string }) => role.name === given)
  await expect(200, firm.owner.put(`${firm.path}/roles/${target.id}/`, { permissions: ['member:delete'] }))
  t.match(await accept(raised.token), invalid)
  await expect(200, firm.owner.put(`${firm.path}/roles/${target.id}/`, { permissions: ['member:list'] }))
  t.equal((await accept(raised.token)).status, 200, 'it is valid again when the role is lowered')
})

t.test('invitations that a policy allowed stay valid while the inviter is a member', async (t) => {
  const policy = { name: 'All invite', effect: 'allow', actions: ['invitation:create'] }
  const { id } = await expect(201, firm.owner.post('/api/v1/policies/', policy))
  const inviter = await firm.hire('member')
  t.equal((await inviter.post(path, { email: newAddress(), roles: ['admin'] })).status, 403)
  const [first, second] = [await invited({}, inviter), await invited({}, inviter)]
  t.match(await accept(first.token), { status: 200, body: { member: { roles: ['member'] } } })
  await expect(204, firm.owner.delete(`/api/v1/policies/${id}/`))
  t.equal((await inviter.post(path, { email: newAddress() })).status, 403, 'the inviter can no longer invite')
  t.equal((await accept(second.token)).status, 200, 'the earlier invitation is still valid')
})

t.test(
  'an invitation of a demoted inviter is valid for roles they can still give; of a removed inviter it is invalid',
  async (t) => {
    const demoted = await firm.hire('admin')
    const [high, low] = [await invited({ roles: ['admin'] }, demoted), await invited({}, demoted)]
    await expect(200, firm.owner.put(`${firm.path}/members/${demoted.memberId}/`, { roles: ['member'] }))
    t.match(await accept(high.token), invalid)
    t.equal((await accept(low.token)).status, 200)
    const changes: ((memberId: string) => Promise<unknown>)[] = [
      (id) => expect(200, firm.owner.put(`${firm.path}/members/${id}/`, { status: 'suspended' })),
      (id) => expect(204, firm.owner.delete(`${firm.path}/members/${id}/`)),
    ]
    for (const change of changes) {
      const admin = await firm.hire('admin')
      const { token, id } = await invited({}, admin)
      await change(admin.memberId)
      t.match(await accept(token), invalid)
      t.same(await typesAbout(id), ['tenant.invitation_created'], 'the attempt left no event')
    }
  },
)

t.test('nobody joins a tenant that does not accept the domain, is closed, or is deleted', async (t) => {
  const house = await foundFirm(service)
  const email = newAddress()
  await expect(201, house.owner.post(`${house.path}/invitations/`, { email }))
  const token = tokenIn(await service.mailTo(email, 'invited'))
  const settings = (allowed_email_domains: string[]) =>
    expect(200, house.owner.put(`${house.path}/`, { settings: { allowed_email_domains } }))
  await settings(['elsewhere.example'])
  const refusal = { status: 400, body: { errors: [{ field: 'email', code: 'email_domain_not_allowed' }] } }
  t.match(await accept(token), refusal)
  t.match(await house.owner.post(`${house.path}/invitations/`, { email: newAddress() }), refusal)
  await settings([])
  await expect(200, house.owner.post(`${house.path}/suspend/`))
  t.match(await accept(token), { status: 403, body: { code: 'tenant_suspended' } })
  await expect(200, house.owner.post(`${house.path}/archive/`))
  t.match(await accept(token), { status: 403, body: { code: 'tenant_archived' } })
  await expect(204, house.owner.delete(`${house.path}/`))
  t.match(await accept(token), invalid)
})

t.test('an invitation expires on the second, before the worker marks it', async (t) => {
  const { id, email, token } = await invited()
  const expired = { status: 400, body: { code: 'invitation_expired' } }
  service.advance(7 * 86_400_000 + 1_000)
  Object.assign(firm.owner, await service.logIn(firm.owner))
  await firm.owner.switchTo(firm.id)
  t.match(await accept(token), expired)
  t.match(
    await service.call('POST', '/api/v1/auth/register/', {
      body: { ...newAccount, email, invitation_token: token },
    }),
    invalid,
  )
  t.match((await firm.owner.get(`${path}${id}/`)).body, { status: 'expired' })
  t.match(await firm.owner.post(`${path}${id}/cancel/`), { status: 409, body: { current_state: 'expired' } })

  t.test('a new invitation to the address replaces an expired one and records its expiry', async (t) => {
    t.equal((await firm.owner.post(path, { email })).status, 201)
    t.same(await typesAbout(id), ['tenant.invitation_created', 'tenant.invitation_expired'])
    t.match(await firm.owner.post(`${path}${id}/resend/`), {
      status: 409,
      body: { code: 'invitation_pending' },
    })
  })

  t.test('workers record each expiry once, however many processes run', async (t) => {
    const due = await look(
      service,
      "select id from invitations where status = 'pending' and expires_at <= $1",
      [new Date(clock())],
    )
    t.ok(due.length > 0)
    const found = await Promise.all([1, 2, 3].map(() => expireInvitations(worker.db, clock())))
    t.equal(
      found.reduce((a, b) => a + b),
      due.length,
    )
    for (const row of due)
      t.equal((await typesAbout(row.id)).filter((type) => type === 'tenant.invitation_expired').length, 1)
    t.equal(await expireInvitations(worker.db, clock()), 0)
  })

  t.test('a resent invitation is pending, and its new token is valid', async (t) => {
    const [old] = await look(
      service,
      "select id, email from invitations where tenant_id = $1 and status = 'expired' and id <> $2 and send_count = 1",
      [firm.id, id],
    )
    const before = tokenIn(await service.mailTo(old.email, 'invited'))
    await expect(200, firm.owner.post(`${path}${old.id}/resend/`))
    t.match((await firm.owner.get(`${path}${old.id}/`)).body, { status: 'pending', send_count: 2 })
    let again = before
    while (again === before) again = tokenIn(await service.mailTo(old.email, 'invited'))
    t.match(await accept(before), invalid)
    t.equal((await accept(again)).status, 200)
  })
})

t.test('the limit of pending invitations holds for concurrent requests', async (t) => {
  const small = await startService(t, { env: { LIMIT_PENDING_INVITATIONS: '3' }, workers: false })
  const { owner, path: at } = await foundFirm(small)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => owner.post(`${at}/invitations/`, { email: `n${n}@example.com` })),
  )
  t.same(statuses(answers), [201, 201, 201, 409, 409, 409, 409, 409])
  const [{ id }] = (await owner.get(`${at}/invitations/`)).body.results
  await expect(200, owner.post(`${at}/invitations/${id}/cancel/`))
  t.equal((await owner.post(`${at}/invitations/`, { email: 'late@example.com' })).status, 201)
})
