import t from 'tap'
import { createAdmin } from '../../../src/identity/admins/create-admin.ts'
import { type Client, claimsOf, startService, tokenIn } from '../../helpers/service.ts'
import { eventsOf, expect, foundFirm, look } from '../../tenancy/staff.ts'
import { attemptLogin, codeAt, enrol, longProven } from '../otp/authenticator.ts'
import { attemptPasskey, registerPasskey, strengthOf } from '../passkeys/software-passkey.ts'

const service = await startService(t, { env: { MAGIC_LINK_ENABLED: 'true' } })
const operator = { requestId: 'test', ip: '', userAgent: 'cli', traceparent: null }
const me = '/api/v1/users/me/'
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const password = 'another quiet harbour'

/** Resets the password by the link that comes to an address. */
async function reset(email: string): Promise<void> {
  await expect(200, post('password/reset', { email }))
  const token = tokenIn(await service.mailTo(email, 'Reset'))
  await expect(200, post('password/reset/confirm', { token, password }))
}

/** Logs in by a link that comes to an address. */
async function magicLink(email: string): Promise<string> {
  const { nonce } = await expect(200, post('magic-link', { email }))
  const token = tokenIn(await service.mailTo(email, 'Someone asked to sign in'))
  return (await expect(200, post('magic-link/confirm', { token, nonce }))).access
}

/** An account that proved its own address more than a day ago, with a passkey and a key, moved to a stranger's address. */
async function trojan(address: string) {
  const owner = await service.logIn(await longProven(service))
  const { authenticator } = await registerPasskey(service, owner)
  service.advance(25 * 3_600_000)
  const again = await attemptPasskey(service, authenticator)
  const { access, refresh } = again.body
  Object.assign(owner, { access, refresh })
  const { key } = await expect(201, owner.post('/api/v1/users/me/keys/', { name: 'k' }))
  await expect(200, owner.patch(me, { email: address }))
  return { owner, authenticator, key }
}

const entered = (access: string) => claimsOf(access).tenant_id
const names = async (client: Pick<Client, 'get'>) =>
  (await expect(200, client.get('/api/v1/tenants/'))).results.map(({ id }: { id: string }) => id)

t.test(
  'a reset by the mailbox of an address that an account changed to leaves nothing from before in it',
  async (t) => {
    const address = 'new.hire@corp.example'
    const { owner, authenticator, key } = await trojan(address)
    await reset(address)
    t.match(await attemptPasskey(service, authenticator), { status: 400, body: { code: 'passkey_invalid' } })
    t.equal((await owner.get(me)).status, 401)
    t.equal((await service.call('GET', me, { token: key })).status, 401)
    const hire = await service.logIn({ ...owner, email: address, password })
    t.match((await hire.get(me)).body, { email: address, email_verified: true, mfa_enabled: false })
    const { text } = await service.mailTo(address, 'was secured')
    t.match(text, 'by a link to reset the password')
    const { results } = await expect(200, hire.get('/api/v1/auth/otp/devices/'))
    t.match(results, [{ type: 'email' }])
    await expect(200, hire.post('/api/v1/auth/otp/email/send/', {}))
    await service.mailTo(address, 'Bailiwick sign-in code')
  },
)

t.test(
  'mails to an address that was not proven yet do not greet by the name that the account was given',
  async (t) => {
    const spam = 'Win at evil.example'
    const squatter = await service.signUp({ first_name: spam })
    const { email } = squatter
    await expect(200, squatter.post('/api/v1/auth/otp/email/send/', {}))
    const code = await service.mailTo(email, 'Bailiwick sign-in code')
    await expect(200, post('magic-link', { email }))
    const link = await service.mailTo(email, 'Someone asked to sign in')
    await reset(email)
    const mails = [
      code,
      link,
      await service.mailTo(email, 'Reset'),
      await service.mailTo(email, 'was secured'),
    ]
    for (const { text } of mails) t.match(text, /^Hello,/)
    await expect(200, post('password/reset', { email }))
    t.match(
      await service.mailTo(email, `Hello ${spam}`),
      { subject: 'Reset your Bailiwick password' },
      'but now they do',
    )
  },
)

