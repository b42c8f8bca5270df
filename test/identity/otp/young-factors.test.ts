import t from 'tap'
import { type Client, claimsOf, startService, tokenIn } from '../../helpers/service.ts'
import { expect } from '../../tenancy/staff.ts'
import { attemptLogin, changeRows, codeAt, codeIn, enrol, longProven, requireMfa } from './authenticator.ts'

// What a thief with a password can do to the owner's second factors, and how the owner undoes it.

const service = await startService(t)
const { call } = service
const otp = '/api/v1/auth/otp'
const me = '/api/v1/users/me/'
const hour = 3_600_000
const switchTo = '/api/v1/auth/switch-tenant/'
const refused = { status: 401, body: { code: 'otp_required', temporary_token: String } }
const dead = { status: 400, body: { code: 'token_invalid' } }

/** A freshly logged-in person whose address was proved more than a day ago, and their tenant that requires MFA. */
async function settled() {
  const person = await service.logIn(await longProven(service))
  const strict = await expect(201, person.post('/api/v1/tenants/', { name: 'Strict' }))
  await requireMfa(service, strict.id)
  return { person, strict: strict.id as string }
}

const verify = (token: string, code: string) => call('POST', `${otp}/verify/`, { token, body: { code } })
const showMailed = async (person: Client, token: string) => {
  // Otherwise an earlier code could be taken for this one, which is still being sent.
  await changeRows(
    service,
    `delete from captured_mails where recipient = '${person.email}' and subject ~ 'sign-in code'`,
  )
  await expect(200, call('POST', `${otp}/email/send/`, { token }))
  return verify(token, codeIn(await service.mailTo(person.email, 'sign-in code')))
}
const device = async (person: Client, type: string) =>
  (await expect(200, person.get(`${otp}/devices/`))).results.find((d: { type: string }) => d.type === type)
const sessionOf = async (person: Client) =>
  (await expect(200, person.get('/api/v1/auth/sessions/'))).results.find(
    (s: { current: boolean }) => s.current,
  )
const undo = (token: string) => call('POST', `${otp}/undo/`, { body: { token } })

t.test('recovery codes made with only the password raise no session and open no strict tenant', async (t) => {
  const { person, strict } = await settled()
  const { codes } = await expect(200, person.post(`${otp}/static/generate/`))
  const from = new Date(service.now() + 24 * hour).toISOString()
  t.match(await person.post(`${otp}/verify/`, { code: codes[0] }), {
    status: 200,
    body: { verified: true, device_type: 'static', counts_from: from, access: undefined },
  })
  t.match(await sessionOf(person), { acr: 'aal1', amr: ['pwd', 'rc'] })
  t.match(await device(person, 'static'), { counts_from: from, remaining_codes: 9 })

  const asked = await person.post(switchTo, { tenant_id: strict })
  t.match(asked, { ...refused, body: { methods: ['email'] } })
  const token = asked.body.temporary_token
  t.match(await verify(token, codes[1]), { status: 200, body: { verified: true, access: undefined } })
  const entered = await showMailed(person, token)
  t.match(entered, { status: 200, body: { verified: true, counts_from: null, access: String } })
  t.match(claimsOf(entered.body.access), { acr: 'aal2', tenant_id: strict })
  t.match(await device(person, 'static'), { counts_from: null }, 'proved in the sign-in that showed them')
})

t.test('an app set up with only the password is demanded at login, and counts a day later', async (t) => {
  const { person, strict } = await settled()
  const setup = await expect(200, person.post(`${otp}/totp/setup/`))
  const code = (steps = 0) => codeAt(setup.secret, service.now(), steps)
  const confirmed = await person.post(`${otp}/totp/confirm/`, { code: code() })
  t.match(confirmed, { status: 200, body: { confirmed: true, device: { counts_from: String } } })
  t.match(await sessionOf(person), { acr: 'aal1' })
  t.match((await person.get(me)).body, { mfa_enabled: true })
  t.match(await person.post(switchTo, { tenant_id: strict }), refused)
  t.match(await person.post(`${otp}/static/generate/`), {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal2' },
  })

  const asked = (await attemptLogin(service, person)).body
  t.strictSame(asked.methods, ['totp', 'email'])
  const entered = await verify(asked.temporary_token, code())
  t.match(entered, { status: 200, body: { verified: true, counts_from: String, access: String } })
  t.match(claimsOf(entered.body.access), { acr: 'aal1', amr: ['pwd', 'otp'], tenant_id: person.tenantId })

  service.advance(24 * hour)
  const later = (await attemptLogin(service, person, { tenant_id: strict })).body
  t.strictSame(later.methods, ['totp', 'email'])
  t.match(await verify(later.temporary_token, code()), {
    body: { counts_from: null, access: String },
  })
})

