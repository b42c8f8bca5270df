import { randomBytes } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { proveAddress } from '../helpers/prove-address.ts'
import { startService, tokenIn } from '../helpers/service.ts'
import { enrol } from '../identity/otp/authenticator.ts'
import { expect } from '../tenancy/staff.ts'
import { callCli, runCli, settingsFor } from './run-cli.ts'

// Commands for operators, while the service runs.

const keys = randomBytes(32).toString('base64url')
const service = await startService(t, { env: { SECRET_KEYS: keys } })
const env = settingsFor(service.databases, keys)
const call = (...args: string[]) => callCli(args, { env })

async function rows(query: string, values: unknown[]): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  try {
    return (await client.query(query, values)).rows
  } finally {
    await client.end()
  }
}

const logIn = ({ email, password }: { email: string; password: string }) =>
  service.call('POST', '/api/v1/auth/login/', { body: { email, password } })

t.test('a deactivated person loses all access at once, and has it again when activated', async (t) => {
  const ada = await service.signUp()
  const elsewhere = await service.logIn(ada)
  const other = await service.signUp()
  const { code, out, json } = await runCli(['users:deactivate', '--email', ada.email, '--json'], { env })
  t.equal(code, 0)
  t.match(json(), {
    user: { id: ada.id, email: ada.email, is_active: false },
    changed: true,
    sessions_ended: 2,
    tenants_without_owner: [/^test-s-tenant/],
  })
  t.equal(out.trim().split('\n').length, 1)

  for (const session of [ada, elsewhere]) {
    const answer = await session.get('/api/v1/users/me/')
    t.match(answer, { status: 401, body: { code: 'session_revoked' } })
    const refresh = await service.call('POST', '/api/v1/auth/refresh/', {
      body: { refresh: session.refresh },
    })
    t.equal(refresh.status, 401)
  }
  t.match(await logIn(ada), { status: 401, body: { code: 'invalid_credentials' } })
  t.equal((await other.get('/api/v1/users/me/')).status, 200, 'other people are unaffected')

  const events = await rows(
    "select type, actor_id from events where tenant_id = $1 and request_id like 'cli-%' order by type",
    [ada.tenantId],
  )
  const told = ['identity.session_revoked', 'identity.session_revoked', 'identity.user_updated']
  t.same(
    events.map((event) => ({ ...event })),
    told.map((type) => ({ type, actor_id: null })),
  )
  const audited = await rows(
    "select action, actor_type, changes from audit_log where tenant_id = $1 and target_id = $2 and actor_type = 'system'",
    [ada.tenantId, ada.id],
  )
  t.match(audited, [{ action: 'user:deactivate', changes: { is_active: { before: true, after: false } } }])

  t.match((await call('users:deactivate', '--id', ada.id, '--json')).json(), {
    changed: false,
    sessions_ended: 0,
  })
  t.match((await call('users:deactivate', '--id', ada.id)).out, 'was already inactive')
  t.match((await call('users:activate', '--id', ada.id, '--json')).json(), {
    user: { is_active: true },
    changed: true,
  })
  t.equal((await ada.get('/api/v1/users/me/')).status, 401, 'an old session stays ended')
  t.equal((await logIn(ada)).status, 200)
})

t.test('a login that runs while its person is deactivated opens no session', async (t) => {
  const ada = await service.signUp()
  await Promise.all([
    ...Array.from({ length: 6 }, () => logIn(ada)),
    call('users:deactivate', '--email', ada.email),
  ])
  const open = await rows('select 1 from sessions where user_id = $1 and ended_at is null', [ada.id])
  t.same(open, [])
})

t.test('a reset token of a deactivated person stays invalid after they are activated', async (t) => {
  const ada = await service.signUp()
  await expect(200, service.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } }))
  const [, token] = /[?&]token=([\w-]+)/.exec((await service.mailTo(ada.email, 'assword')).text) ?? []
  await call('users:deactivate', '--email', ada.email)
  await call('users:activate', '--email', ada.email)
  const body = { token, password: 'another quiet harbour' }
  t.match(await service.call('POST', '/api/v1/auth/password/reset/confirm/', { body }), {
    status: 400,
    body: { code: 'token_invalid' },
  })
})

t.test('an unknown address or id exits 1 with an explanation', async (t) => {
  for (const args of [
    ['--email', 'nobody@example.com'],
    ['--id', crypto.randomUUID()],
  ]) {
    const { code, out, said } = await call('users:deactivate', ...args)
    t.match({ code, out, said }, { code: 1, out: '', said: 'There is no person with that address or id.\n' })
  }
})