t.test('a link to log in does so too, and removes the password', async (t) => {
  const address = 'second.hire@corp.example'
  const { owner, authenticator, key } = await trojan(address)
  const access = await magicLink(address)
  t.same(strengthOf({ body: { access } } as never), { acr: 'aal1', amr: ['email'] })
  t.match(await attemptLogin(service, { ...owner, email: address }), { status: 401 })
  t.match(await attemptPasskey(service, authenticator), { status: 400 })
  t.equal((await owner.get(me)).status, 401)
  t.equal((await service.call('GET', me, { token: key })).status, 401)
  t.match(await service.mailTo(address, 'was secured'), { text: /To sign in with a password, reset it/ })
})

t.test('after the first proof a login leads to a fresh tenant, and to others only by choice', async (t) => {
  for (const prove of [reset, magicLink]) {
    const squatter = await service.signUp()
    const { email, tenantId: home } = squatter
    const trap = await expect(201, squatter.post('/api/v1/tenants/', { name: 'Trap' }))
    await squatter.switchTo(trap.id)
    const firm = await foundFirm(service)
    await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: squatter.id }))
    const given = await prove(email)
    if (!given) t.match((await attemptLogin(service, squatter)).status, 401)
    else await reset(email)
    const hire = await service.logIn({ ...squatter, password })
    const fresh = entered(hire.access)
    if (given) t.equal(entered(given), fresh)
    t.notOk([home, trap.id, firm.id].includes(fresh))
    t.same((await names(hire)).sort(), [fresh, home, trap.id, firm.id].sort())
    t.match(await service.mailTo(email, 'was secured'), { text: /“Trap”.*“Firm”/ })

    await hire.switchTo(fresh)
    await expect(204, hire.delete(`/api/v1/tenants/${fresh}/`))
    const next = entered((await expect(200, attemptLogin(service, { email, password }))).access)
    t.notOk([home, trap.id, firm.id, fresh].includes(next), 'another tenant of their own')
    const chosen = await attemptLogin(service, { email, password }, { tenant_id: firm.id })
    t.equal(entered(chosen.body.access), firm.id)
    t.equal(entered((await attemptLogin(service, { email, password })).body.access), firm.id, 'once chosen')
  }
})

t.test(
  'a login enters a tenant that the person joined after the first proof, if they have no other',
  async (t) => {
    const person = await service.signUp()
    await reset(person.email)
    const proven = { email: person.email, password }
    const fresh = await service.logIn({ ...person, ...proven })
    const firm = await foundFirm(service)
    service.advance(60_000)
    await expect(201, firm.owner.post(`${firm.path}/members/`, { user_id: person.id }))
    await expect(204, fresh.delete(`/api/v1/tenants/${entered(fresh.access)}/`))
    t.equal(entered((await expect(200, attemptLogin(service, proven))).access), firm.id)
  },
)

t.test(
  'after the first proof no owner of a tenant from before can act as the person who has not entered it',
  async (t) => {
    const person = await service.logIn(await longProven(service))
    const firm = await foundFirm(service)
    await expect(
      201,
      firm.owner.post(`${firm.path}/invitations/`, { email: person.email, roles: ['member'] }),
    )
    const token = tokenIn(await service.mailTo(person.email, 'invited'))
    const { member } = await expect(200, person.post('/api/v1/invitations/accept/', { token }))
    const address = 'third.hire@corp.example'
    await expect(200, person.patch(me, { email: address }))
    service.advance(60_000)
    await reset(address)
    const { secret } = await enrol(service, firm.owner)
    const code = codeAt(secret, service.now(), 1)
    await expect(200, firm.owner.post('/api/v1/auth/otp/verify/', { code }))
    const act = () =>
      firm.owner.post(`${firm.path}/members/${member.id}/impersonate/`, {
        reason: 'A reason that is long enough',
      })
    t.match(await act(), { status: 403, body: { code: 'impersonation_not_allowed' } })
    await expect(200, attemptLogin(service, { email: address, password }, { tenant_id: firm.id }))
    t.equal((await act()).status, 200)
  },
)

t.test(
  'after the first proof the log of a tenant from before shows nothing of resets and links',
  async (t) => {
    const squatter = await service.signUp()
    const { email, tenantId } = squatter
    await reset(email)
    service.advance(60_000)
    const fresh = entered(await magicLink(email))
    await post('login', { email, password: 'not the password' })
    const rows = await look(
      service,
      `select tenant_id, action from audit_log where tenant_id = any($1) and action = 'magic_link:confirm'`,
      [[tenantId, fresh]],
    )
    t.same(rows, [{ tenant_id: fresh, action: 'magic_link:confirm' }])
    t.notOk((await eventsOf(service, tenantId, 'identity.login_failed')).length)
    t.equal((await eventsOf(service, fresh, 'identity.login_failed')).length, 1)
  },
)