t.test('a young factor satisfies no step_up, and counts once its session shows a mailed code', async (t) => {
  const { person } = await settled()
  await expect(
    201,
    person.post('/api/v1/policies/', {
      name: 'Careful',
      effect: 'allow',
      actions: ['department:create'],
      obligations: [{ type: 'step_up' }],
    }),
  )
  const found = () => person.post(`/api/v1/tenants/${person.tenantId}/departments/`, { name: 'Mill' })
  const { secret } = await enrol(service, person)
  t.match(await person.post(`${otp}/verify/`, { code: codeAt(secret, service.now()) }), { status: 200 })
  t.match(await found(), { status: 401, body: { code: 'insufficient_user_authentication' } })
  t.match(await showMailed(person, person.access), { status: 200, body: { counts_from: null } })
  t.equal((await found()).status, 201)
  t.match(await device(person, 'totp'), { counts_from: null })
  t.match(await sessionOf(person), { acr: 'aal2', amr: ['pwd', 'otp', 'email', 'mfa'] })
})

t.test('a code that the owner shows in another session does not prove a thief’s factor', async (t) => {
  const { person: owner, strict } = await settled()
  const thief = await service.logIn(owner)
  const { codes } = await expect(200, thief.post(`${otp}/static/generate/`))
  t.match(await showMailed(owner, owner.access), { status: 200, body: { counts_from: null } })
  t.match(await device(owner, 'static'), { counts_from: String })

  const { secret } = await enrol(service, owner)
  t.match(
    await device(owner, 'totp'),
    { counts_from: null },
    'enrolled in a session with a factor that counts',
  )
  service.advance(60_000)
  const asked = (await attemptLogin(service, owner)).body
  t.strictSame(asked.methods, ['totp', 'email'], 'young codes do not replace an app that counts')
  t.match(await verify(asked.temporary_token, codes[0]), { body: { verified: true, access: undefined } })
  t.match(await thief.post(switchTo, { tenant_id: strict }), refused)
  t.match(await verify(asked.temporary_token, codeAt(secret, service.now())), {
    body: { counts_from: null, access: String },
  })
})

t.test('the mailed link removes a young factor and ends all sessions, once', async (t) => {
  const { person } = await settled()
  const { deviceId } = await enrol(service, person)
  const mail = await service.mailTo(person.email, 'factor was added')
  t.match(mail.text, `${service.url}/undo-second-factor?token=`)
  t.equal((await fetch(/http\S+/.exec(mail.text)![0])).status, 200, 'its page uses nothing up')
  const token = tokenIn(mail)
  const others = [tokenIn(await service.mailTo(person.email, 'Confirm')), 'x', `${token}x`]
  for (const other of others) t.match(await undo(other), dead)
  t.match(await call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }), dead)

  const waiting = (await attemptLogin(service, person)).body.temporary_token
  const answers = await Promise.all(Array.from({ length: 50 }, () => undo(token)))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  for (const answer of answers.filter(({ status }) => status !== 200)) t.match(answer, dead)
  t.match(await person.get(me), { status: 401, body: { code: 'session_revoked' } })
  t.match(await call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } }), { status: 401 })
  t.match(await call('POST', `${otp}/email/send/`, { token: waiting }), { status: 401 })
  const back = await service.logIn(person)
  t.match((await back.get(me)).body, { mfa_enabled: false })
  await service.mailTo(person.email, 'factor was removed')
  const events = await changeRows(
    service,
    `select type from events where subject = '${person.id}' and type ~ 'device_deleted|revoked' order by type`,
  )
  t.match(events, [{ type: 'identity.otp_device_deleted' }, { type: 'identity.session_revoked' }])
  const audit = await expect(200, back.get('/api/v1/audit-log/?action=otp_device:undo'))
  t.match(audit.results, [{ actor: { id: person.id }, target: { type: 'otp_device', id: deviceId } }])
})

t.test('the link works until the factor counts, while the factor exists and is unproven', async (t) => {
  const linkOf = async ({ email }: Client) => tokenIn(await service.mailTo(email, 'factor was added'))
  const { person: proven } = await settled()
  await expect(200, proven.post(`${otp}/static/generate/`))
  await showMailed(proven, proven.access)
  t.match(await undo(await linkOf(proven)), dead, 'a mailed code proved it')
  const { person: gone } = await settled()
  const { device_id: set } = await expect(200, gone.post(`${otp}/static/generate/`))
  await expect(204, gone.delete(`${otp}/devices/${set}/`))
  t.match(await undo(await linkOf(gone)), dead, 'it was deleted')
  const [{ person: early }, { person: late }] = [await settled(), await settled()]
  for (const person of [early, late]) await enrol(service, await service.logIn(person))
  service.advance(23 * hour)
  t.equal((await undo(await linkOf(early))).status, 200)
  service.advance(hour)
  t.match(await undo(await linkOf(late)), { status: 400, body: { code: 'token_expired' } })
})

