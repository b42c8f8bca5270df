import t from 'tap'
import { numberedEventsOf, openDatabase } from '../../helpers/event-log.ts'
import { claimsOf, startService } from '../../helpers/service.ts'
import { confirmAddress } from '../../tenancy/staff.ts'

const service = await startService(t, { actors: ['outbox-relay', 'email'] })
const database = await openDatabase(t, service)
const path = '/api/v1/auth/register/'
const register = (body: unknown) => service.call('POST', path, { body })
const valid = { email: 'new@example.com', password: 'a quiet harbour', first_name: 'N', last_name: 'E' }
const people = async () => Number((await database.query('select count(*) from users')).rows[0].count)

t.test(
  'a registration returns the id and the address, and leaves one event of each kind without gaps',
  async (t) => {
    const { status, body, headers } = await register({ ...valid, email: '  New.Person@Example.COM ' })
    t.equal(status, 201)
    t.same(Object.keys(body).sort(), ['email', 'id'])
    t.equal(body.email, 'new.person@example.com')
    t.match(body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/, 'UUIDv7')
    t.equal(headers.get('cache-control'), 'no-store')
    const { access } = await service.logIn({ email: 'NEW.PERSON@example.com', password: valid.password })
    const { tenant_id: tenantId, user_id: userId } = claimsOf(access)
    const events = await numberedEventsOf(database, tenantId)
    t.same(
      events.map(({ sequence }) => sequence),
      events.map((_, i) => i + 1),
    )
    const created = events.filter(({ type }) => type === 'identity.user_created')
    t.match(created, [{ subject: userId, actor_id: userId, data: { user_id: userId, email: body.email } }])
    t.same(Object.keys(created[0]!.data).sort(), ['email', 'user_id'])
  },
)

t.test('names can be empty or missing; unknown and read-only members are ignored', async (t) => {
  const { status } = await register({ email: 'short@example.com', password: valid.password })
  t.equal(status, 201)
  t.match(
    (
      await (
        await service.logIn({ email: 'short@example.com', password: valid.password })
      ).get('/api/v1/users/me/')
    ).body,
    {
      first_name: '',
      last_name: '',
    },
  )
  const id = '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b'
  const greedy = JSON.stringify({
    ...valid,
    ...{ email: 'greedy@example.com', id, user_id: id, tenant_id: id, roles: ['owner'], role: 'owner' },
    ...{
      is_active: false,
      is_superuser: true,
      is_staff: true,
      email_verified: true,
      email_verified_at: '2020-01-01T00:00:00Z',
    },
    ...{
      date_joined: '2020-01-01T00:00:00Z',
      status: 'archived',
      owner: id,
      password_hash: 'x',
      mfa_enabled: true,
      permissions: ['*'],
    },
  }).replace(
    '{',
    '{"__proto__":{"is_active":false,"id":"x"},"constructor":{"prototype":{"is_active":false}},',
  )
  t.equal((await register(greedy)).status, 201)
  const person = await service.logIn({ email: 'greedy@example.com', password: valid.password })
  t.not(person.id, id)
  t.not(person.tenantId, id)
  t.match((await person.get('/api/v1/users/me/')).body, {
    is_active: true,
    email_verified: false,
    mfa_enabled: false,
    date_joined: /^2026-11-21/,
    memberships: [{ roles: ['owner'], status: 'active' }],
  })
  t.equal(({} as { is_active?: boolean }).is_active, undefined)
})

