import { randomBytes } from 'node:crypto'
import t from 'tap'
import { deleteOutdated } from '../../workers/retention.ts'
import { colleague } from '../helpers/colleague.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { startService, tokenIn } from '../helpers/service.ts'
import { enrol, longProven } from '../identity/otp/authenticator.ts'
import { expect } from '../tenancy/staff.ts'
import { callCli, settingsFor } from './run-cli.ts'

// What an operator asks about people: is there an account, did the mail leave, why was it refused.

const keys = randomBytes(32).toString('base64url')
const service = await startService(t, { env: { SECRET_KEYS: keys } })
const env = settingsFor(service.databases, keys)
const call = (...args: string[]) => callCli(args, { env })
const logIn = (email: string, password: string) =>
  service.call('POST', '/api/v1/auth/login/', { body: { email, password } })

t.test('people are found by the start of their address or of a name, in any letter case', async (t) => {
  const ada = await service.signUp({ email: 'quilla@example.com', first_name: 'Zenobia' })
  for (const search of ['QUILLA@', 'zeno'])
    t.match((await call('users:find', '--search', search, '--json')).json(), {
      people: [
        { id: ada.id, email: ada.email, email_verified: false, first_name: 'Zenobia', is_active: true },
      ],
      more: false,
    })
  t.same((await call('users:find', '--search', 'uilla', '--json')).json().people, [])
})

t.test('a person is shown with tenants, factors, sessions and the state of their mails', async (t) => {
  const ada = await service.signUp()
  await expect(200, service.call('POST', '/api/v1/auth/password/reset/', { body: { email: ada.email } }))
  await service.mailTo(ada.email, 'assword')
  const shown = (await call('users:show', '--email', ada.email, '--json')).json()
  t.match(shown, {
    id: ada.id,
    tenants: [{ id: ada.tenantId, status: 'active', membership: 'active', roles: ['owner'] }],
    factors: [],
    api_keys: 0,
    sessions: 1,
    last_login_at: String,
  })
  const reset = shown.mails.find(({ template }: { template: string }) => template === 'password_reset')
  t.match(reset, { status: 'sent', attempts: 1, sent_at: String, tenant_id: ada.tenantId })
  t.match((await call('users:show', '--id', ada.id)).out, /password_reset +sent/)
  t.match(await call('users:show', '--email', 'missing@example.com'), { code: 1, said: /There is no person/ })

  const listed = (await call('mails:list', '--to', ada.email.toUpperCase(), '--json')).json()
  t.same(listed.mails, shown.mails, 'in any letter case')
  t.same((await call('mails:list', '--to', 'missing@example.com', '--json')).json(), { mails: [] })
  t.match(await call('mails:list', '--to', 'missing@example.com'), {
    code: 0,
    out: 'There is no record of a mail to this address.\n',
  })
})

t.test('with the erasure of a person their mails are no longer found by the address', async (t) => {
  const ada = await service.signUp()
  await proveAddress(service, ada)
  const mails = async () => (await call('mails:list', '--to', ada.email, '--json')).json().mails.length
  t.ok((await mails()) > 0)
  await expect(204, ada.delete('/api/v1/users/me/', { body: { current_password: ada.password } }))
  service.advance(3_600_000)
  await deleteOutdated(service.worker!)
  t.equal(await mails(), 0)
})

t.test('an operator gives a person a new password, once, and their sessions end', async (t) => {
  const ada = await service.signUp()
  t.match(await call('admin:password', '--email', ada.email), { code: 2, said: /--yes/ })
  const { password, user } = (await call('admin:password', '--email', ada.email, '--yes', '--json')).json()
  t.same(user, { id: ada.id, email: ada.email })
  t.match(await ada.get('/api/v1/users/me/'), { status: 401, body: { code: 'session_revoked' } })
  t.match(await logIn(ada.email, ada.password), { status: 401, body: { code: 'invalid_credentials' } })
  t.equal((await logIn(ada.email, password)).status, 200)
  t.match(await call('admin:password', '--email', 'missing@example.com', '--yes'), {
    code: 1,
    said: /no person/,
  })
})

t.test(
  'the new password of an operator ends what a reset by mail ends: keys and young factors',
  async (t) => {
    service.advance(Math.max(0, Date.now() - service.now())) // the command takes the time of the machine
    const ada = await service.logIn(await longProven(service))
    const { key } = await expect(201, ada.post('/api/v1/users/me/keys/', { name: 'From before' }))
    await enrol(service, ada)
    const { password } = (await call('admin:password', '--id', ada.id, '--yes', '--json')).json()
    const again = await service.logIn({ email: ada.email, password })
    t.equal(again.tenantId, ada.tenantId)
    t.match((await again.get('/api/v1/users/me/')).body, { email_verified: true, mfa_enabled: false })
    t.match(await service.call('GET', '/api/v1/users/me/', { token: key }), { status: 401 })
  },
)