t.test(
  'tenants are listed oldest first, and filtered by status and by the start of slug or name',
  async (t) => {
    const owner = await service.signUp()
    const found = async (name: string) => expect(201, owner.post('/api/v1/tenants/', { name }))
    const [one, two, three] = [await found('Zebra One'), await found('Zebra Two'), await found('Zebra Three')]
    await owner.switchTo(two.id)
    await expect(200, owner.post(`/api/v1/tenants/${two.id}/suspend/`))
    await owner.switchTo(three.id)
    await expect(204, owner.delete(`/api/v1/tenants/${three.id}/`))

    const list = async (...args: string[]) => (await call('tenants:list', '--json', ...args)).json()
    const ids = async (...args: string[]) => (await list(...args)).tenants.map(({ id }: { id: string }) => id)
    t.same((await list('--search', 'ZEBRA o')).tenants, [
      {
        id: one.id,
        slug: 'zebra-one',
        name: 'Zebra One',
        status: 'active',
        member_count: 1,
        created_at: one.created_at,
      },
    ])
    t.same(await ids('--search', 'zebra'), [one.id, two.id])
    t.same(await ids('--search', 'zebra-t'), [two.id])
    t.same(await ids('--status', 'suspended'), [two.id])
    t.same(await ids('--status', 'deleted'), [three.id])
    t.same(await ids('--search', '%'), [])
    t.match(await list('--limit', '1'), { tenants: { length: 1 }, more: true })

    const { out, said } = await call('tenants:list', '--search', 'zebra', '--limit', '1')
    t.match(
      out,
      /^id +slug +name +status +members +created\n[\w-]{36} {2}zebra-one {2}Zebra One {2}active {2}1 +\S+Z\n$/,
    )
    t.equal(said, 'There are more than 1: --limit shows more.\n')
  },
)

t.test('control characters in the name of a tenant do not reach the terminal', async (t) => {
  const owner = await service.signUp()
  const name = 'Quiet\u001b[2J\u202etenant\u009b2J'
  await expect(201, owner.post('/api/v1/tenants/', { name }))
  const { out } = await call('tenants:list', '--search', 'quiet')
  t.match(out, 'Quiet [2J tenant')
  const listed = await call('tenants:list', '--search', 'quiet', '--json')
  t.equal(listed.json().tenants[0].name, name)
  t.notMatch(listed.out, /[\u007f-\u009f\u202a-\u202e]/)
  const refused = await callCli(['admin:create', '--email', 'new@example.com', '--tenant', name], { env })
  t.match(refused, { code: 1, said: 'and they do not own it' })
  t.notMatch(refused.said, /[\u007f-\u009f\u202a-\u202e]/)
})

t.test('keys are rotated and sealed again', async (t) => {
  const { code, json } = await call('keys:rotate', '--json')
  t.equal(code, 0)
  t.match(json(), { kid: String, signs_at: /Z$/ })
  t.match(await call('keys:rotate'), {
    code: 0,
    out: /^Key \S+ is published\. Running processes sign with it from \S+, or up to a minute later\n$/,
  })
  const fresh = { ...env, SECRET_KEYS: `${randomBytes(32).toString('base64url')},${keys}` }
  const resealed = await callCli(['keys:reseal', '--json'], { env: fresh })
  t.match(
    resealed.json().tables.find(({ table }: { table: string }) => table === 'signing_keys'),
    { lost: 0 },
  )
  const stranger = { ...env, SECRET_KEYS: randomBytes(32).toString('base64url') }
  t.match(await callCli(['keys:reseal'], { env: stranger }), {
    code: 1,
    out: 'that no key of SECRET_KEYS opens',
  })
  await callCli(['keys:reseal'], {
    env: { ...env, SECRET_KEYS: `${keys},${fresh.SECRET_KEYS.split(',')[0]}` },
  })
})

t.test('keys are listed, and a leaked one is revoked', async (t) => {
  const listed = async () => (await call('keys:list', '--json')).json().keys
  const before = await listed()
  t.match(before.at(-1), { kid: String, algorithm: 'ES256', signs_from: /Z$/ })
  t.equal(before.filter(({ state }: { state: string }) => state === 'signing').length, 1)
  const [{ kid }] = before
  const { code, json } = await call('keys:revoke', `--kid=${kid}`, '--yes', '--json')
  t.equal(code, 0)
  const { new_kid } = json()
  const kids = (await listed()).map((key: { kid: string }) => key.kid)
  t.equal(kids[0], new_kid, 'a new key replaces it, because the others are retired')
  t.notOk(kids.includes(kid))
  t.match(await call('keys:revoke', `--kid=${kid}`, '--yes'), { code: 1, said: 'No key has that kid.' })
  t.match(await call('keys:revoke', `--kid=${kids.at(-1)}`, '--yes'), {
    code: 0,
    out: /^The key is revoked\. Every process refuses its tokens within 60 s\.\n$/,
  })
})

