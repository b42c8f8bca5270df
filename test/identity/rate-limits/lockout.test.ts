import pg from 'pg'
import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { startService, tokenIn } from '../../helpers/service.ts'

// The test is its own proxy: X-Forwarded-For names the address of each attacker.
const service = await startService(t, { env: { TRUSTED_PROXIES: '127.0.0.1,::1' } })
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const minute = 60_000
const home = '198.51.100.7'
const login = (person: { email: string; password: string }, from = home, agent = 'Home/1.0') =>
  service.call('POST', '/api/v1/auth/login/', {
    body: { email: person.email, password: person.password },
    headers: { 'x-forwarded-for': from, 'user-agent': agent },
  })
const wrong = (email: string, from = home) => login({ email, password: 'not this one' }, from)
const fail = async (times: number, email: string, from?: string) => {
  for (let n = 0; n < times; n++) t.match(await wrong(email, from), { status: 401 })
}
const locked = { status: 429, body: { code: 'account_locked' } }
/** Writes this many failures of today, from all addresses. */
const failedToday = (email: string, failures: number) =>
  superuser.query(
    `insert into account_attempts (account, failures, window_ends_at) values (sha256($1::bytea), $2, $3)
     on conflict (account) do update set failures = excluded.failures`,
    [Buffer.from(email), failures, new Date(service.now() + 24 * 60 * minute)],
  )

t.test(
  'ten failures in a row lock account and address for 15 minutes, even for the right password',
  async (t) => {
    const ada = await service.register()
    await fail(10, ada.email)
    const refused = await login(ada)
    t.match(refused, locked)
    t.equal(refused.headers.get('retry-after'), '900')
    service.advance(14 * minute)
    t.match(await login(ada), locked, 'attempts do not prolong the lock, and time does not shorten it')
    t.equal((await wrong(ada.email)).headers.get('retry-after'), '60')
    service.advance(minute)
    t.equal((await login(ada)).status, 200)
  },
)

t.test('a success resets the failures in a row', async (t) => {
  const ada = await service.register()
  for (let round = 0; round < 3; round++) {
    await fail(9, ada.email)
    t.equal((await login(ada)).status, 200)
  }
  await fail(10, ada.email)
  t.match(await login(ada), locked)
})

t.test('the count starts again after a lock', async (t) => {
  const ada = await service.register()
  await fail(10, ada.email)
  service.advance(15 * minute)
  await fail(10, ada.email)
  t.match(await login(ada), locked)
})

t.test('an unknown address is treated like one with an account', async (t) => {
  const email = 'nobody.here@example.com'
  const ada = await service.register()
  const known = await wrong(ada.email)
  const unknown = await wrong(email)
  const masked = ({ status, body, headers }: typeof known) => ({
    status,
    body: { ...body, instance: '' },
    headers: [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
  })
  t.same(masked(unknown), masked(known))
  await fail(9, ada.email)
  await fail(9, email)
  t.same(masked(await wrong(email)), masked(await wrong(ada.email)))
  t.match(await wrong(email), locked)
})

t.test('spellings of an address share its counter', async (t) => {
  const ada = await service.register()
  const spellings = [ada.email, ada.email.toUpperCase(), ` ${ada.email}`, `${ada.email}.`, ada.email]
  for (const spelling of [...spellings, ...spellings])
    t.equal((await login({ email: spelling, password: 'wrong one' })).status, 401, spelling)
  t.match(await login({ ...ada, email: ada.email.toUpperCase() }), locked)
})

t.test('addresses of one IPv6 /64 share a counter, and those of another do not', async (t) => {
  const ada = await service.register()
  for (let n = 0; n < 10; n++) await fail(1, ada.email, `2001:db8:1:2:${n}::${n}`)
  t.match(await login(ada, '2001:0DB8:0001:0002:ffff:1:2:3'), locked)
  t.equal((await login(ada, '2001:db8:1:3::1')).status, 200)
})

t.test('an attacker elsewhere does not lock the owner out', async (t) => {
  const ada = await service.register()
  t.equal((await login(ada)).status, 200)
  await fail(10, ada.email, '203.0.113.1')
  t.match(await login(ada, '203.0.113.1'), locked)
  t.equal((await login(ada)).status, 200)
  await failedToday(ada.email, 99)
  await fail(1, ada.email, '203.0.113.2')
  const stranger = await login(ada, '203.0.113.3')
  t.match(stranger, locked, 'a hundred a day lock the account for addresses it never used')
  t.ok(Number(stranger.headers.get('retry-after')) > 23 * 3_600)
  t.equal((await login(ada)).status, 200, 'and not for those it did')
  service.advance(25 * 60 * minute)
  t.equal((await login(ada, '203.0.113.3')).status, 200)
})

t.test('a refused attempt counts for neither the pair nor the day', async (t) => {
  const ada = await service.register()
  await fail(10, ada.email)
  for (let n = 0; n < 20; n++) t.match(await wrong(ada.email), locked)
  const { rows } = await superuser.query(
    'select failures from account_attempts where account = sha256($1::bytea)',
    [Buffer.from(ada.email)],
  )
  t.same(rows, [{ failures: 10 }])
  await failedToday(ada.email, 100)
  for (let n = 0; n < 12; n++) t.match(await wrong(ada.email, '203.0.113.9'), locked)
  const pairs = await superuser.query("select from login_attempts where address = '203.0.113.9'")
  t.equal(pairs.rowCount, 0)
})

t.test('a reset of the password lifts both locks', async (t) => {
  const ada = await service.register()
  await fail(10, ada.email)
  await failedToday(ada.email, 100)
  t.match(await login(ada), locked)
  t.match(await login(ada, '203.0.113.20'), locked)
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } })
  const token = tokenIn(await service.mailTo(ada.email, 'Reset'))
  const body = { token, password: 'a new harbour' }
  t.equal((await service.call('POST', '/api/v1/auth/password/reset/confirm/', { body })).status, 200)
  t.equal((await login({ ...ada, password: body.password })).status, 200)
  await failedToday(ada.email, 0)
  t.equal((await login({ ...ada, password: body.password }, '203.0.113.20')).status, 200)
})

