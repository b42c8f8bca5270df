import pg from 'pg'
import t from 'tap'
import { type Service, startService, tokenIn } from '../../helpers/service.ts'
import { look } from '../../tenancy/staff.ts'
import { env, home, limitsLogins, loginOf, throttled } from './limits-logins.ts'

// The windows of these limits follow the wall clock, so no test here waits for one to end.

/** Deletes every window, as if it had ended. */
async function forget(service: Service) {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  await client.query('delete from rate_limits')
  await client.end()
}

t.test('on Postgres', async (t) => {
  const few = {
    RATE_LIMIT_KEY_REVOKE_PER_ADDRESS: '2',
    RATE_LIMIT_PASSKEY_PER_ADDRESS: '2',
    RATE_LIMIT_SIGN_INS_PER_ACCOUNT: '100',
  }
  const service = await startService(t, { env: { ...env, ...few, MAGIC_LINK_ENABLED: 'true' } })
  const login = loginOf(service)

  t.test('failed logins are limited by account and address, and by address', (t) => limitsLogins(t, service))

  t.test('right passwords are not counted as failures, even in parallel', async (t) => {
    await forget(service)
    const ada = await service.register()
    for (let n = 0; n < 25; n++) t.equal((await login(ada.email, ada.password)).status, 200)
    const burst = await Promise.all(Array.from({ length: 30 }, () => login(ada.email, ada.password)))
    t.ok(burst.some((answer) => answer.status === 200))
    t.equal((await login(ada.email, ada.password)).status, 200, 'even after part of a burst was throttled')
    const client = new pg.Client({ connectionString: service.databases.superuser })
    await client.connect()
    const { rows } = await client.query(
      "select points from rate_limits where key like '%login-%' and points <> 0",
    )
    await client.end()
    t.same(rows, [])
  })

  t.test('refreshes are limited per session, and a throttled refresh uses up no token', async (t) => {
    await forget(service)
    const ada = await service.register()
    const [one, other] = [await login(ada.email, ada.password), await login(ada.email, ada.password)]
    const refresh = (token: string) =>
      service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } })
    let token = one.body.refresh
    for (let n = 0; n < 60; n++) token = (await refresh(token)).body.refresh
    t.match(await refresh(token), throttled)
    t.equal((await refresh(other.body.refresh)).status, 200, 'another session of the person')
    await forget(service)
    t.equal((await refresh(token)).status, 200)
  })

  t.test('a throttled attempt counts in no limit', async (t) => {
    await forget(service)
    const ada = await service.register()
    for (let n = 0; n < 5; n++) await login(ada.email, 'not this one', '203.0.113.50')
    for (let n = 0; n < 20; n++) t.match(await login(ada.email, 'not this one', '203.0.113.50'), throttled)
    const client = new pg.Client({ connectionString: service.databases.superuser })
    await client.connect()
    const counters = await client.query("select failures from login_attempts where address = '203.0.113.50'")
    const windows = await client.query("select points from rate_limits where key like '%203.0.113.50'")
    await client.end()
    t.same(counters.rows, [{ failures: 5 }])
    t.same(
      windows.rows,
      [{ points: 5 }, { points: 5 }],
      'not in the limit that refused, and not in the others',
    )
  })

  t.test('of 60 parallel failures five are compared', async (t) => {
    await forget(service)
    const ada = await service.register()
    const answers = await Promise.all(Array.from({ length: 60 }, () => login(ada.email, 'not this one')))
    t.equal(answers.filter((answer) => answer.status === 401).length, 5)
    t.equal(answers.filter((answer) => answer.status === 429).length, 55)
  })

  t.test('a limit by address alone counts a request before its body is read', async (t) => {
    for (const path of ['keys/revoke', 'auth/passkeys/login/options']) {
      const send = () => service.call('POST', `/api/v1/${path}/`, { body: 'no JSON' })
      for (let n = 0; n < 2; n++) t.match(await send(), { status: 400, body: { code: 'parse_error' } }, path)
      t.match(await send(), throttled, path)
    }
  })

  t.test('an IPv6 /64 counts as one address', async (t) => {
    await forget(service)
    const ada = await service.register()
    for (let n = 0; n < 5; n++)
      t.equal((await login(ada.email, 'not this one', `2001:db8:1:2:${n}::1`)).status, 401)
    t.match(await login(ada.email, 'not this one', '2001:db8:1:2:ffff::1'), throttled)
  })

  t.test('mails to one address are limited, with or without an account', async (t) => {
    const ada = await service.signUp()
    const reset = (email: string) => service.call('POST', '/api/v1/auth/password/reset/', { body: { email } })
    for (const email of [ada.email, ada.email.toUpperCase(), ada.email])
      t.equal((await reset(email)).status, 200)
    const known = await reset(ada.email)
    t.match(known, throttled)
    t.equal(known.headers.get('ratelimit-policy'), '"mail-minute";q=3;w=60')
    for (let n = 0; n < 3; n++) t.equal((await reset('nobody.knows@example.com')).status, 200)
    const unknown = await reset('nobody.knows@example.com')
    t.same({ ...unknown.body, instance: '', detail: '' }, { ...known.body, instance: '', detail: '' })
  })

  t.test('one address of callers can ask for 60 mails an hour without an account', async (t) => {
    await forget(service)
    const ask = (path: string, n: number, ip: string) =>
      service.call('POST', `/api/v1/auth/${path}/`, {
        body: { email: `person.${n}@example.com` },
        headers: { 'x-forwarded-for': ip },
      })
    for (let n = 0; n < 60; n++)
      t.equal((await ask(n % 2 ? 'password/reset' : 'magic-link', n, '203.0.113.60')).status, 200)
    for (const path of ['password/reset', 'magic-link']) {
      const refused = await ask(path, 60, '203.0.113.60')
      t.match(refused, throttled, path)
      t.equal(refused.headers.get('ratelimit-policy'), '"mail-address";q=60;w=3600')
    }
    t.equal((await ask('password/reset', 60, '203.0.113.61')).status, 200, 'it counts for no target')
  })

  t.test('each purpose has its own limit: resets by strangers do not use up codes and links', async (t) => {
    const ada = await service.signUp()
    for (let n = 0; n < 5; n++)
      await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } })
    for (const path of ['otp/email/send', 'email/verify/send']) {
      for (let n = 0; n < 3; n++) t.equal((await ada.post(`/api/v1/auth/${path}/`)).status, 200, path)
      t.match(await ada.post(`/api/v1/auth/${path}/`), throttled, path)
    }
  })

  t.test('an address that came back by a rejection gets no mail beyond ten links an hour', async (t) => {
    const ada = await service.signUp()
    for (let minute = 0; minute < 3; minute++) {
      for (let n = 0; n < 3; n++) await ada.post('/api/v1/auth/email/verify/send/')
      await forget(service)
    }
    const email = `own.${ada.email}`
    t.equal((await ada.patch('/api/v1/users/me/', { email })).status, 200)
    const token = tokenIn(await service.mailTo(email, 'Confirm'))
    const rejected = await service.call('POST', '/api/v1/auth/email/verify/reject/', { body: { token } })
    t.equal(rejected.status, 200)
    const alive = 'select from link_tokens where user_id = $1 and used_at is null'
    t.same(await look(service, alive, [ada.id]), [])
  })

  t.test('a change to an address counts as a mail to it', async (t) => {
    const ada = await service.signUp()
    const move = (email: string) => ada.patch('/api/v1/users/me/', { email })
    const [target, home] = ['target.of.many@example.com', ada.email]
    for (let n = 0; n < 2; n++) for (const email of [target, home]) t.equal((await move(email)).status, 200)
    t.equal((await move(target)).status, 200)
    t.equal((await move(home)).status, 200)
    t.match(await move(target), throttled)
    t.match((await ada.get('/api/v1/users/me/')).body, { email: home })
  })

  t.test('ten mails an hour', async (t) => {
    const email = 'hourly@example.com'
    const client = new pg.Client({ connectionString: service.databases.superuser })
    await client.connect()
    const asked = []
    for (let n = 0; n < 12; n++) {
      asked.push(await service.call('POST', '/api/v1/auth/password/reset/', { body: { email } }))
      await client.query("delete from rate_limits where key like '%mail-minute%'")
    }
    await client.end()
    t.same(
      asked.map((answer) => answer.status),
      [...Array<number>(10).fill(200), 429, 429],
    )
    t.ok(Number(asked.at(-1)!.headers.get('retry-after')) > 3_000)
  })

  t.test('ten registrations an hour from one address', async (t) => {
    await forget(service)
    const register = (n: number, from: string) =>
      service.call('POST', '/api/v1/auth/register/', {
        body: { email: `newcomer${n}@example.com`, password: 'a quiet harbour' },
        headers: { 'x-forwarded-for': from },
      })
    for (let n = 0; n < 10; n++) t.equal((await register(n, home)).status, 201)
    t.match(await register(10, home), throttled)
    t.equal((await register(11, '203.0.113.90')).status, 201)
  })
})
