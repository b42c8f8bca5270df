import t from 'tap'
import { readConfig } from '../../../src/settings/config.ts'
import { proveAddress } from '../../helpers/prove-address.ts'
import { claimsOf, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { attemptLogin, changeRows, longProven, requireMfa, startBeside } from '../otp/authenticator.ts'
import {
  attemptPasskey,
  originOf,
  registerPasskey,
  signInOptions,
  softwareAuthenticator,
  strengthOf,
  verifyPasskey,
} from './software-passkey.ts'

const api = '/api/v1/auth/passkeys'
const service = await sharedService(t)
const { call } = service

t.test('a passkey signs a person in without a password, to aal2, and a refresh keeps that', async (t) => {
  const person = await service.signUp()
  const { authenticator, passkey } = await registerPasskey(service, person)
  t.match(passkey, { name: 'Laptop', transports: ['usb'], backed_up: true, last_used_at: null })
  t.match((await person.get('/api/v1/users/me/')).body, { mfa_enabled: true })
  const signedIn = await attemptPasskey(service, authenticator)
  t.match(signedIn, { status: 200, headers: { get: Function } })
  t.equal(signedIn.headers.get('cache-control'), 'no-store')
  t.same(strengthOf(signedIn), { acr: 'aal2', amr: ['pop', 'user', 'mfa'] })
  t.equal(claimsOf(signedIn.body.access).sub, person.id)
  const refreshed = await call('POST', '/api/v1/auth/refresh/', { body: { refresh: signedIn.body.refresh } })
  t.same(strengthOf(refreshed), { acr: 'aal2', amr: ['pop', 'user', 'mfa'] })
  await requireMfa(service, person.tenantId)
  t.equal(
    (await attemptPasskey(service, authenticator)).status,
    200,
    'a tenant that requires MFA asks for nothing',
  )
  const { results } = (await call('GET', `${api}/`, { token: signedIn.body.access })).body
  t.match(results, [{ id: passkey.id, last_used_at: String }])
  t.match((await call('GET', '/api/v1/auth/otp/devices/', { token: signedIn.body.access })).body.results, [
    { type: 'passkey', name: 'Laptop', is_confirmed: true, counts_from: null, remaining_codes: null },
  ])
})

t.test('the options name the relying party of the settings, whatever Host says', async (t) => {
  const options = await signInOptions(service)
  t.match(options, {
    rpId: 'localhost',
    userVerification: 'required',
    allowCredentials: [],
    timeout: 300_000,
  })
  const elsewhere = await call('POST', `${api}/login/options/`, { headers: { host: 'evil.example' } })
  t.equal(elsewhere.body.rpId, 'localhost')
  const person = await service.signUp()
  t.match((await person.post(`${api}/registration/`, {})).body, {
    rp: { id: 'localhost', name: 'Bailiwick' },
    attestation: 'none',
    pubKeyCredParams: [{ alg: -8 }, { alg: -7 }, { alg: -257 }],
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    excludeCredentials: [],
  })
})

t.test('after the password a passkey is a second factor, and it raises a session', async (t) => {
  const person = await service.signUp()
  const { authenticator, passkey } = await registerPasskey(service, person)
  t.match(await person.post(`${api}/registration/`, {}), {
    status: 401,
    body: { code: 'insufficient_user_authentication' },
  })
  t.match(await verifyPasskey(service, authenticator, person.access), {
    status: 200,
    body: {
      verified: true,
      device_type: 'passkey',
      device_id: passkey.id,
      counts_from: null,
      access: undefined,
    },
  })
  const again = await person.post(`${api}/registration/`, {})
  t.match(again, { status: 200, body: { excludeCredentials: [{ transports: ['usb'] }] } })
  const asked = await attemptLogin(service, person)
  t.match(asked.body, { otp_required: true, methods: ['passkey', 'email'] })
  const token = asked.body.temporary_token
  const another = await call('POST', `${api}/registration/`, { token, body: {} })
  t.match(another, { status: 401, body: { code: 'otp_required' } }, 'none is added before one is shown')
  const code = await call('POST', '/api/v1/auth/otp/verify/', {
    token,
    body: { code: '1', device_type: 'passkey' },
  })
  t.match(code, { status: 400, body: { verified: false, errors: [{ field: 'device_type' }] } })
  const verified = await verifyPasskey(service, authenticator, token)
  t.equal(verified.status, 200)
  t.same(strengthOf(verified), { acr: 'aal2', amr: ['pwd', 'pop', 'mfa'] })
})

t.test('a person is told of each change; a rename and a deletion are recorded', async (t) => {
  const person = await service.signUp()
  await proveAddress(service, person)
  const { authenticator, passkey } = await registerPasskey(service, person)
  t.match(await service.mailTo(person.email, 'A passkey can now be used'), { subject: /was added/ })
  const path = `${api}/${passkey.id}/`
  for (const name of ['Old laptop', 'Old laptop'])
    t.match(await person.patch(path, { name }), { status: 200, body: { id: passkey.id, name } })
  t.match(await person.patch(path, { name: ' ' }), { status: 400, body: { name: [String] } })
  t.match(await service.mailTo(person.email, 'Old laptop'), { text: /“Laptop”/ })
  const stranger = await service.signUp()
  t.equal((await stranger.patch(path, { name: 'Mine' })).status, 404)
  t.equal((await stranger.delete(path)).status, 404)
  t.match(await person.delete(path), { status: 401, body: { code: 'insufficient_user_authentication' } })
  await verifyPasskey(service, authenticator, person.access)
  await requireMfa(service, person.tenantId)
  t.match(await person.delete(path), { status: 409, body: { code: 'last_factor' } })
  const second = await registerPasskey(service, person, { name: 'Phone' })
  t.equal((await person.delete(path)).status, 204)
  t.match(await service.mailTo(person.email, 'A passkey can no longer'), { subject: /was removed/ })
  t.equal((await person.delete(path)).status, 404)
  await requireMfa(service, person.tenantId, false)
  t.equal((await person.delete(`/api/v1/auth/otp/devices/${second.passkey.id}/`)).status, 204)
  t.match((await person.get('/api/v1/users/me/')).body, { mfa_enabled: false })
  const { results } = (await person.get('/api/v1/audit-log/?page_size=100')).body
  const actions = results.map(({ action }: { action: string }) => action)
  t.same(
    actions.filter((action: string) => action.startsWith('passkey:')).reverse(),
    ['create', 'update', 'verify', 'create', 'delete', 'delete'].map((verb) => `passkey:${verb}`),
  )
  const events = await changeRows(
    service,
    `select type, data from events where subject in ('${person.id}', '${passkey.id}') and type like 'identity.passkey%' order by id`,
  )
  const data = { user_id: person.id, passkey_id: passkey.id }
  t.match(events, [
    { type: 'identity.passkey_registered', data },
    { type: 'identity.passkey_renamed', data },
    { type: 'identity.passkey_deleted', data },
    { type: 'identity.passkey_deleted', data: { passkey_id: second.passkey.id } },
  ])
})

t.test('a passkey of a password alone is young: it signs in to aal1, and its mail removes it', async (t) => {
  const person = await service.logIn(await longProven(service))
  const { authenticator, passkey } = await registerPasskey(service, person)
  const signedIn = await attemptPasskey(service, authenticator)
  t.same(strengthOf(signedIn), { acr: 'aal1', amr: ['pop', 'user'] })
  t.match((await call('GET', '/api/v1/auth/otp/devices/', { token: signedIn.body.access })).body.results, [
    { type: 'email' },
    { type: 'passkey', counts_from: String },
  ])
  await requireMfa(service, person.tenantId)
  const asked = await attemptPasskey(service, authenticator)
  t.match(asked, { status: 200, body: { otp_required: true, methods: ['email'], access: undefined } })
  const token = tokenIn(await service.mailTo(person.email, 'A passkey can now be used'))
  t.equal((await call('POST', '/api/v1/auth/otp/undo/', { body: { token } })).status, 200)
  t.match(await attemptPasskey(service, authenticator), { status: 400, body: { code: 'passkey_invalid' } })
  t.equal((await person.get('/api/v1/users/me/')).status, 401, 'the sessions are over')
  t.match(
    await changeRows(
      service,
      `select action from audit_log where target_id = '${passkey.id}' order by id desc limit 1`,
    ),
    [{ action: 'passkey:undo' }],
  )
})

t.test('a factor that counts, shown in the sign-in of a young passkey, makes it count', async (t) => {
  const person = await service.logIn(await longProven(service))
  const { authenticator } = await registerPasskey(service, person)
  const young = await attemptPasskey(service, authenticator)
  t.match(strengthOf(young), { acr: 'aal1' })
  const token = young.body.access
  await call('POST', '/api/v1/auth/otp/email/send/', { token })
  const [code] = /^\d{6}$/m.exec((await service.mailTo(person.email, 'sign-in code')).text)!
  t.equal((await call('POST', '/api/v1/auth/otp/verify/', { token, body: { code } })).status, 200)
  t.match(strengthOf(await attemptPasskey(service, authenticator)), { acr: 'aal2' })
})

t.test('a passkey opens the tenant it is asked for, and none that its person left', async (t) => {
  const person = await service.signUp()
  const other = await person.post('/api/v1/tenants/', { name: 'Second' })
  const { authenticator } = await registerPasskey(service, person)
  const there = await attemptPasskey(service, authenticator, { tenant_id: other.body.id })
  t.equal(claimsOf(there.body.access).tenant_id, other.body.id)
  const stranger = await service.signUp()
  t.match(await attemptPasskey(service, authenticator, { tenant_id: stranger.tenantId }), {
    status: 403,
    body: { code: 'no_active_membership' },
  })
})

t.test('a synced passkey, whose counter stays 0, works again and again', async (t) => {
  const person = await service.signUp()
  const authenticator = softwareAuthenticator(originOf(service), { counting: false })
  await registerPasskey(service, person, { authenticator })
  for (const _ of [1, 2]) t.equal((await attemptPasskey(service, authenticator)).status, 200)
})

t.test(
  'an inactive person’s passkey is refused like an unknown one, and an erased person has none',
  async (t) => {
    const person = await service.signUp()
    const { authenticator } = await registerPasskey(service, person)
    await changeRows(service, `update users set is_active = false where id = '${person.id}'`)
    const inactive = await attemptPasskey(service, authenticator)
    await changeRows(service, `update users set is_active = true where id = '${person.id}'`)
    const { body } = await attemptPasskey(service, authenticator)
    t.equal((await call('DELETE', '/api/v1/users/me/', { token: body.access, body: {} })).status, 204)
    const left = `select count(*)::int as rows from passkeys where user_id = '${person.id}'`
    t.same(await changeRows(service, left), [{ rows: 0 }])
    const erased = await attemptPasskey(service, authenticator)
    const shape = ({ status, body }: typeof erased) => ({ status, ...body, instance: undefined })
    t.same(shape(inactive), shape(erased))
    t.match(erased, { status: 400, body: { code: 'passkey_invalid' } })
  },
)

t.test('with passkeys off, no one signs in by one, and no account becomes weaker', async (t) => {
  const person = await service.signUp()
  const { authenticator, passkey } = await registerPasskey(service, person)
  await verifyPasskey(service, authenticator, person.access)
  const url = await startBeside(t, service, { PASSKEYS_ENABLED: 'false' })
  const token = person.access
  const closed = { status: 403, body: { code: 'channel_disabled' } }
  for (const path of ['registration', 'login/options', 'verify/options'])
    t.match(await call('POST', `${url}${api}/${path}/`, { token, body: {} }), closed, path)
  const credential = authenticator.get(await signInOptions(service))
  t.match(await call('POST', `${url}${api}/login/`, { body: { credential } }), closed)
  t.match((await attemptLogin(service, person, { url })).body, { otp_required: true, methods: ['email'] })
  t.match((await call('GET', `${url}${api}/`, { token })).body.results, [{ id: passkey.id }])
  t.equal((await call('DELETE', `${url}${api}/${passkey.id}/`, { token })).status, 204)
})

t.test('the domain and the origins are those of the settings', async (t) => {
  const rightly = {
    PASSKEY_RP_ID: 'example.com',
    PASSKEY_ORIGINS: 'https://app.example.com,https://example.com',
  }
  const url = await startBeside(t, service, { ...rightly, OTP_ENABLED: 'false' })
  const person = await service.signUp()
  const authenticator = softwareAuthenticator('https://app.example.com')
  const options = (await person.post(`${url}${api}/registration/`, {})).body
  t.match(options, { rp: { id: 'example.com' } })
  const made = await person.post(`${url}${api}/`, { credential: authenticator.create(options) })
  t.equal(made.status, 201)
  const signIn = async (origin: string) => {
    const asked = (await call('POST', `${url}${api}/login/options/`)).body
    return call('POST', `${url}${api}/login/`, { body: { credential: authenticator.get(asked, origin) } })
  }
  t.match(
    strengthOf(await signIn('https://example.com')),
    { acr: 'aal2' },
    'also with one-time passwords off',
  )
  t.match(await signIn('https://evil.example.com'), { status: 400, body: { code: 'passkey_invalid' } })
  for (const wrong of [
    { PASSKEY_RP_ID: '127.0.0.1' },
    { PASSKEY_RP_ID: 'https://example.com' },
    { PASSKEY_ORIGINS: 'https://example.com/path' },
    { PASSKEY_ORIGINS: 'example.com' },
    { PASSKEY_ORIGIN: 'https://example.com' },
  ])
    t.throws(() => readConfig({ NODE_ENV: 'test', ...wrong }), {
      message: /PASSKEY_\w+ (must|is not a setting)/,
    })
})
