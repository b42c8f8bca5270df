import pg from 'pg'
import t from 'tap'
import { untilLocked } from '../helpers/lock-waits.ts'
import { type Answer, type Client, startService, tokenIn } from '../helpers/service.ts'
import { requireMfa } from '../identity/otp/authenticator.ts'
import { originOf, softwareAuthenticator } from '../identity/passkeys/software-passkey.ts'
import { look } from '../tenancy/staff.ts'

const service = await startService(t, {
  env: { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_ENABLED: 'false' },
})

/** Statements on people, and the lock that stands for a person on a cluster. */
const ofPeople = /from users|update users|pg_advisory_xact_lock/

/** Locks a person's row, and lets calls wait for it, each behind the one before. Gives their answers. */
async function inTurn(userId: string, calls: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  try {
    await client.query('begin')
    await client.query('select from users where id = $1 for update', [userId])
    const answers: Promise<Answer>[] = []
    for (const call of calls) {
      answers.push(call())
      await untilLocked(service.databases.superuser, answers, ofPeople)
    }
    await client.query('commit')
    return await Promise.all(answers)
  } finally {
    await client.end()
  }
}

t.test('a login opens no session when its password is replaced while it runs', async (t) => {
  const ada = await service.signUp()
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } })
  const token = tokenIn(await service.mailTo(ada.email, 'Reset'))
  const old = { email: ada.email, password: ada.password }
  const body = { token, password: 'another harbour' }
  // The login has compared the old password when the reset, which is before it in the queue, replaces it.
  const [reset, login] = await inTurn(ada.id, [
    () => service.call('POST', '/api/v1/auth/password/reset/confirm/', { body }),
    () => service.call('POST', '/api/v1/auth/login/', { body: old }),
  ])
  t.match(login, { status: 401, body: { code: 'invalid_credentials' } })
  t.equal(reset?.status, 200)
  const open = await look(service, 'select from sessions where user_id = $1 and ended_at is null', [ada.id])
  t.equal(open.length, 0)
})

t.test('a reset that clears an account never verified leaves nothing that calls in flight add', async (t) => {
  const calls: Record<string, (thief: Client) => Promise<() => Promise<Answer>>> = {
    'select from passkeys where user_id = $1': async (thief) => {
      const { body: options } = await thief.post('/api/v1/auth/passkeys/registration/', {})
      const credential = softwareAuthenticator(originOf(service)).create(options)
      return () => thief.post('/api/v1/auth/passkeys/', { credential })
    },
    'select from api_keys where user_id = $1': async (thief) => () =>
      thief.post('/api/v1/users/me/keys/', { name: 'Laptop' }),
    'select from otp_recovery_codes where user_id = $1': async (thief) => () =>
      thief.post('/api/v1/auth/otp/static/generate/', {}),
    "select from otp_devices where user_id = $1 and type = 'totp'": async (thief) => () =>
      thief.post('/api/v1/auth/otp/totp/setup/', { name: 'Phone' }),
    "select from users where id = $1 and email like 'thief%'": async (thief) => () =>
      thief.patch('/api/v1/users/me/', { email: `thief.${thief.email}` }),
  }
  for (const [added, prepare] of Object.entries(calls)) {
    const thief = await service.signUp()
    const add = await prepare(thief)
    await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: thief.email } })
    const body = { token: tokenIn(await service.mailTo(thief.email, 'Reset')), password: 'another harbour' }
    const [reset, refused] = await inTurn(thief.id, [
      () => service.call('POST', '/api/v1/auth/password/reset/confirm/', { body }),
      add,
    ])
    t.equal(reset?.status, 200, added)
    t.match(refused, { status: 401, body: { code: 'session_revoked' } }, added)
    t.same(await look(service, added, [thief.id]), [], added)
  }
})

t.test('a long X-Forwarded-For does not hide the address that the proxy appended', async (t) => {
  const ada = await service.signUp()
  const forged = Array(2_000).fill('6.6.6.6').join(',')
  for (const length of [1_999, 2_000, 2_001, 2_007, 2_008, 2_009, 7_000]) {
    const own = forged.slice(0, length).replace(/[^6]*$/, '')
    await service.call('POST', '/api/v1/auth/login/', {
      body: { email: ada.email, password: ada.password },
      headers: { 'x-forwarded-for': `${own}, 9.9.9.9` },
    })
  }
  const { body } = await ada.get('/api/v1/auth/sessions/')
  t.same([...new Set(body.results.slice(1).map((session: { ip: string }) => session.ip))], ['9.9.9.9'])
})

t.test(
  'a tenant that requires a second factor cannot be changed from another tenant without one',
  async (t) => {
    const ada = await service.signUp()
    const { body: strict } = await ada.post('/api/v1/tenants/', { name: 'Strict' })
    await requireMfa(service, strict.id)
    const path = `/api/v1/tenants/${strict.id}/`
    const loosened = await ada.put(path, { settings: { require_mfa: false } })
    t.match(loosened, { status: 401, body: { code: 'insufficient_user_authentication', acr_values: 'aal2' } })
    for (const verb of ['suspend', 'archive', 'activate'])
      t.equal((await ada.post(`${path}${verb}/`)).status, 401, verb)
    t.equal((await ada.delete(path)).status, 401)
    t.equal((await ada.get(path)).status, 200)
  },
)

t.test(
  'an attacker with the password cannot open so many sessions that the owner cannot end them',
  async (t) => {
    const ada = await service.signUp()
    await look(
      service,
      `insert into sessions (id, user_id, tenant_id, acr, amr, auth_time, created_at, last_used_at, expires_at)
     select gen_random_uuid(), user_id, tenant_id, acr, amr, auth_time, created_at, last_used_at, expires_at
     from sessions, generate_series(1, 1200) where user_id = $1`,
      [ada.id],
    )
    service.advance(1)
    const newest = await service.logIn(ada)
    const count = async (query: string) => (await look(service, query, [ada.id]))[0].count
    const open = () => count('select count(*)::int from sessions where user_id = $1 and ended_at is null')
    t.equal(await open(), 1_000)
    t.equal((await newest.post('/api/v1/auth/logout-all/')).status, 200)
    t.equal(await open(), 0)
    t.equal(
      await count(
        "select count(*)::int from events where type = 'identity.session_revoked' and actor_id = $1",
      ),
      1_202,
    )
  },
)