t.test('enrolling needs a sign-in in the last 10 minutes, or the password', async (t) => {
  const person = await service.signUp()
  const stale = {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal1', max_age: 600 },
  }
  const [quick, other] = [await service.signUp(), await service.logIn(person)]
  service.advance(60_000)
  const setUp = async (client: Client) => (await expect(200, client.post(`${otp}/totp/setup/`))).secret
  const secrets = { [person.id]: await setUp(person), [quick.id]: await setUp(quick) }
  const confirm = (client: Client, body = {}) =>
    client.post(`${otp}/totp/confirm/`, { code: codeAt(secrets[client.id], service.now()), ...body })
  service.advance(550_000)
  for (const path of ['totp/setup', 'static/generate']) t.match(await person.post(`${otp}/${path}/`), stale)
  const wrong = await person.post(`${otp}/static/generate/`, { current_password: 'not this one' })
  t.match(wrong, { status: 400, body: { current_password: [String] } })
  const { password: current_password } = person
  t.equal((await person.post(`${otp}/static/generate/`, { current_password })).status, 200)

  t.match(await confirm(other), stale, 'another session set it up')
  t.equal((await confirm(quick)).status, 200, 'a set-up that began in time')
  service.advance(60_000)
  t.match(await confirm(person), stale, 'set up more than 10 minutes ago')
  t.match(await confirm(person, { current_password }), {
    status: 200,
    body: { confirmed: true, device: { counts_from: null } },
  })
  t.match(await sessionOf(person), { acr: 'aal2' }, 'an account at most a day old has no young factors')
})

t.test('with a temporary token an app can be set up only if mailed codes are not available', async (t) => {
  const { person, strict } = await settled()
  const { results } = await expect(200, person.get(`${otp}/devices/`))
  await expect(204, person.delete(`${otp}/devices/${results[0].id}/`))
  const { temporary_token: token } = (await attemptLogin(service, person, { tenant_id: strict })).body
  t.match(await call('POST', `${otp}/totp/setup/`, { token }), {
    status: 401,
    body: { code: 'otp_required' },
  })
})

const password = 'another quiet harbour'

/** Resets the password by mail; returns the used token. */
async function resetByMail({ email }: { email: string }): Promise<void> {
  await expect(200, call('POST', '/api/v1/auth/password/reset/', { body: { email } }))
  const token = tokenIn(await service.mailTo(email, 'Reset your'))
  await expect(200, call('POST', '/api/v1/auth/password/reset/confirm/', { body: { token, password } }))
}

t.test('a mailbox alone does not bypass an app: after a reset, mailed codes count a day later', async (t) => {
  const { person } = await settled()
  t.match(await showMailed(person, person.access), { status: 200 })
  const { secret } = await enrol(service, person)
  await resetByMail(person)
  const reader = { ...person, password }
  const asked = (await attemptLogin(service, reader)).body
  t.strictSame(asked.methods, ['totp'])
  t.match(await showMailed(person, asked.temporary_token), {
    status: 200,
    body: { verified: true, device_type: 'email', counts_from: String, access: undefined },
  })
  service.advance(60_000)
  const entered = await verify(asked.temporary_token, codeAt(secret, service.now()))
  t.match(entered, { body: { counts_from: null, access: String } }, 'the owner has the app')
  service.advance(24 * hour)
  const later = (await attemptLogin(service, reader)).body
  t.strictSame(later.methods, ['totp', 'email'])
  t.match(await showMailed(person, later.temporary_token), { body: { counts_from: null, access: String } })
})

t.test('a person with no factor, or only a thief’s young one, can still use mailed codes', async (t) => {
  const { person, strict } = await settled()
  await enrol(service, person)
  await resetByMail(person)
  const asked = (await attemptLogin(service, { ...person, password }, { tenant_id: strict })).body
  t.match(await showMailed(person, asked.temporary_token), { body: { counts_from: null, access: String } })
})

t.test(
  'a reset of an account that was never verified removes a squatter’s factors and sign-in places',
  async (t) => {
    const squatter = await service.signUp()
    await enrol(service, squatter)
    await expect(200, squatter.post(`${otp}/static/generate/`))
    await resetByMail(squatter)
    const owner = await service.logIn({ ...squatter, password })
    t.match((await owner.get(me)).body, { email_verified: true, mfa_enabled: false })
    t.match((await owner.get(`${otp}/devices/`)).body.results, [{ type: 'email' }])
    const places = await changeRows(service, `select * from sign_in_places where user_id = '${owner.id}'`)
    t.equal(places.length, 1, 'only the owner’s present sign-in')
    t.match(await squatter.get(me), { status: 401 })
  },
)
