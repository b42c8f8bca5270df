import { randomBytes } from 'node:crypto'
import t from 'tap'
import { type Client, startService } from '../helpers/service.ts'
import { expect } from '../tenancy/staff.ts'
import { callCli, runCli, settingsFor } from './run-cli.ts'

const keys = randomBytes(32).toString('base64url')
const service = await startService(t, { env: { SECRET_KEYS: keys } })
const env = settingsFor(service.databases, keys)

const create = (args: string[], stdin?: string) =>
  callCli(['admin:create', '--json', ...args], { env, ...(stdin !== undefined && { stdin }) })

let people = 0
const freshEmail = () => `admin${++people}@example.com`

const refusal = async (args: string[], stdin?: string) => {
  const { code, out, said } = await create(args, stdin)
  return { code, out, ...JSON.parse(said).error }
}

const entries = async (reader: Client, action: string) =>
  (await expect(200, reader.get(`/api/v1/audit-log/?page_size=100&action=${action}`))).results

t.test('the command creates a person and a tenant, and prints the password once', async (t) => {
  const email = freshEmail()
  const ran = await create(['--email', email.toUpperCase(), '--tenant', 'Acme Ltd', '--first-name', 'Ada'])
  t.equal(ran.code, 0, ran.said)
  const made = ran.json()
  t.match(made, {
    user: { email, outcome: 'created' },
    tenant: { name: 'Acme Ltd', slug: 'acme-ltd', outcome: 'created' },
    password_set: true,
    password: /^[\w-]{24}$/,
  })
  t.notMatch(ran.said, made.password, 'stderr does not contain it')
  const ada = await service.logIn({ email, password: made.password })
  t.equal(ada.tenantId, made.tenant.id)
  const me = await expect(200, ada.get('/api/v1/users/me/'))
  t.match(me, { email_verified: true, first_name: 'Ada', roles: ['owner'] })

  for (const action of ['tenant:create', 'user:register', 'email_verification:confirm'])
    t.match(
      await entries(ada, action),
      [{ actor: { type: 'system', id: null }, user_agent: 'cli admin:create' }],
      action,
    )

  const again = await create(['--email', email, '--tenant', 'acme ltd'], 'not read at all\n')
  t.match(again.json(), {
    user: { outcome: 'found' },
    tenant: { id: made.tenant.id, outcome: 'found' },
    password_set: false,
  })
  t.notOk('password' in again.json())
  await service.logIn({ email, password: made.password })
})

t.test('without --tenant a personal tenant is created, and the next run finds it', async (t) => {
  const email = freshEmail()
  const made = (await create(['--email', email])).json()
  t.match(made.tenant, { name: `${email.split('@')[0]}'s tenant`, outcome: 'created' })
  t.match((await create(['--email', email])).json().tenant, { id: made.tenant.id, outcome: 'found' })
})

t.test('a password from stdin is used unchanged, and must meet the rules of registration', async (t) => {
  const email = freshEmail()
  t.match(await refusal(['--email', email, '--password-stdin'], 'short\n'), {
    code: 'validation_error',
    message: /at least 8/,
    out: '',
  })
  t.match(await refusal(['--email', email, '--password-stdin'], 'password1\n'), { message: /too common/ })
  t.match(await refusal(['--email', email, '--password-stdin'], `${email}\n`), {
    message: /must not be your address/,
  })
  const args = ['admin:create', '--json', '--email', email, '--password-stdin']
  const ran = await runCli(args, { env, stdin: ' a quiet harbour \r\n' })
  t.equal(ran.code, 0, ran.said)
  t.notMatch(ran.out + ran.said, 'harbour')
  await service.logIn({ email, password: ' a quiet harbour ' })
})

t.test('an existing tenant is given to the person only with --yes', async (t) => {
  const founder = await service.signUp()
  const tenant = await expect(201, founder.post('/api/v1/tenants/', { name: 'Old Firm' }))
  const email = freshEmail()
  for (const named of [tenant.id, tenant.slug, 'old FIRM'])
    t.match(
      await refusal(['--email', email, '--tenant', named]),
      { code: 'tenant_exists', message: /Add --yes/ },
      named,
    )
  const made = (await create(['--email', email, '--tenant', tenant.slug, '--yes'])).json()
  t.match(made, { user: { outcome: 'created' }, tenant: { id: tenant.id, outcome: 'joined' } })
  const owner = await service.logIn({ email, password: made.password })
  t.equal(owner.tenantId, tenant.id)
  t.match((await expect(200, owner.get('/api/v1/users/me/'))).roles, ['owner'])
  t.match(await entries(owner, 'member:create'), [{ actor: { type: 'system' } }])

  const domains = { settings: { allowed_email_domains: ['firm.example'] } }
  await expect(200, owner.patch(`/api/v1/tenants/${tenant.id}/`, domains))
  t.match(await refusal(['--email', freshEmail(), '--tenant', tenant.slug, '--yes']), {
    message: /does not accept addresses/,
  })
})

