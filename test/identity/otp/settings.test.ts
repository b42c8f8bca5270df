import t from 'tap'
import { claimsOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { attemptLogin, codeAt, codeIn, enrol, otherThan, startBeside } from './authenticator.ts'

// Every setting of one-time passwords at every route that it affects. A route that a row does not name is open: 200, or
// 400 for a wrong code.

const otp = '/api/v1/auth/otp'
const service = await sharedService(t)
const { call } = service
const routes = {
  'totp/setup': ['POST', {}],
  'totp/confirm': ['POST', { code: '000000' }],
  'email/send': ['POST', {}],
  'static/generate': ['POST', {}],
  verify: ['POST', { code: 'A'.repeat(16) }],
  'verify totp': ['POST', { code: '000000', device_type: 'totp' }],
  'verify email': ['POST', { code: '000000', device_type: 'email' }],
  'verify static': ['POST', { code: 'A'.repeat(16), type: 'static' }],
  devices: ['GET', undefined],
} as const

const all = { OTP_EMAIL_ENABLED: 'false', OTP_TOTP_ENABLED: 'false', OTP_STATIC_ENABLED: 'false' }
const rows: [Record<string, string>, (keyof typeof routes)[]][] = [
  [{}, []],
  [{ OTP_TOTP_ENABLED: 'false' }, ['totp/setup', 'totp/confirm', 'verify totp']],
  [{ OTP_EMAIL_ENABLED: 'false' }, ['email/send', 'verify email']],
  [{ OTP_STATIC_ENABLED: 'false' }, ['static/generate', 'verify static']],
  [all, Object.keys(routes).filter((name) => name !== 'devices') as (keyof typeof routes)[]],
  [
    { OTP_ENABLED: 'false' },
    Object.keys(routes).filter((name) => name !== 'devices') as (keyof typeof routes)[],
  ],
]

t.test(
  'a channel that is off answers 403 channel_disabled at each of its routes and nowhere else',
  async (t) => {
    const printed = [['settings', ...Object.keys(routes), 'delete'].join(' | ')]
    for (const [env, closed] of rows) {
      const url = await startBeside(t, service, env)
      const person = await service.signUp()
      const statuses: number[] = []
      for (const [name, [method, body]] of Object.entries(routes)) {
        const path = `${url}${otp}/${name.split(' ')[0]}/`
        const answer = await call(method, path, { token: person.access, body })
        const shut = closed.includes(name as keyof typeof routes)
        if (shut)
          t.match(
            answer,
            { status: 403, body: { code: 'channel_disabled' } },
            `${JSON.stringify(env)} ${name}`,
          )
        else t.match(answer.status, /^(200|400|404)$/, `${JSON.stringify(env)} ${name}`)
        statuses.push(answer.status)
      }
      const deleted = await deleteStaticAt(url)
      t.equal(deleted, 204)
      printed.push([JSON.stringify(env).replaceAll('"', ''), ...statuses, deleted].join(' | '))
    }
    for (const line of printed) t.comment(line)
  },
)

/** Recovery codes made while the channels are on can be deleted while they are off. */
async function deleteStaticAt(url: string): Promise<number> {
  const person = await service.signUp()
  const { device_id: id } = (await person.post(`${otp}/static/generate/`)).body
  return (await call('DELETE', `${url}${otp}/devices/${id}/`, { token: person.access })).status
}

t.test('with one-time passwords off a recent sign-in is enough to delete a device', async (t) => {
  const url = await startBeside(t, service, { OTP_ENABLED: 'false' })
  const person = await service.signUp()
  const { deviceId } = await enrol(service, person)
  service.advance(14 * 60_000)
  const { access } = (await call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } })).body
  const remove = (token: string) => call('DELETE', `${url}${otp}/devices/${deviceId}/`, { token })
  service.advance(61_000)
  t.match(await remove(access), {
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal1' },
  })
  const again = (await attemptLogin(service, person, { url })).body.access
  t.equal((await remove(again)).status, 204)
})

