import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Client, startService, tokenIn } from '../../helpers/service.ts'
import {
  attemptPasskey,
  originOf,
  softwareAuthenticator,
  verifyPasskey,
} from '../../identity/passkeys/software-passkey.ts'
import { eventsOf, expect, foundFirm, look, wrongCounts } from '../staff.ts'

const service = await startService(t)
const firm = await foundFirm(service)
const path = `${firm.path}/invitations/`
const day = 86_400_000
/** Moves the clock, which ends access tokens, and logs the owner in again. */
async function wait(ms: number, owner = firm.owner, tenantId = firm.id) {
  service.advance(ms)
  Object.assign(owner, await service.logIn(owner))
  await owner.switchTo(tenantId)
}

let people = 0
const newAddress = () => `guest${++people}.${process.pid}@example.com`

const invite = (body: Record<string, unknown>, by: Client = firm.owner) => by.post(path, body)
const tokenTo = async (email: string) => tokenIn(await service.mailTo(email, 'invited'))
const accept = (token: string, by?: Client, more: Record<string, unknown> = {}) =>
  service.call('POST', '/api/v1/invitations/accept/', { token: by?.access, body: { token, ...more } })
const newAccount = { password: 'a quiet harbour', first_name: 'New', last_name: 'Person' }
const ofInvitations = async (id: string) =>
  (await look(service, 'select type from events where subject = $1 order by id', [id])).map(
    ({ type }) => type,
  )

t.test('an invitation shows everything except its token, which only the mail contains', async (t) => {
  const email = newAddress()
  const made = await invite({ email: ` ${email.toUpperCase()} `, role: 'auditor', message: 'Do come!' })
  t.equal(made.status, 201)
  const { body } = made
  t.match(body, {
    email,
    roles: ['auditor'],
    department_id: null,
    status: 'pending',
    invited_by: { id: firm.owner.id, email: firm.owner.email },
    message: 'Do come!',
    expires_at: new Date(service.now() + 7 * day).toISOString(),
    accepted_at: null,
    accepted_by: null,
    send_count: 1,
  })
  const mail = await service.mailTo(email, 'invited')
  t.equal(
    mail.subject,
    'You are invited to an organisation at Bailiwick',
    'the subject does not contain the name that the owner chose',
  )
  t.match(mail.text, 'Do come!')
  const token = tokenIn(mail)
  t.notMatch(JSON.stringify(body), token)
  t.match(await firm.owner.get(`${path}${body.id}/`), { status: 200, body })
  t.match((await firm.owner.get(`${path}${body.id}/`)).headers.get('etag'), /^"\d+"$/)
  t.match((await firm.owner.get(path)).body, { count: 1, results: [body] })
  for (const table of ['invitations', 'events', 'outbox', 'audit_log', 'mails'])
    t.notMatch(JSON.stringify(await look(service, `select * from ${table}`)), token, table)
  t.same(await ofInvitations(body.id), ['tenant.invitation_created'])
})

t.test('an invalid invitation is refused by field', async (t) => {
  const email = newAddress()
  const cases: [Record<string, unknown>, string][] = [
    [{}, 'email'],
    [{ email: 'nobody' }, 'email'],
    [{ email, roles: [] }, 'roles'],
    [{ email, roles: ['no such'] }, 'roles'],
    [{ email, roles: 'member' }, 'roles'],
    [{ email, department_id: 'x' }, 'department_id'],
    [{ email, department_id: firm.id }, 'department_id'],
    [{ email, message: 'x'.repeat(1001) }, 'message'],
  ]
  for (const [body, field] of cases) {
    const answer = await invite(body)
    t.equal(answer.status, 400, JSON.stringify(body).slice(0, 60))
    t.equal(answer.body.errors[0].field, field)
  }
})

