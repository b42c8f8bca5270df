import { pbkdf2Sync, randomBytes, randomUUID, scryptSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import pg from 'pg'
import t from 'tap'
import { proveAddress } from '../helpers/prove-address.ts'
import { startService } from '../helpers/service.ts'
import { codeAt } from '../identity/otp/authenticator.ts'
import { callCli, settingsFor } from './run-cli.ts'

// People of other products, with their passwords.

const keys = randomBytes(32).toString('base64url')
const service = await startService(t, { env: { SECRET_KEYS: keys } })
const env = settingsFor(service.databases, keys)
const owner = await service.signUp()
const { slug } = (await owner.get('/api/v1/users/me/')).body.current_tenant
const folder = t.testdir({})

const database = new pg.Client({ connectionString: service.databases.superuser })
await database.connect()
t.teardown(() => database.end())
const rows = async (query: string, values: unknown[]) => (await database.query(query, values)).rows

const fileOf = (lines: readonly unknown[], name = `${randomUUID()}.jsonl`) => {
  const file = join(folder, name)
  writeFileSync(
    file,
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  return file
}
const importOf = async (lines: readonly unknown[], ...options: string[]) =>
  callCli(['users:import', fileOf(lines), '--json', ...options], { env })
const logIn = (email: string, password: string) =>
  service.call('POST', '/api/v1/auth/login/', { body: { email, password } })

const password = 'Grüße, correct horse 1'
const bcryptHash = bcrypt.hashSync(password, 4)
const base64 = (bytes: Buffer) => bytes.toString('base64')
const person = (more: object = {}) => {
  const id = randomUUID()
  return {
    id,
    email: `${id}@import.example`,
    email_verified: true,
    first_name: 'Ada',
    password_hash: bcryptHash,
    memberships: [{ tenant: slug, roles: ['member'] }],
    ...more,
  }
}

t.test('each form of a hash signs in, and is ours afterwards', async (t) => {
  const salt = randomBytes(16)
  const signer = 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA'
  const forms: Record<string, [hash: string, password?: string]> = {
    bcrypt: [bcryptHash],
    'bcrypt of PHP': [bcryptHash.replace('$2b$', '$2y$')],
    scrypt: [`$scrypt$ln=14,r=8,p=1$${base64(salt)}$${base64(scryptSync(password, salt, 64))}`],
    'pbkdf2-sha256': [
      `$pbkdf2-sha256$i=1000$${base64(salt)}$${base64(pbkdf2Sync(password, salt, 1_000, 32, 'sha256'))}`,
    ],
    'pbkdf2-sha512': [
      `$pbkdf2-sha512$i=1000$${base64(salt)}$${base64(pbkdf2Sync(password, salt, 1_000, 64, 'sha512'))}`,
    ],
    // The example of github.com/firebase/scrypt.
    firebase: [
      `$firebase-scrypt$ln=14,r=8,ss=Bw==,sk=${signer}$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==`,
      'user1password',
    ],
  }
  const people = Object.entries(forms).map(([name, [hash]]) =>
    person({ first_name: name, password_hash: hash }),
  )
  t.match((await importOf(people)).json(), { created: people.length, rows: people.length })
  for (const [index, [name, [foreign, right = password]]] of Object.entries(forms).entries()) {
    const { email } = people[index]!
    t.equal((await logIn(email, `${right}x`)).status, 401, `${name}: a wrong password`)
    t.equal((await logIn(email, right)).status, 200, `${name}: the right one`)
    const stored = await rows('select password_hash from users where email = $1', [email])
    t.match(stored[0]!.password_hash, /^\$argon2id\$/, `${name}: replaced`)
    t.not(stored[0]!.password_hash, foreign)
    t.equal((await logIn(email, right)).status, 200, `${name}: again`)
  }
})

t.test('a fault in one line, and nothing is imported', async (t) => {
  const right = person()
  const faulty: [object | string, RegExp][] = [
    [person({ email: 'nowhere' }), /email: Enter a valid e-mail address/],
    [person({ id: undefined }), /id: /],
    [person({ password: 'x' }), /password: there is no such field/],
    [
      person({ password_hash: '5f4dcc3b5aa765d61d8327deb882cf99' }),
      /password_hash: The hash must be a hash of bcrypt/,
    ],
    [
      person({ password_hash: `$2b$15$${'a'.repeat(53)}` }),
      /password_hash: The hash costs too much to verify: the cost may be 14 at most/,
    ],
    [
      person({ password_hash: `$scrypt$ln=17,r=8,p=1$${'a'.repeat(22)}$${'a'.repeat(43)}` }),
      /password_hash: The hash costs too much/,
    ],
    [
      person({ password_hash: `$pbkdf2-sha256$i=2000001$${'a'.repeat(22)}$${'a'.repeat(43)}` }),
      /password_hash: The hash costs too much/,
    ],
    [
      person({ password_hash: `$argon2id$v=19$m=262145,t=1,p=1$${'a'.repeat(22)}$${'a'.repeat(43)}` }),
      /password_hash: The hash costs too much/,
    ],
    [person({ totp_secret: '1' }), /totp_secret: Give the secret in base32/],
    [
      person({ memberships: [{ tenant: 'none', roles: ['member'] }] }),
      /memberships.0.tenant: there is no tenant/,
    ],
    [
      person({ memberships: [{ tenant: slug, roles: ['king'] }] }),
      /memberships.0.roles: the tenant has no role/,
    ],
    [person({ memberships: [{ tenant: slug, roles: [] }] }), /memberships.0.roles: A member needs/],
    [person({ email: right.email }), /email: line 1 has the same email/],
    [person({ id: right.id }), /id: line 1 has the same id/],
    ['{"id":', /line: this is no JSON/],
    ['[]', /line: /],
  ]
  const { code, said } = await importOf([right, ...faulty.map(([line]) => line)])
  t.equal(code, 1)
  t.match(said, `Nothing was imported: ${faulty.length} faults in ${faulty.length + 1} lines.`)
  for (const [index, [, expected]] of faulty.entries())
    t.match(said, new RegExp(`line ${index + 2}, ${expected.source}`))
  t.notMatch(said, /5f4dcc3b|aaaaaaaa/, 'no value is repeated')
  t.equal((await importOf([right], '--check')).code, 0)
  t.same(await rows('select 1 from users where email = $1', [right.email]), [], 'nothing came')
  t.match((await callCli(['users:import', '--json'], { env })).code, 2)
  t.match(
    (await callCli(['users:import', join(folder, 'none.jsonl'), '--json'], { env })).said,
    /There is no file/,
  )
})

t.test('people come with names, roles, several tenants, and their app for codes', async (t) => {
  const other = await service.signUp()
  const second = other.tenantId
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  const ada = person({
    last_name: 'Lovelace',
    totp_secret: secret,
    memberships: [
      { tenant: slug, roles: ['admin', 'member'], external_id: `x-${randomUUID()}` },
      { tenant: second, roles: ['member'] },
    ],
  })
  t.match((await importOf([ada])).json(), { created: 1 })
  const due = await logIn(ada.email, password)
  t.match(due, { status: 200, body: { otp_required: true, methods: ['totp'] } })
  const shown = await service.call('POST', '/api/v1/auth/otp/verify/', {
    token: due.body.temporary_token,
    body: { code: codeAt(secret, service.now()) },
  })
  t.equal(shown.status, 200)
  const me = await service.call('GET', '/api/v1/users/me/', { token: shown.body.access })
  t.match(me.body, { first_name: 'Ada', last_name: 'Lovelace', email_verified: true, mfa_enabled: true })
  t.same(
    me.body.memberships.map((one: { tenant: { id: string }; roles: string[] }) => [one.tenant.id, one.roles]),
    [
      [owner.tenantId, ['admin', 'member']],
      [second, ['member']],
    ],
  )
  const events = await rows(
    'select type from events where tenant_id = $1 and actor_id is null order by type',
    [second],
  )
  t.same(events, [{ type: 'tenant.member_added' }])
  const secrets = await rows(
    "select 1 from audit_log where changes::text like '%' || $1 || '%' or changes::text like '%$2b$%'",
    [secret],
  )
  t.same(secrets, [], 'no secret is in a log')
})

t.test('a person without a tenant gets one of their own, and one without a password resets it', async (t) => {
  const bare = person({ password_hash: undefined, memberships: [], email_verified: undefined })
  t.match((await importOf([bare])).json(), { created: 1 })
  t.equal((await logIn(bare.email, password)).status, 401)
  const owned = await rows(
    'select r.name from memberships m join membership_roles mr on mr.membership_id = m.id join roles r on r.id = mr.role_id where m.email = $1',
    [bare.email],
  )
  t.same(owned, [{ name: 'owner' }])
})

t.test('no line is imported twice, and a run that was ended goes on', async (t) => {
  const people = Array.from({ length: 250 }, () => person())
  const file = fileOf(people, 'resumed.jsonl')
  const taken = `x-${randomUUID()}`
  people[220]!.memberships = [{ tenant: slug, roles: ['member'], external_id: taken } as never]
  const clashing = person({ memberships: [{ tenant: slug, roles: ['member'], external_id: taken }] })
  fileOf(people, 'resumed.jsonl')
  t.equal((await importOf([clashing])).code, 0, 'another import takes a name that a line wants')
  const stopped = await callCli(['users:import', file, '--json'], { env })
  t.equal(stopped.code, 1)
  t.match(stopped.said, /line 221, external_id: Another member has this external_id.*another run goes on/)
  people[220]!.memberships = [{ tenant: slug, roles: ['member'] }]
  fileOf(people, 'resumed.jsonl')
  const { created, known } = (await callCli(['users:import', file, '--json'], { env })).json()
  t.equal(created + known, 250)
  t.ok(known >= 200, 'what was written stayed')
  t.match((await callCli(['users:import', file, '--json'], { env })).json(), { created: 0, known: 250 })
  const count = await rows(
    'select count(*)::int n from memberships where tenant_id = $1 and email = any($2)',
    [owner.tenantId, people.map(({ email }) => email)],
  )
  t.same(count, [{ n: 250 }], 'none twice')
  t.match(
    (await importOf([person({ id: people[0]!.id })])).json(),
    { created: 1 },
    'another import has ids of its own',
  )
  const other = await callCli(
    ['users:import', fileOf([person({ id: people[0]!.id })], 'resumed.jsonl'), '--json'],
    { env },
  )
  t.match(other.said, /line 1, id: this import had another person with this id/, 'a file with the same name')
})

t.test('two runs of one file at the same time write no one twice', async (t) => {
  const people = Array.from({ length: 60 }, () => person())
  const file = fileOf(people, 'parallel.jsonl')
  await Promise.all([1, 2, 3].map(() => callCli(['users:import', file, '--json'], { env })))
  t.match((await callCli(['users:import', file, '--json'], { env })).json(), { rows: 60 })
  const count = await rows('select count(*)::int n from memberships where email = any($1)', [
    people.map(({ email }) => email),
  ])
  t.same(count, [{ n: 60 }])
})

t.test('an account that proved its address gains memberships, and nothing else', async (t) => {
  const known = await service.signUp()
  await proveAddress(service, known)
  const line = person({
    email: known.email,
    first_name: 'Mallory',
    totp_secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
  })
  t.match((await importOf([line])).json(), { created: 0, joined: 1, kept: [1] })
  t.equal((await logIn(known.email, password)).status, 401)
  t.match(await logIn(known.email, known.password), { status: 200, body: { access: String } })
  const { body } = await known.get('/api/v1/users/me/')
  t.notMatch(body, { first_name: 'Mallory' })
  t.same(
    body.memberships.map((one: { tenant: { id: string } }) => one.tenant.id),
    [known.tenantId, owner.tenantId],
  )
})

t.test('a planted account gains nothing', async (t) => {
  const mallory = await service.signUp()
  const key = await mallory.post('/api/v1/api-keys/', { body: { name: 'planted', scopes: ['user:read'] } })
  const line = person({ email: mallory.email, first_name: 'Ada' })
  const refused = await importOf([{ ...line, email_verified: false }])
  t.equal(refused.code, 1)
  t.match(refused.said, /line 1, email: .*unproven_account/)
  t.match((await importOf([line])).json(), { secured: 1 })
  t.equal((await mallory.get('/api/v1/users/me/')).status, 401, 'the session of the stranger is over')
  t.equal((await logIn(mallory.email, mallory.password)).status, 401, 'and the password')
  if (key.status === 201)
    t.equal(
      (await service.call('GET', '/api/v1/users/me/', { token: key.body.key })).status,
      401,
      'and the key',
    )
  const signedIn = await logIn(mallory.email, password)
  t.match(signedIn, { status: 200, body: { access: String } })
  const me = await service.call('GET', '/api/v1/users/me/', { token: signedIn.body.access })
  t.equal(
    me.body.current_tenant.id,
    owner.tenantId,
    'the sign-in does not lead to the tenant of the stranger',
  )
})

t.test('exports of other products', async (t) => {
  const salt = randomBytes(16)
  const pbkdf2 = pbkdf2Sync(password, salt, 1_000, 64, 'sha512')
  const hex = randomBytes(16).toString('hex')
  const better = scryptSync(password.normalize('NFKC'), hex, 64, {
    N: 16_384,
    r: 16,
    p: 1,
    maxmem: 67_108_864,
  })
  const id = () => randomUUID()
  const exports: Record<string, (email: string) => unknown> = {
    keycloak: (email) => ({
      realm: 'acme',
      users: [
        {
          id: id(),
          username: email,
          email,
          emailVerified: true,
          firstName: 'Ada',
          lastName: 'Lovelace',
          credentials: [
            {
              type: 'password',
              secretData: JSON.stringify({ value: base64(pbkdf2), salt: base64(salt) }),
              credentialData: JSON.stringify({ hashIterations: 1000, algorithm: 'pbkdf2-sha512' }),
            },
          ],
        },
      ],
    }),
    auth0: (email) => ({ _id: { $oid: id() }, email, email_verified: true, passwordHash: bcryptHash }),
    'better-auth': (email) => [
      {
        id: id(),
        email,
        emailVerified: true,
        name: 'Ada Lovelace',
        password: `${hex}:${better.toString('hex')}`,
      },
    ],
    supabase: (email) => ({
      id: id(),
      email,
      encrypted_password: bcryptHash.replace('$2b$', '$2a$'),
      email_confirmed_at: '2026-01-01 00:00:00+00',
      raw_user_meta_data: { full_name: 'Ada Lovelace' },
    }),
  }
  for (const [from, write] of Object.entries(exports)) {
    const email = `${randomUUID()}@import.example`
    const text = JSON.stringify(write(email), null, from === 'keycloak' ? 2 : undefined)
    const { code, said } = await callCli(
      ['users:import', fileOf([text]), '--from', from, '--tenant', slug, '--json'],
      { env },
    )
    t.equal(code, 0, `${from} ${said}`)
    const signedIn = await logIn(email, password)
    t.equal(signedIn.status, 200, from)
    const me = await service.call('GET', '/api/v1/users/me/', { token: signedIn.body.access })
    t.match(me.body, { email, email_verified: true, current_tenant: { id: owner.tenantId } }, from)
  }
  const email = `${randomUUID()}@import.example`
  const firebase = {
    users: [
      {
        localId: id(),
        email,
        emailVerified: true,
        displayName: 'Ada Lovelace',
        salt: '42xEC+ixf3L2lw==',
        passwordHash:
          'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
      },
    ],
  }
  writeFileSync(
    join(folder, 'hash.txt'),
    'hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,\n  base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 14,\n}',
  )
  const args = [
    'users:import',
    fileOf([firebase]),
    '--from',
    'firebase',
    '--firebase-hash',
    join(folder, 'hash.txt'),
  ]
  t.equal((await callCli([...args, '--tenant', slug, '--json'], { env })).code, 0)
  t.equal((await logIn(email, 'user1password')).status, 200)
})