t.test(
  'an operator who sets the password of an unverified account gives it to its address alone',
  async (t) => {
    const squatter = await service.signUp()
    await enrol(service, squatter)
    const { password } = (await call('admin:password', '--email', squatter.email, '--yes', '--json')).json()
    const mail = await service.mailTo(squatter.email, 'was secured')
    t.match(mail.text, /the operator of this service set a new password\..* were removed\./s)
    const owner = await service.logIn({ email: squatter.email, password })
    t.not(owner.tenantId, squatter.tenantId, 'a fresh tenant')
    t.match((await owner.get('/api/v1/users/me/')).body, { email_verified: true, mfa_enabled: false })
    t.match(await squatter.get('/api/v1/users/me/'), { status: 401 })
  },
)

t.test('no earlier address takes an account back that an operator gave to its person', async (t) => {
  const earlier = await longProven(service)
  const squatter = await service.logIn(earlier)
  const email = `claimed.${earlier.email}`
  await expect(200, squatter.patch('/api/v1/users/me/', { email }))
  const undo = { token: tokenIn(await service.mailTo(earlier.email, 'address was changed')) }
  const { password } = (await call('admin:password', '--email', email, '--yes', '--json')).json()
  t.match(await service.call('POST', '/api/v1/auth/email/undo/', { body: undo }), { status: 400 })
  t.equal((await logIn(email, password)).status, 200)
})

t.test('a deactivated person gets no new password', async (t) => {
  const ada = await service.signUp()
  await call('users:deactivate', '--id', ada.id)
  t.match(await call('admin:password', '--id', ada.id, '--yes'), { code: 1, said: /users:activate/ })
})

t.test('a decision is shown with its reasons, by the id in the refusal', async (t) => {
  const owner = await service.signUp()
  const guest = await service.signUp()
  const path = `/api/v1/tenants/${owner.tenantId}`
  await expect(201, owner.post(`${path}/members/`, { user_id: guest.id }))
  await guest.switchTo(owner.tenantId)
  const { body } = await guest.post(`${path}/roles/`, { name: 'Mine', permissions: [] })
  const asked = ['decisions:show', '--tenant', owner.tenantId, '--id', body.decision_id]
  t.match((await call(...asked, '--json')).json(), {
    subject: `${guest.id} (${guest.email})`,
    action: 'role:create',
    effect: 'deny',
    reasons: [String],
    unmet_policies: [],
  })
  const elsewhere = ['decisions:show', '--tenant', guest.id, '--id', body.decision_id]
  t.match(await call(...elsewhere), { code: 1, said: /no such decision/ })
})

t.test('of a denial it names the policies that do not apply, without what they compare', async (t) => {
  const owner = await service.signUp()
  const member = await colleague(service, owner)
  const definition = { category: 'resource', key: 'amount', data_type: 'integer' }
  await expect(201, owner.post('/api/v1/attribute-definitions/', definition))
  const rules = { effect: 'allow', actions: ['order:read'] }
  const small = { attribute: 'resource.amount', operator: 'lte', value: 1000 }
  await expect(201, owner.post('/api/v1/policies/', { ...rules, name: 'Small orders', conditions: small }))
  const subjects = { users: [owner.id] }
  await expect(201, owner.post('/api/v1/policies/', { ...rules, name: 'Of another', subjects }))
  const { body } = await owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: member.id },
    action: { name: 'order:read' },
    resource: { type: 'order', id: '1', properties: { amount: 5000 } },
  })
  const asked = ['decisions:show', '--tenant', owner.tenantId, '--id', body.context.id]
  const comparison = { path: '/conditions', outcome: 'false', attribute: 'resource.amount', operator: 'lte' }
  const { unmet_policies } = (await call(...asked, '--json')).json() as { unmet_policies: object[] }
  t.match(unmet_policies, [
    { name: 'Small orders', covers_subject: true, failed: [comparison] },
    { name: 'Of another', covers_subject: false, failed: [] },
  ])
  const { out: said } = await call(...asked)
  t.match(said, /"Small orders" can permit this, but does not apply: "resource\.amount lte" is false\./)
  t.match(said, /"Of another" can permit this, but does not apply: it is about other members\./)
  t.notMatch(said, /1000|5000/)
})