t.test('a new person signs up with the token, is verified, and gets no tenant of their own', async (t) => {
  const email = newAddress()
  const { body: made } = await invite({ email })
  const token = await tokenTo(email)
  t.match(await accept(token), { status: 400, body: { errors: [{ field: 'password' }] } })
  t.match(await accept(token, undefined, { password: 'short' }), { status: 400 })
  t.match(await accept(token, undefined, { ...newAccount, password: email }), { status: 400 })
  const joined = await accept(token, undefined, newAccount)
  t.equal(joined.status, 200)
  t.equal(joined.headers.get('cache-control'), 'no-store')
  t.match(joined.body, {
    invitation_id: made.id,
    tenant: { id: firm.id, name: 'Firm' },
    member: { email, roles: ['member'], status: 'active' },
    access: String,
    refresh: String,
  })
  const me = (await service.call('GET', '/api/v1/users/me/', { token: joined.body.access })).body
  t.match(me, { email, email_verified: true, first_name: 'New', current_tenant: { id: firm.id } })
  t.equal(me.memberships.length, 1)
  t.match((await firm.owner.get(`${path}${made.id}/`)).body, { status: 'accepted', accepted_by: me.id })
  t.same(await ofInvitations(made.id), ['tenant.invitation_created', 'tenant.invitation_accepted'])
  t.same(await ofInvitations(me.id), [
    'identity.user_created',
    'identity.email_verified',
    'identity.login_succeeded',
  ])
  t.match(await accept(token, undefined, newAccount), { status: 400, body: { code: 'invitation_invalid' } })
  t.match(await invite({ email }), { status: 409, body: { code: 'already_member' } })
})

t.test('a new person makes a passkey in place of a password, which is asked for next', async (t) => {
  const email = newAddress()
  await expect(201, invite({ email }))
  const token = await tokenTo(email)
  const begin = (of: string) =>
    service.call('POST', '/api/v1/invitations/accept/options/', { body: { token: of } })
  const invalid = { status: 400, body: { code: 'passkey_invalid' } }
  t.match(await begin(token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))), { status: 400 })
  const known = await service.signUp()
  await expect(201, invite({ email: known.email }))
  t.match(await begin(await tokenTo(known.email)), { status: 401 }, 'an address with an account')
  const authenticator = softwareAuthenticator(originOf(service))
  const ofOther = await expect(200, known.post('/api/v1/auth/passkeys/registration/', {}))
  t.match(await accept(token, undefined, { credential: authenticator.create(ofOther) }), invalid)
  const [first, second] = [await expect(200, begin(token)), await expect(200, begin(token))]
  t.equal(first.user.id, second.user.id, 'the account to come has one id')
  const credential = authenticator.create(first)
  t.match(await accept(token, undefined, { ...newAccount, credential }), {
    status: 400,
    body: { errors: [{ field: 'password' }] },
  })
  t.match(await accept(token, undefined, { credential }), invalid, 'its challenge is used')
  const made = authenticator.create(second)
  const joined = await accept(token, undefined, { credential: made, first_name: 'New' })
  t.match(joined, {
    status: 200,
    body: { tenant: { id: firm.id }, otp_required: true, methods: ['passkey'] },
  })
  t.notOk('access' in joined.body)
  const person = { email, password: newAccount.password }
  t.match(await service.call('POST', '/api/v1/auth/login/', { body: person }), { status: 401 })
  const shown = await expect(200, verifyPasskey(service, authenticator, joined.body.temporary_token))
  const own = await service.call('GET', '/api/v1/users/me/', { token: shown.access })
  t.match(own.body, { id: joined.body.member.user_id, email, email_verified: true, first_name: 'New' })
  t.match(await attemptPasskey(service, authenticator), { status: 200, body: { access: String } })
})

t.test('a logged-in person accepts with only the token, which verifies their address', async (t) => {
  const person = await service.signUp()
  await expect(201, invite({ email: person.email, roles: ['auditor', 'member'] }))
  const token = await tokenTo(person.email)
  t.match(await accept(token), { status: 401, body: { code: 'not_authenticated' } }, 'without a login')
  t.match(
    await accept(token, undefined, newAccount),
    { status: 401 },
    'also with the fields of a new account',
  )
  const dead = { ...person, access: `${person.access}x` }
  t.match(await accept(token, dead), { status: 401, body: { code: 'token_not_valid' } })
  const other = await service.signUp()
  t.match(await accept(token, other), { status: 403, body: { code: 'email_mismatch' } })
  t.match((await person.get('/api/v1/users/me/')).body, { email_verified: false })
  const joined = await accept(token, person)
  t.match(joined, { status: 200, body: { tenant: { id: firm.id }, member: { user_id: person.id } } })
  t.notOk('access' in joined.body)
  t.match((await person.get('/api/v1/users/me/')).body, { email_verified: true })
  await person.switchTo(firm.id)
  t.same(new Set((await person.get('/api/v1/users/me/')).body.roles), new Set(['auditor', 'member']))
})

