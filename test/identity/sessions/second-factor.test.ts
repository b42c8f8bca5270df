import t from 'tap'
import { asSystem } from '../../../src/database/executor/transaction.ts'
import { endSessionsOf } from '../../../src/identity/sessions/store.ts'
import { claimsOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { look } from '../../tenancy/staff.ts'
import {
  attemptLogin,
  changeRows,
  codeAt,
  codeIn,
  enrol,
  requireMfa,
  startBeside,
} from '../otp/authenticator.ts'

const otp = '/api/v1/auth/otp'
const me = '/api/v1/users/me/'
const service = await sharedService(t)
const { call } = service
const required = { OTP_REQUIRED_FOR_LOGIN: 'true' }

/** A person with an authenticator app whose last code is used up. */
async function enrolled() {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  return { person, code: (steps = 0) => codeAt(secret, service.now(), steps) }
}

t.test('a person with an authenticator app is asked for a code after the right password', async (t) => {
  const { person, code } = await enrolled()
  const asked = await attemptLogin(service, person)
  t.equal(asked.status, 200)
  t.strictSame(Object.keys(asked.body).sort(), ['expires_in', 'methods', 'otp_required', 'temporary_token'])
  t.match(asked.body, { otp_required: true, expires_in: 300, methods: ['totp', 'email'] })
  t.equal(asked.headers.get('cache-control'), 'no-store')
  const token = asked.body.temporary_token
  t.match(claimsOf(token), { token_type: 'otp_pending', tenant_id: person.tenantId })
  t.match(await call('GET', me, { token }), { status: 401, body: { code: 'otp_required' } })
  const verified = await call('POST', `${otp}/verify/`, { token, body: { code: code() } })
  t.match(verified, { status: 200, body: { verified: true, device_type: 'totp' } })
  t.match(claimsOf(verified.body.access), { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] })
  t.match(await call('GET', me, { token: verified.body.access }), { status: 200 })
  t.match(await call('POST', '/api/v1/auth/refresh/', { body: { refresh: verified.body.refresh } }), {
    status: 200,
  })
  t.match(await call('POST', `${otp}/verify/`, { token, body: { code: code(1) } }), {
    status: 401,
    body: { code: 'token_not_valid' },
  })
})

t.test('recovery codes are offered while some are left, and complete a sign-in', async (t) => {
  const { person } = await enrolled()
  const { body } = await person.post(`${otp}/static/generate/`)
  const asked = await attemptLogin(service, person)
  t.strictSame(asked.body.methods, ['totp', 'email', 'static'])
  const token = asked.body.temporary_token
  const verified = await call('POST', `${otp}/verify/`, { token, body: { code: body.codes[0] } })
  t.match(claimsOf(verified.body.access), { acr: 'aal2', amr: ['pwd', 'rc', 'mfa'] })
})

t.test(
  'a temporary token ends after 300 s or with its person’s sessions, and names its tenant',
  async (t) => {
    const { person, code } = await enrolled()
    const verify = (token: string, steps = 0) =>
      call('POST', `${otp}/verify/`, { token, body: { code: code(steps) } })
    const dead = { status: 401, body: { code: 'token_not_valid' } }
    const late = (await attemptLogin(service, person)).body.temporary_token
    service.advance(299_000)
    t.match(await call('POST', `${otp}/email/send/`, { token: late }), { status: 200 })
    service.advance(1_000)
    t.match(await verify(late), dead)
    const ended = (await attemptLogin(service, person)).body.temporary_token
    await asSystem(service.deps.db, 'a test', (tx) =>
      endSessionsOf(tx, { userId: person.id, exceptId: null, reason: 'password', at: service.now() }),
    )
    t.match(await verify(ended), dead)
  },
)

t.test(
  'a person without a demanded second factor signs in by password, and steps up on demand',
  async (t) => {
    const url = await startBeside(t, service, { OTP_REQUIRED_WHEN_ENROLLED: 'false' })
    const { person, code } = await enrolled()
    const { body } = await attemptLogin(service, person, { url })
    t.match(claimsOf(body.access), { acr: 'aal1', amr: ['pwd'] })
    const generate = () => call('POST', `${url}${otp}/static/generate/`, { token: body.access })
    t.match(await generate(), { status: 401, body: { code: 'insufficient_user_authentication' } })
    const verified = await call('POST', `${url}${otp}/verify/`, {
      token: body.access,
      body: { code: code() },
    })
    t.match(verified, { status: 200, body: { access: undefined, refresh: undefined } })
    t.match(await generate(), { status: 200 })
  },
)