t.test('a bad registration names every fault at once and creates no account', async (t) => {
  const before = await people()
  const nothing = await register({})
  t.match(nothing, { status: 400, body: { code: 'validation_error', email: [String], password: [String] } })
  const wrong: [string, unknown][] = [
    ...[
      '',
      ' ',
      'x',
      'x@',
      '@x.com',
      'a b@x.com',
      'a@b',
      'a@@x.com',
      'a@x..com',
      '.a@x.com',
      'a.@x.com',
      'a..b@x.com',
      'a@-x.com',
    ].map((email) => ['email', email] as [string, unknown]),
    ...[
      '"a b"@x.com',
      'a(c)@x.com',
      'a@[127.0.0.1]',
      'ä@x.com',
      'a@bücher.example',
      'a@x.com, b@x.com',
      'a@x.com\r\nBcc: b@x.com',
      'a@x.123',
      'A <a@x.com>',
    ].map((email) => ['email', email] as [string, unknown]),
    ['email', `${'a'.repeat(65)}@example.com`],
    [
      'email',
      `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.com`,
    ],
    ...[null, 7, true, {}, [], ['a@x.com']].map((email) => ['email', email] as [string, unknown]),
    ...['', 'short', '1234567', 'x'.repeat(129), '😀'.repeat(7), null, 12_345_678, ['longenough'], {}].map(
      (password) => ['password', password] as [string, unknown],
    ),
    ...['password', 'PASSWORD1', '12345678', 'bailiwick', 'new@example.com'].map(
      (password) => ['password', password] as [string, unknown],
    ),
    ...['x'.repeat(151), null, 7, {}].flatMap(
      (name) =>
        [
          ['first_name', name],
          ['last_name', name],
        ] as [string, unknown][],
    ),
  ]
  for (const [field, value] of wrong) {
    const { status, body } = await register({ ...valid, [field]: value })
    t.match(
      { status, body },
      { status: 400, body: { code: 'validation_error', [field]: [String], errors: [{ field }] } },
      `${field} ${JSON.stringify(value)}`,
    )
  }
  t.equal(await people(), before)
})

t.test('a password of 8 to 128 code points is taken exactly as sent', async (t) => {
  const passwords = [
    '12345 78',
    ' edges kept ',
    'x'.repeat(128),
    '😀'.repeat(8),
    '😀'.repeat(128),
    'pässwörd',
    "'; drop table users; --",
    'a\tb\u200b cdef',
    `${'y'.repeat(72)}one`,
  ]
  for (const [i, password] of passwords.entries()) {
    const email = `pw${i}@example.com`
    t.equal((await register({ ...valid, email, password })).status, 201, password)
    t.ok((await service.logIn({ email, password })).access)
    const other = password.length > 72 ? `${password.slice(0, 72)}two` : `${password} `
    const login = await service.call('POST', '/api/v1/auth/login/', { body: { email, password: other } })
    t.match(login, { status: 401, body: { code: 'invalid_credentials' } })
  }
})

t.test('an address has one account, in every spelling and under parallel requests', async (t) => {
  const forms = [
    'twin@example.com',
    'TWIN@EXAMPLE.COM',
    ' twin@example.com ',
    'Twin@Example.Com',
    'twin@example.com.',
  ]
  const answers = await Promise.all([...forms, ...forms].map((email) => register({ ...valid, email })))
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
  for (const { status, body } of answers.filter(({ status }) => status !== 201))
    t.match({ status, body }, { status: 400, body: { code: 'validation_error', email: [String] } })
  const { rows } = await database.query("select count(*)::int from users where email like 'twin%'")
  t.equal(rows[0].count, 1)
})

t.test('if existing addresses are hidden, a used address gets the same answer as a new one', async (t) => {
  const hidden = await startService(t, { env: { REGISTRATION_HIDE_EXISTING: 'true' } })
  const body = { ...valid, email: 'known@example.com' }
  const first = await hidden.call('POST', path, { body })
  const again = await hidden.call('POST', path, { body: { ...body, password: 'another harbour' } })
  t.equal(again.status, 201)
  t.same(Object.keys(again.body), Object.keys(first.body))
  t.equal(again.body.email, first.body.email)
  t.not(again.body.id, first.body.id)
  t.ok(await hidden.mailTo('known@example.com', 'Choose a password'))
  await confirmAddress(hidden, body)
  t.ok(await hidden.logIn(body), 'the first password still works')
})
