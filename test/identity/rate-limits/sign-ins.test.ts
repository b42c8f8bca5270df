import { hash } from 'node:crypto'
import t from 'tap'
import { startService, tokenIn } from '../../helpers/service.ts'
import { look } from '../../tenancy/staff.ts'
import { attemptLogin, codeAt, enrol } from '../otp/authenticator.ts'
import { attemptPasskey, registerPasskey } from '../passkeys/software-passkey.ts'
import { env, throttled } from './limits-logins.ts'

// The windows of these limits follow the wall clock, so no test here waits for one to end.

const few = { RATE_LIMIT_SIGN_INS_PER_ACCOUNT: '3', MAGIC_LINK_ENABLED: 'true' }
const service = await startService(t, { env: { ...env, ...few, RATE_LIMIT_LOGIN_PER_ACCOUNT: '100' } })
const day = 24 * 3_600_000

const magicLink = async ({ email }: { email: string }) => {
  const { body } = await service.call('POST', '/api/v1/auth/magic-link/', { body: { email } })
  const token = tokenIn(await service.mailTo(email, 'asked to sign in'))
  const confirm = { token, nonce: body.nonce }
  return () => service.call('POST', '/api/v1/auth/magic-link/confirm/', { body: confirm })
}

t.test('sign-ins of an account are limited, all ways together; failed ones do not count', async (t) => {
  const ada = await service.signUp()
  const { authenticator } = await registerPasskey(service, ada)
  const byLink = await magicLink(ada)
  for (let n = 0; n < 4; n++)
    t.equal((await attemptLogin(service, { ...ada, password: 'not this one' })).status, 401)
  t.equal((await attemptPasskey(service, authenticator)).status, 200)
  t.equal((await attemptLogin(service, ada)).status, 200)
  const refused = await attemptLogin(service, ada)
  t.match(refused, throttled)
  t.equal(refused.headers.get('ratelimit-policy'), '"sign-in";q=3;w=60')
  t.match(
    await attemptLogin(service, { ...ada, password: 'not this one' }),
    throttled,
    'whatever the password',
  )
  for (let n = 0; n < 6; n++) t.match(await attemptPasskey(service, authenticator), throttled)
  t.match(await byLink(), throttled)
  const other = await service.register()
  t.equal((await attemptLogin(service, other)).status, 200, 'another account')
  t.equal((await byLink()).status, 429, 'and the link is not used up')
})

t.test('a sign-in that a code completes counts once', async (t) => {
  const ada = await service.signUp()
  const { secret } = await enrol(service, ada)
  for (let n = 0; n < 2; n++) {
    service.advance(60_000)
    const { body } = await attemptLogin(service, ada)
    const code = codeAt(secret, service.now())
    const call = { token: body.temporary_token, body: { code } }
    t.equal((await service.call('POST', '/api/v1/auth/otp/verify/', call)).status, 200)
  }
  t.match(await attemptLogin(service, ada), throttled)
})

t.test('a hundred places from which a person signed in are remembered, the last ones', async (t) => {
  const plain = await startService(t, { env: { TRUSTED_PROXIES: '127.0.0.1,::1' }, workers: false })
  const ada = await plain.register()
  const logIn = (device: number) => {
    plain.advance(1_000)
    const headers = { 'user-agent': `device ${device}` }
    const { email, password } = ada
    return plain.call('POST', '/api/v1/auth/login/', { body: { email, password }, headers })
  }
  for (let device = 0; device < 100; device++) await logIn(device)
  await logIn(0)
  for (let device = 100; device < 103; device++) t.equal((await logIn(device)).status, 200)
  const places = await look(
    plain,
    `select encode(device, 'hex') as device from sign_in_places where user_id = $1`,
    [ada.id],
  )
  t.equal(places.length, 100)
  const kept = new Set(places.map(({ device }) => device))
  const isKept = [0, 1, 2, 3, 4, 102].map((n) => kept.has(hash('sha256', `device ${n}`, 'hex')))
  t.same(isKept, [true, false, false, false, true, true])
})

t.test('a login makes a tenant in place of the last one once a day, also in parallel', async (t) => {
  const plain = await startService(t, { env: { MAGIC_LINK_ENABLED: 'true' } })
  const ada = await plain.register()
  const tenants = () => look(plain, 'select from tenants', [])
  const deleteAll = async () => {
    const client = await plain.logIn(ada)
    t.equal((await client.delete(`/api/v1/tenants/${client.tenantId}/`)).status, 204)
  }
  await deleteAll()
  const parallel = await Promise.all([1, 2, 3].map(() => attemptLogin(plain, ada)))
  t.same(
    parallel.map(({ status }) => status),
    [200, 200, 200],
  )
  t.equal((await tenants()).length, 2, 'that of the registration, and one more')
  await deleteAll()
  const refused = await attemptLogin(plain, ada)
  t.match(refused, { status: 403, body: { code: 'no_active_membership', detail: /24 hours/ } })
  await plain.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } })
  await plain.call('POST', '/api/v1/auth/magic-link/', { body: { email: ada.email } })
  t.equal((await tenants()).length, 2, 'nor does a mail make one')
  plain.advance(day)
  t.equal((await attemptLogin(plain, ada)).status, 200)
  t.equal((await tenants()).length, 3)
})
