import t from 'tap'
import { type Client, claimsOf, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { attemptLogin, codeAt, codeIn, enrol, requireMfa } from '../../identity/otp/authenticator.ts'
import { expect, look } from '../../tenancy/staff.ts'

// The audit entries about credentials: passwords, addresses, sessions, second factors.

const service = await sharedService(t)
const auth = '/api/v1/auth'

interface Entry {
  actor: { id: string; email: string }
  action: string
  target: { type: string; id: string }
  decision_id: string | null
  changes: Record<string, unknown>
}

const lines = async (reader: Client, action: string): Promise<Entry[]> =>
  (await expect(200, reader.get(`/api/v1/audit-log/?page_size=100&action=${action}`))).results

t.test('changes of passwords, addresses and sessions leave entries', async (t) => {
  const person = await service.signUp()
  const other = await service.logIn(person)
  const sid = claimsOf(other.access).sid
  await expect(204, person.delete(`${auth}/sessions/${sid}/`))
  t.match(await lines(person, 'session:delete'), [
    {
      actor: { id: person.id },
      target: { type: 'session', id: sid },
      decision_id: /^[0-9a-f-]{36}$/,
    },
  ])

  const newPassword = 'another quiet harbour'
  const change = { current_password: person.password, new_password: newPassword }
  await expect(400, person.post(`${auth}/password/change/`, { ...change, current_password: 'not this one' }))
  t.same(await lines(person, 'password:change'), [], 'a refused request leaves no entry')
  await expect(200, person.post(`${auth}/password/change/`, change))
  t.match(await lines(person, 'password:change'), [{ target: { type: 'user', id: person.id }, changes: {} }])

  await expect(200, service.call('POST', `${auth}/password/reset/`, { body: { email: person.email } }))
  const token = tokenIn(await service.mailTo(person.email, 'Reset your'))
  const body = { token, password: 'a third quiet harbour' }
  await expect(200, service.call('POST', `${auth}/password/reset/confirm/`, { body }))
  const again = await service.logIn({ email: person.email, password: body.password })
  await again.switchTo(person.tenantId)
  t.match(await lines(again, 'password:reset'), [
    {
      actor: { id: person.id, email: person.email },
      target: { type: 'user', id: person.id },
      decision_id: null,
    },
  ])
  t.equal((await lines(again, 'email_verification:confirm')).length, 1, 'a reset verifies the address')

  const email = `moved.${person.email}`
  await expect(200, again.patch('/api/v1/users/me/', { email }))
  const [moved] = await lines(again, 'profile:update')
  t.match(moved, { changes: { email: { before: person.email, after: email } } })
  const all = JSON.stringify(await look(service, 'select * from audit_log'))
  for (const canary of [token, newPassword, body.password, '$argon2']) t.notMatch(all, canary)
})

t.test('every change and use of a second factor leaves an entry', async (t) => {
  const person = await service.signUp()
  const { secret, deviceId } = await enrol(service, person)
  const device = { type: 'otp_device', id: deviceId }
  t.match(await lines(person, 'otp_device:create'), [
    { target: device, changes: { type: { before: null, after: 'totp' } } },
  ])
  t.match(await lines(person, 'otp_device:confirm'), [
    { target: device, changes: { is_confirmed: { before: false, after: true } } },
  ])
  const { device_id: codes, ...made } = await expect(200, person.post(`${auth}/otp/static/generate/`))
  t.match(await lines(person, 'otp_device:generate'), [{ target: { type: 'otp_device', id: codes } }])

  service.advance(30_000)
  await expect(200, person.post(`${auth}/otp/verify/`, { code: codeAt(secret, service.now()) }))
  await expect(400, person.post(`${auth}/otp/verify/`, { code: codeAt(secret, service.now()) }))
  t.match(await lines(person, 'otp:verify'), [{ target: device }], 'a refused code leaves no entry')

  await expect(200, person.post(`${auth}/otp/email/send/`))
  const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
  await expect(200, person.post(`${auth}/otp/verify/`, { code }))
  t.match(await lines(person, 'email_verification:confirm'), [
    { target: { type: 'user', id: person.id }, decision_id: /^[0-9a-f-]{36}$/ },
  ])

  await expect(204, person.delete(`${auth}/otp/devices/${deviceId}/`))
  t.match(await lines(person, 'otp_device:delete'), [
    { target: device, changes: { type: { before: 'totp', after: null } } },
  ])
  const all = JSON.stringify(await look(service, 'select * from audit_log'))
  for (const canary of [secret, code, ...made.codes]) t.notMatch(all, canary)
})

t.test('requests between password and second factor leave entries too', async (t) => {
  const person = await service.signUp()
  await requireMfa(service, person.tenantId)
  const { temporary_token: token } = await expect(200, attemptLogin(service, person))
  const call = (path: string, body: object = {}) =>
    expect(200, service.call('POST', `${auth}/otp/${path}/`, { token, body }))
  const { secret, device } = await call('totp/setup')
  const pair = await call('totp/confirm', { code: codeAt(secret, service.now()) })
  const entered = { ...person, access: pair.access }
  const reader: Client = {
    ...entered,
    get: (path) => service.call('GET', path, { token: pair.access }),
  }
  for (const action of ['otp_device:create', 'otp_device:confirm'])
    t.match(await lines(reader, action), [
      { actor: { id: person.id, email: person.email }, target: { id: device.id } },
    ])
  t.match((await lines(reader, 'session:create'))[0]?.target.id, claimsOf(pair.access).sid)
})