t.test('the log of a tenant from before does not show from where the mailbox was proved', async (t) => {
  const squatter = await service.signUp()
  await reset(squatter.email)
  const rows = await look(
    service,
    `select action, ip, user_agent from audit_log
     where tenant_id = $1 and action in ('password:reset', 'email_verification:confirm') order by action`,
    [squatter.tenantId],
  )
  t.same(rows, [
    { action: 'email_verification:confirm', ip: '', user_agent: '' },
    { action: 'password:reset', ip: '', user_agent: '' },
  ])
})

t.test(
  'an invitation to the own address that a live session accepts proves it and clears nothing',
  async (t) => {
    const firm = await foundFirm(service)
    const ada = await service.signUp()
    await enrol(service, ada)
    await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email: ada.email, roles: ['member'] }))
    const token = tokenIn(await service.mailTo(ada.email, 'invited'))
    await expect(200, ada.post('/api/v1/invitations/accept/', { token }))
    t.match((await ada.get(me)).body, { email_verified: true, mfa_enabled: true })
  },
)

const confirmed = async (email: string, about: string) =>
  expect(200, post('email/verify/confirm', { token: tokenIn(await service.mailTo(email, about)) }))

t.test(
  'the old address undoes a change also after the new one was proven, and takes with it what came since',
  async (t) => {
    for (const prove of [reset, (email: string) => confirmed(email, 'someone asked')]) {
      const address = `hire.${prove === reset ? 'one' : 'two'}@corp.example`
      const { owner, authenticator } = await trojan(address)
      service.advance(60_000)
      await prove(address)
      const known = prove === reset ? password : owner.password
      const firm = await foundFirm(service)
      await expect(201, firm.owner.post(`${firm.path}/invitations/`, { email: address, roles: ['member'] }))
      const hire =
        prove === reset
          ? await service.logIn({ ...owner, email: address, password: known })
          : Object.assign(owner, (await attemptPasskey(service, authenticator)).body)
      const token = tokenIn(await service.mailTo(address, 'invited'))
      await expect(200, hire.post('/api/v1/invitations/accept/', { token }))
      const own = await expect(201, hire.post('/api/v1/tenants/', { name: 'Own firm' }))
      const { key } = await expect(201, hire.post('/api/v1/users/me/keys/', { name: 'k' }))
      const later = await registerPasskey(service, hire)

      const undo = tokenIn(await service.mailTo(owner.email, 'address was changed'))
      await expect(200, post('email/undo', { token: undo }))
      t.equal((await hire.get(me)).status, 401)
      t.equal((await service.call('GET', me, { token: key })).status, 401)
      t.match(await attemptPasskey(service, later.authenticator), { status: 400 })
      const { results } = await expect(200, firm.owner.get(`${firm.path}/members/?user_id=${owner.id}`))
      t.same(results, [])
      t.ok((await eventsOf(service, firm.id)).includes('tenant.member_removed'))
      const back = await (async () => {
        if (prove !== reset) return Object.assign(owner, (await attemptPasskey(service, authenticator)).body)
        const taken = await attemptLogin(service, { email: owner.email, password: known })
        t.match(taken, { status: 401 }, 'the password that the newer mailbox chose is gone')
        await reset(owner.email)
        return service.logIn({ ...owner, password })
      })()
      const tenants = await names(back)
      for (const id of [firm.id, own.id]) t.notOk(tenants.includes(id))
      t.match(await look(service, 'select status, deleted_at from tenants where id = $1', [own.id]), [
        { status: 'archived', deleted_at: null },
      ])

      const { text } = await service.mailTo(address, 'was undone')
      t.match(text, 'Ask the operator of this service to make this address its owner.')
      await createAdmin(service.deps, operator, {
        email: address,
        firstName: 'New',
        lastName: 'Hire',
        tenant: own.slug,
        password: async () => password,
        takeOver: true,
      })
      const anew = await service.logIn({ ...owner, email: address, password })
      t.not(anew.id, owner.id)
      await anew.switchTo(own.id)
      t.match(await anew.post(`/api/v1/tenants/${own.id}/activate/`), { body: { status: 'active' } })
    }
  },
)