t.test('a verified person sees the invitations to their address, an unverified one sees none', async (t) => {
  const person = await service.signUp()
  await expect(201, invite({ email: person.email }))
  const own = '/api/v1/users/me/invitations/'
  t.match((await person.get(own)).body, { count: 0, results: [] })
  const verify = tokenIn(await service.mailTo(person.email, 'Confirm'))
  await service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token: verify } })
  t.match((await person.get(own)).body, { count: 1, results: [{ tenant: { id: firm.id, name: 'Firm' } }] })
  t.equal((await firm.owner.get(own)).body.count, 0)
  await accept(await tokenTo(person.email), person)
  t.equal((await person.get(own)).body.count, 0)
})

t.test('a person accepts an invitation to their verified address without its token, once', async (t) => {
  const [person, other] = [await service.signUp(), await service.signUp()]
  await proveAddress(service, other)
  const { id } = await expect(201, invite({ email: person.email, role: 'auditor' }))
  const acceptOwn = (by: Client, of = id) => by.post(`/api/v1/users/me/invitations/${of}/accept/`)
  const unknown = { status: 404, body: { code: 'not_found' } }
  t.match(await acceptOwn(person), unknown, 'the address is not verified')
  t.match(await acceptOwn(other), unknown, 'of another person')
  t.equal((await firm.owner.get(`${path}${id}/`)).body.status, 'pending')
  await proveAddress(service, person)
  const [first, second] = await Promise.all([acceptOwn(person), acceptOwn(person)])
  const [joined, late] = first.status === 200 ? [first, second] : [second, first]
  t.match(joined, {
    status: 200,
    body: { invitation_id: id, tenant: { id: firm.id }, member: { user_id: person.id, roles: ['auditor'] } },
  })
  t.match(late, { status: 400, body: { code: 'invitation_invalid' } })
  t.match(await accept(await tokenTo(person.email), person), { status: 400 }, 'its token is used, too')
  t.same(await ofInvitations(id), ['tenant.invitation_created', 'tenant.invitation_accepted'])
  const { id: cancelled } = await expect(201, invite({ email: other.email }))
  await expect(200, firm.owner.post(`${path}${cancelled}/cancel/`))
  t.match(await acceptOwn(other, cancelled), { status: 400, body: { code: 'invitation_invalid' } })
})

t.test('registering with the token joins its tenant instead of creating a personal one', async (t) => {
  const email = newAddress()
  await expect(201, invite({ email }))
  const invitation_token = await tokenTo(email)
  const register = (more: Record<string, unknown>) =>
    service.call('POST', '/api/v1/auth/register/', {
      body: { ...newAccount, email, invitation_token, ...more },
    })
  t.match(await register({ email: newAddress() }), { status: 403, body: { code: 'email_mismatch' } })
  t.match(await register({ invitation_token: 'x' }), { status: 400, body: { code: 'invitation_invalid' } })
  t.match(await register({}), { status: 201, body: { email } })
  const person = await service.logIn({ email, password: newAccount.password })
  t.equal(person.tenantId, firm.id)
  const { body: me } = await person.get('/api/v1/users/me/')
  t.match(me, { email_verified: true, roles: ['member'] })
  t.equal(me.memberships.length, 1)
  t.match(
    await register({ email: newAddress() }),
    { status: 400, body: { code: 'invitation_invalid' } },
    'used',
  )
})

t.test(
  'an address has one pending invitation, and resending it invalidates the previous token',
  async (t) => {
    const email = newAddress()
    const { body: made } = await invite({ email })
    t.match(await invite({ email }), { status: 409, body: { code: 'invitation_pending' } })
    const first = await tokenTo(email)
    await wait(day)
    const resent = await firm.owner.post(`${path}${made.id}/resend/`)
    t.match(resent, {
      status: 200,
      body: { send_count: 2, status: 'pending', expires_at: new Date(service.now() + 7 * day).toISOString() },
    })
    let second = first
    while (second === first) second = await tokenTo(email)
    t.match(await accept(first, undefined, newAccount), { status: 400, body: { code: 'invitation_invalid' } })
    t.match(await accept(second, undefined, newAccount), { status: 200 })
    t.match(await firm.owner.post(`${path}${made.id}/resend/`), {
      status: 409,
      body: { code: 'invalid_state', current_state: 'accepted' },
    })
  },
)