t.test('of 60 parallel wrong passwords ten are compared', async (t) => {
  const ada = await service.register()
  const answers = await Promise.all(Array.from({ length: 60 }, () => wrong(ada.email)))
  const counts = Map.groupBy(answers, (answer) => answer.status)
  t.equal(counts.get(401)?.length, 10)
  t.equal(counts.get(429)?.length, 50)
  t.equal((await login(ada, '203.0.113.30')).status, 200, 'the owner at another address can still log in')
})

t.test('the same burst from many addresses gets a hundred a day', async (t) => {
  const ada = await service.register()
  await failedToday(ada.email, 80)
  const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => wrong(ada.email, `203.0.${n}.1`)))
  t.equal(answers.filter((answer) => answer.status === 401).length, 20)
  t.equal(answers.filter((answer) => answer.status === 429).length, 40)
})

t.test('parallel right passwords count as no failures', async (t) => {
  const ada = await service.register()
  const answers = await Promise.all(Array.from({ length: 40 }, () => login(ada)))
  t.ok(answers.every((answer) => answer.status === 200))
  const { rows } = await superuser.query(
    'select failures from account_attempts where account = sha256($1::bytea)',
    [Buffer.from(ada.email)],
  )
  t.same(rows, [{ failures: 0 }])
})

t.test('a header that is not from a trusted proxy, or contains junk, gives no new address', async (t) => {
  const plain = await startService(t, { workers: false })
  const ada = await plain.register()
  const attempt = (from: string) =>
    plain.call('POST', '/api/v1/auth/login/', {
      body: { email: ada.email, password: 'not this one' },
      headers: { 'x-forwarded-for': from },
    })
  for (let n = 0; n < 10; n++) t.equal((await attempt(`203.0.113.${n}`)).status, 401)
  t.match(await attempt('203.0.113.200'), locked)
  const bob = await service.register()
  const junk = [
    'unknown',
    '<script>',
    '999.1.1.1',
    '203.0.113.5, junk',
    ' , ,',
    '0'.repeat(3_000),
    '[::1]:80',
    'a:b',
  ]
  for (const from of [...junk, ...junk.slice(0, 2)]) t.equal((await wrong(bob.email, from)).status, 401, from)
  t.match(await login(bob, 'other junk'), locked, 'junk counts as the proxy’s own address')
})

t.test('a wrong current password counts as a failed login', async (t) => {
  const ada = await service.signUp()
  const change = () =>
    ada.post('/api/v1/auth/password/change/', { current_password: 'wrong', new_password: 'a new harbour' })
  for (let n = 0; n < 10; n++) t.equal((await change()).status, 400)
  t.match(await change(), locked)
  t.match(
    await ada.post('/api/v1/auth/password/change/', {
      current_password: ada.password,
      new_password: 'a new harbour',
    }),
    locked,
  )
})

t.test(
  'a failed login of an account is an event of its oldest tenant, with only the person’s id',
  async (t) => {
    const ada = await service.signUp()
    service.advance(1_000)
    const { body: second } = await ada.post('/api/v1/tenants/', { name: 'Second' })
    await ada.switchTo(second.id)
    await fail(2, ada.email)
    const { rows } = await superuser.query(
      "select tenant_id, actor_id, data from events where type = 'identity.login_failed' and subject = $1",
      [ada.id],
    )
    const [{ tenant_id: first }] = (
      await superuser.query(
        'select tenant_id from memberships where user_id = $1 order by joined_at limit 1',
        [ada.id],
      )
    ).rows
    t.not(first, second.id)
    t.same(
      rows,
      [1, 2].map(() => ({ tenant_id: first, actor_id: null, data: { user_id: ada.id } })),
    )
  },
)

t.test(
  'a sign-in from a new address or device sends a mail; the first and the usual ones do not',
  async (t) => {
    const ada = await service.register()
    await proveAddress(service, ada)
    const mails = async () =>
      (
        await superuser.query(
          "select text from captured_mails where recipient = $1 and subject like 'New sign-in%' order by id",
          [ada.email],
        )
      ).rows
    await login(ada)
    await login(ada)
    const phone = 'Chrome/140.0 https://evil.test (Linux; Android 16)'
    await login(ada, home, phone)
    await service.mailTo(ada.email, 'New sign-in')
    t.match(
      await mails(),
      [{ text: /Browser: Chrome\nSystem: Android\nIP address: 198\.51\.100\.7\n/ }],
      'in our words',
    )
    await login(ada, '203.0.113.77', phone)
    await login(ada, home, phone)
    for (let tries = 0; tries < 6_000 && (await mails()).length < 2; tries++)
      await new Promise((r) => setTimeout(r, 50))
    t.match(await mails(), [{}, { text: /203\.0\.113\.77/ }])
  },
)