t.test('if every login needs a second factor, a new person shows a mailed code', async (t) => {
  const url = await startBeside(t, service, required)
  const person = await service.register()
  const asked = await attemptLogin(service, person, { url })
  t.match(asked.body, { otp_required: true, methods: ['email'] })
  const token = asked.body.temporary_token
  await call('POST', `${url}${otp}/email/send/`, { token })
  const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
  const verified = await call('POST', `${url}${otp}/verify/`, { token, body: { code } })
  t.match(verified.body, { verified: true, device_type: 'email', access: String })
  t.match(claimsOf(verified.body.access), { acr: 'aal2', amr: ['pwd', 'email', 'mfa'] })
  t.match((await call('GET', me, { token: verified.body.access })).body, { email_verified: true })
  const again = (await attemptLogin(service, person, { url })).body.temporary_token
  t.match(
    await call('POST', `${url}${otp}/totp/setup/`, { token: again }),
    { status: 401, body: { code: 'otp_required' } },
    'a person with a device cannot enrol another by password alone',
  )
})

t.test('a new person can set up an authenticator app instead, which completes the sign-in', async (t) => {
  const url = await startBeside(t, service, required)
  const person = await service.register()
  const token = (await attemptLogin(service, person, { url })).body.temporary_token
  const setup = await call('POST', `${url}${otp}/totp/setup/`, { token })
  const code = codeAt(setup.body.secret, service.now())
  const confirmed = await call('POST', `${url}${otp}/totp/confirm/`, { token, body: { code } })
  t.match(confirmed, { status: 200, body: { confirmed: true, access: String, refresh: String } })
  t.match(claimsOf(confirmed.body.access), { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] })
  t.match(await call('POST', `${url}${otp}/totp/confirm/`, { token, body: { code } }), { status: 401 })
  const next = (await attemptLogin(service, person, { url })).body
  t.strictSame(next.methods, ['totp', 'email'])
  t.match(
    await call('POST', `${url}${otp}/verify/`, { token: next.temporary_token, body: { code } }),
    { status: 400, body: { verified: false } },
    'the time step that completed the sign-in is used up',
  )
})

t.test('a tenant that requires a second factor asks at login, switch and refresh', async (t) => {
  const { person, code } = await enrolled()
  const url = await startBeside(t, service, { OTP_REQUIRED_WHEN_ENROLLED: 'false' })
  const plain = (await attemptLogin(service, person, { url })).body
  const { body: tenant } = await person.post('/api/v1/tenants/', { name: 'Strict' })
  await requireMfa(service, tenant.id)

  const login = await attemptLogin(service, person, { url, tenant_id: tenant.id })
  t.match(login.body, { otp_required: true })

  const body = { tenant_id: tenant.id }
  const asked = await call('POST', `${url}/api/v1/auth/switch-tenant/`, { token: plain.access, body })
  t.match(asked, { status: 401, body: { code: 'otp_required', temporary_token: String, expires_in: 300 } })
  t.match(asked.headers.get('www-authenticate'), /^Bearer/)
  t.match(asked.headers.get('cache-control'), 'no-store')
  const token = asked.body.temporary_token
  const verified = await call('POST', `${url}${otp}/verify/`, { token, body: { code: code() } })
  const claims = claimsOf(verified.body.access)
  t.match(claims, { tenant_id: tenant.id, acr: 'aal2', sid: claimsOf(plain.access).sid })

  const { refresh: rotated } = (await attemptLogin(service, person, { url, tenant_id: person.tenantId })).body
  const renewal = await call('POST', `${url}/api/v1/auth/refresh/`, { body: { refresh: rotated } })
  const other = renewal.body
  await requireMfa(service, person.tenantId)
  t.match(
    await call('GET', `${url}${me}`, { token: other.access }),
    { status: 200 },
    'a token stays valid until it expires',
  )
  const refresh = (refresh: string) => call('POST', `${url}/api/v1/auth/refresh/`, { body: { refresh } })
  const waiting = async () =>
    (await look(service, `select from pending_sessions where user_id = '${person.id}'`)).length
  const before = await waiting()
  t.match(await refresh(rotated), { status: 401, body: { code: 'token_not_valid' } })
  t.equal(await waiting(), before, 'a token that was used before starts no sign-in')
  const refused = await refresh(other.refresh)
  t.match(refused, { status: 401, body: { code: 'otp_required', temporary_token: String } })
  const pending = refused.body.temporary_token
  const entered = await call('POST', `${url}${otp}/verify/`, { token: pending, body: { code: code(1) } })
  t.match(await refresh(entered.body.refresh), { status: 200 })
  t.match(
    await refresh(other.refresh),
    { status: 401, body: { code: 'otp_required' } },
    'the refusal did not use the token up, and its chain has shown no factor',
  )
})