t.test('a cancelled invitation cannot be used, and cancelling it again records no event', async (t) => {
  const email = newAddress()
  const { body: made } = await invite({ email })
  const token = await tokenTo(email)
  const cancel = () => firm.owner.post(`${path}${made.id}/cancel/`)
  t.match(await cancel(), { status: 200, body: { status: 'cancelled' } })
  t.match(await cancel(), { status: 200, body: { status: 'cancelled' } })
  t.same(await ofInvitations(made.id), ['tenant.invitation_created', 'tenant.invitation_cancelled'])
  t.match(await accept(token, undefined, newAccount), { status: 400, body: { code: 'invitation_invalid' } })
  t.match(await firm.owner.post(`${path}${made.id}/resend/`), { status: 409 })
  t.equal((await invite({ email })).status, 201, 'the address can be invited again')
})

t.test('what each role can do with invitations', async (t) => {
  const { body: made } = await invite({ email: newAddress() })
  const outsider = await service.signUp()
  for (const [role, list, create] of [
    ['auditor', 200, 403],
    ['member', 403, 403],
    ['admin', 200, 201],
  ] as const) {
    const person = await firm.hire(role)
    t.equal((await person.get(path)).status, list, role)
    t.equal((await person.get(`${path}${made.id}/`)).status, list, role)
    t.equal((await invite({ email: newAddress() }, person)).status, create, role)
    if (role === 'admin') continue
    t.match(await person.post(`${path}${made.id}/cancel/`), { status: 403 }, role)
    t.match(await person.post(`${path}${made.id}/resend/`), { status: 403 }, role)
  }
  t.equal((await outsider.post(`${path}${made.id}/cancel/`)).status, 404)
  t.equal((await firm.owner.post(`${path}${firm.id}/cancel/`)).status, 404)
})

t.test('a member who can no longer invite can still cancel their own invitations', async (t) => {
  const admin = await firm.hire('admin')
  const { body: own } = await invite({ email: newAddress() }, admin)
  const { body: others } = await invite({ email: newAddress() })
  await expect(200, firm.owner.put(`${firm.path}/members/${admin.memberId}/`, { roles: ['member'] }))
  t.equal((await admin.post(`${path}${others.id}/cancel/`)).status, 403)
  t.match(await admin.post(`${path}${own.id}/cancel/`), { status: 200, body: { status: 'cancelled' } })
})

t.test('a caller cannot invite with, or resend an invitation with, roles above their own', async (t) => {
  const admin = await firm.hire('admin')
  t.match(await invite({ email: newAddress(), roles: ['owner'] }, admin), {
    status: 403,
    body: { code: 'permission_denied' },
  })
  const { body: high } = await invite({ email: newAddress(), roles: ['owner'] })
  t.equal((await admin.post(`${path}${high.id}/resend/`)).status, 403)
  t.equal((await firm.owner.post(`${path}${high.id}/resend/`)).status, 200)
})

t.test('a list of invitations filters by their present status, expired ones included', async (t) => {
  const house = await foundFirm(service)
  const at = `${house.path}/invitations/`
  const emails = [newAddress(), newAddress()].sort()
  for (const email of emails) await expect(201, house.owner.post(at, { email }))
  const count = async (query: string) => (await house.owner.get(`${at}?${query}`)).body.count
  t.same(
    await Promise.all(['status=pending', 'status=expired', `email=${emails[0]}`, 'search=guest'].map(count)),
    [2, 0, 1, 2],
  )
  await wait(7 * day, house.owner, house.id)
  t.same(await Promise.all(['status=pending', 'status=expired', 'status=accepted'].map(count)), [0, 2, 0])
  t.equal((await house.owner.get(`${at}?status=gone`)).status, 400)
  t.equal((await house.owner.get(`${at}?ordering=-email`)).body.results[0].email, emails[1])
})

t.test('the events of a tenant name each change of its invitations', async (t) => {
  const types = await eventsOf(service, firm.id, 'tenant.invitation')
  for (const type of ['created', 'resent', 'cancelled', 'accepted'])
    t.ok(types.includes(`tenant.invitation_${type}`), type)
})

t.test('the counters of all tenants are right', async (t) => {
  t.same(await wrongCounts(service), [])
})