t.test('a member of a tenant becomes its owner and keeps their roles', async (t) => {
  const founder = await service.signUp()
  const member = await service.signUp()
  const tenant = await expect(201, founder.post('/api/v1/tenants/', { name: 'Raised Ltd' }))
  await founder.switchTo(tenant.id)
  const path = `/api/v1/tenants/${tenant.id}/members/`
  await expect(201, founder.post(path, { user_id: member.id, roles: ['auditor'] }))
  const verified = await service.mailTo(member.email, 'onfirm').catch(() => undefined)
  t.ok(verified)
  const ran = await create(['--email', member.email, '--tenant', tenant.slug, '--yes'])
  t.match(ran.json(), { user: { outcome: 'secured' }, tenant: { outcome: 'joined' } }, ran.said)
  const owner = await service.logIn({ ...member, password: ran.json().password })
  await owner.switchTo(tenant.id)
  t.same((await expect(200, owner.get('/api/v1/users/me/'))).roles.sort(), ['auditor', 'owner'])
})

t.test('a person who registered an address and never verified it loses access to the account', async (t) => {
  const squatter = await service.signUp()
  const ran = await create(['--email', squatter.email, '--tenant', 'Squatted Ltd'])
  t.match(ran.json(), {
    user: { id: squatter.id, outcome: 'secured' },
    tenant: { outcome: 'created' },
    password_set: true,
  })
  t.equal((await squatter.get('/api/v1/users/me/')).status, 401, 'their session has ended')
  const { email, password, refresh } = squatter
  t.equal((await service.call('POST', '/api/v1/auth/login/', { body: { email, password } })).status, 401)
  t.equal((await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } })).status, 401)
  await service.logIn({ email, password: ran.json().password })
  t.ok(await service.mailTo(email, 'assword'), 'a mail informs the owner of the address')
})

t.test('a tenant that a stranger created under the address is not used', async (t) => {
  const squatter = await service.signUp()
  const accomplice = await service.signUp()
  const trap = await expect(201, squatter.post('/api/v1/tenants/', { name: 'Trap Ltd' }))
  await squatter.switchTo(trap.id)
  const member = { user_id: accomplice.id, roles: ['owner'] }
  await expect(201, squatter.post(`/api/v1/tenants/${trap.id}/members/`, member))
  const { email } = squatter
  t.match(await refusal(['--email', email, '--tenant', 'Trap Ltd']), { code: 'tenant_exists' })
  const made = (await create(['--email', email])).json()
  t.match(made, { user: { outcome: 'secured' }, tenant: { outcome: 'created' } })
  const chief = await service.logIn({ email, password: made.password })
  t.equal(chief.tenantId, made.tenant.id, 'the first login leads to it')
})

t.test('two runs at the same time create one person and one tenant', async (t) => {
  const email = freshEmail()
  const both = await Promise.all([1, 2].map(() => create(['--email', email, '--tenant', 'Twice Ltd'])))
  const [first, second] = both.map((ran) => ran.json())
  t.same([first.user.outcome, second.user.outcome].sort(), ['created', 'found'])
  t.equal(first.tenant.id, second.tenant.id)
})

t.test('an unknown id and a deactivated person are refused with an explanation', async (t) => {
  const email = freshEmail()
  t.match(await refusal(['--email', email, '--tenant', crypto.randomUUID()]), { code: 'not_found' })
  await create(['--email', email])
  await callCli(['users:deactivate', '--email', email], { env })
  t.match(await refusal(['--email', email]), { code: 'inactive', message: /users:activate/ })
})

t.test('without --json it prints person, tenant and password, one per line', async (t) => {
  const { code, out, said } = await callCli(['admin:create', '--email', freshEmail()], { env })
  t.equal(code, 0)
  t.equal(said, '')
  t.match(
    out,
    /^Person {4}\S+ {2}[\w-]{36} {2}created, verified\nTenant {4}\S+ {2}[\w-]{36} {2}created, they own it\nPassword {2}[\w-]{24} {3}\(shown once\)\n$/,
  )
})