t.test('sessions:end-all ends all sessions, and invalidates mailed links and codes', async (t) => {
  const [ada, ben] = [await service.signUp(), await service.signUp()]
  const verify = '/api/v1/auth/email/verify/'
  await expect(200, ada.post(`${verify}send/`, {}))
  const token = tokenIn(await service.mailTo(ada.email, 'Confirm'))
  const { code, json } = await call('sessions:end-all', '--yes', '--json')
  t.equal(code, 0)
  t.match(json(), { sessions: Number, pending_sign_ins: Number, links: Number, codes: Number })
  t.ok(json().sessions >= 2 && json().links >= 1)
  for (const person of [ada, ben]) {
    t.match(await person.get('/api/v1/users/me/'), { status: 401, body: { code: 'session_revoked' } })
    const refresh = await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } })
    t.equal(refresh.status, 401)
    t.equal((await logIn(person)).status, 200)
  }
  t.equal((await service.call('POST', `${verify}confirm/`, { body: { token } })).status, 400)
  const audited =
    "select actor_type, user_agent from audit_log where tenant_id = $1 and action = 'session:end_all'"
  t.same(await rows(audited, [ben.tenantId]), [{ actor_type: 'system', user_agent: 'cli sessions:end-all' }])
  t.match(await call('sessions:end-all', '--yes'), { code: 0, out: /^Ended: 2 sessions, 0 pending sign-ins/ })
})

t.test('doctor finds no fault in a running service', async (t) => {
  const { code, json } = await call('doctor', '--json')
  t.equal(code, 0)
  t.equal(json().ok, true)
  t.match(await call('doctor'), { code: 0, out: /^(✓ .*\n)+$/ })
  const away = { ...env, DATABASE_API_URL: 'postgres://bailiwick_api:canary@127.0.0.1:1/x' }
  const ill = await callCli(['doctor', '--json'], { env: away })
  t.match(ill, { code: 1, said: '' })
  t.equal(ill.json().ok, false)
})

t.test('seed creates the demo once, and tenants with people who can log in', async (t) => {
  const demo = await call('seed', '--json')
  const [admin] = demo.json().accounts
  t.match(admin, { email: 'admin@demo.test', role: 'owner' })
  t.equal((await logIn(admin)).status, 200)
  t.match(await call('seed'), { code: 0, out: 'The demo exists already. Nothing was changed.\n' })

  const seeded = await call('seed', '--tenants', '2', '--members', '4', '--json')
  const { password, accounts } = seeded.json()
  t.equal(accounts.length, 2)
  t.equal(seeded.said, '')
  const few = await call('seed', '--tenants', '1')
  t.match(few, {
    code: 0,
    out: /\nPassword of every account: \S+ {3}\(shown once\)\n$/,
    said: 'Tenant 1 of 1\n',
  })
  for (const { owner, tenant } of accounts) {
    const client = await service.logIn({ email: owner, password })
    t.equal(client.tenantId, tenant)
    const members = await expect(200, client.get(`/api/v1/tenants/${tenant}/members/?ordering=-created_at`))
    t.equal(members.count, 4)
    const [newest] = members.results
    t.same(newest.roles, ['member'])
    const other = await service.logIn({ email: newest.email, password })
    t.match((await other.get('/api/v1/users/me/')).body, { email_verified: true, id: newest.user_id })
    const events = `select e.type from events e join outbox o on o.id = e.id
                    where e.subject = $1 and e.type like 'identity.user%'`
    t.same(await rows(events, [newest.user_id]), [{ type: 'identity.user_created' }])
  }
})

t.test('users:reset-factors removes all second factors, and a mail informs the person', async (t) => {
  const ada = await service.signUp()
  await proveAddress(service, ada)
  await enrol(service, ada)
  await expect(200, ada.post('/api/v1/auth/otp/static/generate/'))
  const args = ['users:reset-factors', '--id', ada.id, '--yes', '--json']
  const done = (await call(...args)).json()
  t.match(done, { user: { id: ada.id, email: ada.email }, sessions_ended: 1 })
  t.same(done.removed.sort(), ['static', 'totp'])
  t.equal((await ada.get('/api/v1/users/me/')).status, 401)
  await service.mailTo(ada.email, 'second factors at Bailiwick were removed')
  const again = await service.logIn(ada)
  t.match((await again.get('/api/v1/users/me/')).body, { mfa_enabled: false })
  const { results } = await expect(200, again.get('/api/v1/audit-log/?action=user:reset_factors'))
  t.match(results, [{ actor: { type: 'system', id: null }, target: { id: ada.id } }])
  t.match((await call(...args)).json(), { removed: [], sessions_ended: 1 })
  t.equal((await call('users:reset-factors', '--email', 'no.one@example.com', '--yes')).code, 1)
})