t.test(
  'with one-time passwords off a policy that demands a second factor denies, with the reason',
  async (t) => {
    const url = await startBeside(t, service, { OTP_ENABLED: 'false' })
    const owner = await service.signUp()
    const rule = { effect: 'allow', obligations: [{ type: 'step_up' }] }
    await owner.post('/api/v1/policies/', { ...rule, name: 'Departments', actions: ['department:create'] })
    await owner.post('/api/v1/policies/', {
      ...rule,
      name: 'Owners',
      actions: ['user:list'],
      conditions: { attribute: 'resource.roles', operator: 'contains', value: 'owner' },
    })
    const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
    const { status, body } = await call('POST', `${url}${departments}`, {
      token: owner.access,
      body: { name: 'x' },
    })
    t.match({ status, body }, { status: 403, body: { reasons: [{ code: 'step_up_impossible' }] } })
    const kept = (await owner.get(`/api/v1/decisions/${body.decision_id}/`)).body
    t.match(kept, { effect: 'deny', action: 'department:create', reasons: [{ code: 'step_up_impossible' }] })
    const list = await call('GET', `${url}/api/v1/users/`, { token: owner.access })
    t.match(list, { status: 200, body: { count: null, results: { length: 0 } } })
    t.equal(
      (await owner.post(departments, { name: 'x' })).status,
      401,
      'with one-time passwords on, a second factor can be shown',
    )
  },
)

t.test(
  'the lifetime of codes and tokens, the number of codes and the issuer’s name are settings',
  async (t) => {
    const url = await startBeside(t, service, {
      OTP_EMAIL_TOKEN_VALIDITY_SECONDS: '60',
      OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS: '30',
      OTP_STATIC_TOKEN_COUNT: '3',
      OTP_TOTP_ISSUER_NAME: 'Ünit: 1',
    })
    const person = await service.signUp()
    const post = (path: string, body?: object) =>
      call('POST', `${url}${otp}/${path}/`, { token: person.access, body })
    t.match((await post('static/generate')).body, { count: 3, codes: { length: 3 } })
    const { provisioning_uri: uri } = (await post('totp/setup')).body
    t.equal(new URL(uri).searchParams.get('issuer'), 'Ünit: 1')
    t.match(uri, /^otpauth:\/\/totp\/%C3%9Cnit%3A%201:/)
    t.match((await post('email/send')).body, { expires_in: 60 })
    const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
    service.advance(60_000)
    t.match(await post('verify', { code }), { status: 400 })

    const { secret } = await enrol(service, person)
    const asked = (await attemptLogin(service, person, { url })).body
    t.equal(asked.expires_in, 30)
    t.equal(claimsOf(asked.temporary_token).exp - claimsOf(asked.temporary_token).iat, 30)
    service.advance(30_000)
    const late = { token: asked.temporary_token, body: { code: codeAt(secret, service.now()) } }
    t.match(await call('POST', `${url}${otp}/verify/`, late), {
      status: 401,
      body: { code: 'token_not_valid' },
    })
  },
)

t.test(
  'the last authenticator app cannot be deleted while the service or the tenant requires one',
  async (t) => {
    const url = await startBeside(t, service, { OTP_REQUIRED_FOR_LOGIN: 'true' })
    const person = await service.signUp()
    const one = await enrol(service, person)
    const remove = (id: string, base = url) =>
      call('DELETE', `${base}${otp}/devices/${id}/`, { token: person.access })
    t.match(await remove(one.deviceId), { status: 409, body: { code: 'last_factor' } })
    const two = await enrol(service, person)
    const answers = await Promise.all([remove(one.deviceId), remove(two.deviceId)])
    t.strictSame(
      answers.map(({ status }) => status).sort(),
      [204, 409],
      'of two parallel deletions one succeeds',
    )
    const left = (await person.get(`${otp}/devices/`)).body.results[0].id
    t.equal((await remove(left, '')).status, 204, 'if nothing requires it, it can be deleted')
  },
)

t.test('a start with confirmed devices but one-time passwords off logs a warning', async (t) => {
  await enrol(service, await service.signUp())
  const lines: string[] = []
  const log = service.deps.log
  const { warn } = log
  log.warn = ((text: string) => lines.push(text)) as typeof warn
  t.teardown(() => {
    log.warn = warn
  })
  await startBeside(t, service, { OTP_ENABLED: 'true' })
  t.strictSame(lines, [])
  await startBeside(t, service, { OTP_ENABLED: 'false' })
  t.match(lines, [/OTP_ENABLED is off/])
  t.ok(otherThan('100000'))
})