t.test(
  'a rotated refresh token gets no temporary token, and ends the session after the grace time',
  async (t) => {
    const person = await service.signUp()
    const refresh = (refresh: string) => call('POST', '/api/v1/auth/refresh/', { body: { refresh } })
    const old = person.refresh
    await refresh(old)
    await requireMfa(service, person.tenantId)
    t.match(await refresh(old), { status: 401, body: { code: 'token_not_valid' } })
    service.advance(11_000)
    t.match(await refresh(old), { status: 401, body: { code: 'session_revoked' } })
  },
)

t.test('switching a channel off weakens no account', async (t) => {
  const { person } = await enrolled()
  const { body } = await person.post(`${otp}/static/generate/`)
  const other = await enrolled()
  const noTotp = await startBeside(t, service, { OTP_TOTP_ENABLED: 'false' })
  t.strictSame((await attemptLogin(service, person, { url: noTotp })).body.methods, ['email', 'static'])
  const url = await startBeside(t, service, { OTP_TOTP_ENABLED: 'false', OTP_EMAIL_ENABLED: 'false' })
  t.strictSame((await attemptLogin(service, person, { url })).body.methods, ['static'], 'codes are left')
  t.match(await attemptLogin(service, other.person, { url }), {
    status: 403,
    body: { code: 'channel_disabled' },
  })
  t.match(
    await attemptLogin(service, { ...other.person, password: 'not the one' }, { url }),
    { status: 401, body: { code: 'invalid_credentials' } },
    'only after the right password',
  )
  t.equal(body.count, 10)
  const off = await startBeside(t, service, { OTP_ENABLED: 'false' })
  const plain = await attemptLogin(service, other.person, { url: off })
  t.match(claimsOf(plain.body.access), { acr: 'aal1' })
  t.match((await call('GET', `${off}${me}`, { token: plain.body.access })).body, { mfa_enabled: false })
})

t.test('changes between password and code take effect', async (t) => {
  const changes = {
    'the person is deactivated': ['users set is_active = false', 'id', 401, 'session_revoked'],
    'the membership is suspended': [
      "memberships set status = 'suspended'",
      'user_id',
      403,
      'no_active_membership',
    ],
  } as const
  for (const [what, [change, column, status, code]] of Object.entries(changes)) {
    const { person, code: shown } = await enrolled()
    const token = (await attemptLogin(service, person)).body.temporary_token
    await changeRows(service, `update ${change} where ${column} = '${person.id}'`)
    t.match(
      await call('POST', `${otp}/verify/`, { token, body: { code: shown() } }),
      { status, body: { code } },
      what,
    )
  }
  const owner = await enrolled()
  const guest = await enrolled()
  const added = await owner.person.post(`/api/v1/tenants/${owner.person.tenantId}/members/`, {
    user_id: guest.person.id,
  })
  t.equal(added.status, 201)
  const pending = async ({ person }: typeof guest) =>
    (await attemptLogin(service, person, { tenant_id: owner.person.tenantId })).body.temporary_token
  const tokens = { guest: await pending(guest), owner: await pending(owner) }
  await changeRows(service, `update tenants set status = 'suspended' where id = '${owner.person.tenantId}'`)
  t.match(
    await call('POST', `${otp}/verify/`, { token: tokens.guest, body: { code: guest.code() } }),
    { status: 403, body: { code: 'tenant_suspended' } },
    'the tenant is suspended: members cannot enter',
  )
  t.match(
    await call('POST', `${otp}/verify/`, { token: tokens.owner, body: { code: owner.code() } }),
    { status: 200, body: { access: String } },
    'and owners can',
  )
})
