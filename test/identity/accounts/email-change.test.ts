import pg from 'pg'
import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Client, claimsOf, loginOf, startService, tokenIn } from '../../helpers/service.ts'
import { expect } from '../../tenancy/staff.ts'
import { codeAt, codeIn, enrol, longProven, requireMfa } from '../otp/authenticator.ts'

const service = await startService(t)
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const minute = 60_000
const hour = 60 * minute
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const confirm = (token: string) => post('email/verify/confirm', { token })
const updates = async (client: Client) =>
  (
    await superuser.query("select from events where type = 'identity.user_updated' and subject = $1", [
      client.id,
    ])
  ).rowCount

t.test(
  'a new address takes effect at once, unverified; the old one gets a mail, and its links stop working',
  async (t) => {
    const ada = await service.signUp({ first_name: 'Ada' })
    await proveAddress(service, ada)
    const { body: tenant } = await ada.post('/api/v1/tenants/', { name: 'Second' })
    const old = tokenIn(await service.mailTo(ada.email, 'Confirm'))
    await post('password/reset', { email: ada.email })
    const reset = tokenIn(await service.mailTo(ada.email, 'Reset'))
    const email = `moved.${ada.email}`
    const answer = await ada.patch('/api/v1/users/me/', { email: ` ${email.toUpperCase()} ` })
    t.match(answer, { status: 200, body: { email, email_verified: false, first_name: 'Ada' } })
    t.match(await service.mailTo(ada.email, 'address was changed'), { text: new RegExp(email) })
    t.match(await confirm(old), { status: 400, body: { code: 'token_invalid' } })
    t.match(await post('password/reset/confirm', { token: reset, password: 'a new harbour' }), {
      status: 400,
    })
    const copies = await superuser.query('select distinct email from memberships where user_id = $1', [
      ada.id,
    ])
    t.same(copies.rows, [{ email }])
    t.equal(await updates(ada), 1)
    await ada.switchTo(tenant.id)
    t.equal(claimsOf(ada.access).email, email)
    t.match((await ada.get(`/api/v1/users/${ada.id}/`)).body, { email })
    t.equal((await confirm(tokenIn(await service.mailTo(email, 'Confirm')))).status, 200)
    t.match((await ada.get('/api/v1/users/me/')).body, { email_verified: true })
    t.equal((await post('login', loginOf(ada))).status, 401)
    t.equal((await post('login', { ...loginOf(ada), email })).status, 200)
  },
)

t.test('users/<id> changes only the caller’s own address', async (t) => {
  const ada = await service.signUp()
  const bob = await service.signUp()
  const email = `moved.${ada.email}`
  t.match(await ada.put(`/api/v1/users/${ada.id}/`, { email }), { status: 200, body: { id: ada.id, email } })
  t.equal((await ada.put(`/api/v1/users/${bob.id}/`, { email: 'x@example.com' })).status, 403)
  t.match((await bob.get('/api/v1/users/me/')).body, { email: bob.email })
})

t.test(
  '15 minutes after the sign-in a change needs the password; an unchanged address does not',
  async (t) => {
    const ada = await service.signUp()
    service.advance(14 * minute)
    const { body } = await post('refresh', { refresh: ada.refresh })
    Object.assign(ada, body)
    service.advance(2 * minute)
    const email = `moved.${ada.email}`
    const refused = await ada.put('/api/v1/users/me/', { email, first_name: 'Changed' })
    t.match(refused, {
      status: 401,
      body: { code: 'insufficient_user_authentication', acr_values: 'aal1', max_age: 900 },
    })
    t.match(refused.headers.get('www-authenticate'), 'error="insufficient_user_authentication"')
    t.match((await ada.get('/api/v1/users/me/')).body, { email: ada.email, first_name: 'Test' })
    t.match(await ada.put('/api/v1/users/me/', { email, current_password: 'not this one' }), {
      status: 400,
      body: { current_password: [String] },
    })
    const same = await ada.put('/api/v1/users/me/', { email: ada.email.toUpperCase(), first_name: 'Changed' })
    t.match(same, { status: 200, body: { email: ada.email, first_name: 'Changed' } })
    t.equal(await updates(ada), 1)
    t.equal((await ada.put('/api/v1/users/me/', { email: ada.email, first_name: 'Changed' })).status, 200)
    t.equal(await updates(ada), 1, 'no change and no event')
    t.match(await ada.put('/api/v1/users/me/', { email, current_password: ada.password }), {
      status: 200,
      body: { email },
    })
  },
)

t.test('an address of another account is refused, and no part of the change is stored', async (t) => {
  const ada = await service.signUp()
  const bob = await service.signUp()
  const taken = await ada.patch('/api/v1/users/me/', { email: bob.email.toUpperCase(), first_name: 'New' })
  t.match(taken, { status: 400, body: { email: [String], errors: [{ field: 'email', code: 'taken' }] } })
  t.match((await ada.get('/api/v1/users/me/')).body, { email: ada.email, first_name: 'Test' })
  const both = await Promise.all(
    [ada, bob].map((client) => client.patch('/api/v1/users/me/', { email: 'wanted.by.two@example.com' })),
  )
  t.same(both.map((answer) => answer.status).sort(), [200, 400])
})

t.test('a parallel change of names does not bring the old address back', async (t) => {
  for (let round = 0; round < 10; round++) {
    const ada = await service.signUp()
    const email = `moved.${ada.email}`
    const answers = await Promise.all([
      ada.patch('/api/v1/users/me/', { email }),
      ada.patch('/api/v1/users/me/', { first_name: 'Other' }),
      ada.put('/api/v1/users/me/', { last_name: 'Name' }),
    ])
    t.same(
      answers.map((answer) => answer.status),
      [200, 200, 200],
    )
    t.match((await ada.get('/api/v1/users/me/')).body, { email, first_name: 'Other', last_name: 'Name' })
  }
})

t.test('read-only fields are ignored', async (t) => {
  const ada = await service.signUp()
  await ada.patch('/api/v1/users/me/', {
    id: '00000000-0000-7000-8000-000000000000',
    is_active: false,
    email_verified: true,
    first_name: 'Still',
  })
  t.match(await ada.patch('/api/v1/users/me/', { password_hash: 'x', first_name: 'Other' }), { status: 400 })
  t.match((await ada.get('/api/v1/users/me/')).body, {
    id: ada.id,
    is_active: true,
    email_verified: false,
    first_name: 'Still',
  })
  t.equal((await post('login', loginOf(ada))).status, 200)
})

const me = '/api/v1/users/me/'
const undo = (token: string) => post('email/undo', { token })
const dead = { status: 400, body: { code: 'token_invalid' } }
const undoLink = async (email: string) => tokenIn(await service.mailTo(email, 'address was changed'))
const move = (client: Client, email: string) => expect(200, client.patch(me, { email }))
const sendCode = (token: string) =>
  expect(200, service.call('POST', '/api/v1/auth/otp/email/send/', { token, body: {} }))

t.test(
  'for a day after a change codes go to the old address, so a thief with the password gets none',
  async (t) => {
    const owner = await longProven(service)
    const thief = await service.logIn(owner)
    const strict = await expect(201, thief.post('/api/v1/tenants/', { name: 'Strict' }))
    await requireMfa(service, strict.id)
    const [first, second] = [`thief.${owner.email}`, `thief.too.${owner.email}`]
    await move(thief, first)
    await move(thief, second)
    const asked = await thief.post('/api/v1/auth/switch-tenant/', { tenant_id: strict.id })
    t.match(asked, { status: 401, body: { code: 'otp_required' } })
    const token = asked.body.temporary_token
    await sendCode(token)
    const code = codeIn(await service.mailTo(owner.email, 'Bailiwick sign-in code'))
    const { rows } = await superuser.query(
      "select from captured_mails where recipient = any($1) and subject ~ 'code'",
      [[first, second]],
    )
    t.equal(rows.length, 0)
    const shown = await service.call('POST', '/api/v1/auth/otp/verify/', { token, body: { code } })
    t.match(
      shown,
      { status: 200, body: { access: String } },
      'a code from the old address still completes a sign-in',
    )
    const verified = await service.call('GET', me, { token: shown.body.access })
    t.match(verified.body, { email: second, email_verified: false }, 'but does not verify the new address')

    service.advance(24 * hour)
    const later = await service.logIn({ ...owner, email: second })
    await sendCode(later.access)
    await service.mailTo(second, 'Bailiwick sign-in code')
  },
)

t.test('an old address that was never verified gets no mail', async (t) => {
  const ada = await service.signUp()
  const email = `moved.${ada.email}`
  await move(ada, email)
  await sendCode(ada.access)
  await service.mailTo(email, 'Bailiwick sign-in code')
  const { rows } = await superuser.query('select subject from captured_mails where recipient = $1', [
    ada.email,
  ])
  t.same(rows, [{ subject: 'Confirm your e-mail address for Bailiwick' }])
})

t.test(
  'the link at the old address undoes the change, once, and ends the thief’s sessions and factors',
  async (t) => {
    const owner = await longProven(service)
    const thief = await service.logIn(owner)
    const email = `thief.${owner.email}`
    await move(thief, email)
    await enrol(service, thief)
    await post('password/reset', { email })
    const reset = tokenIn(await service.mailTo(email, 'Reset'))
    const mail = await service.mailTo(owner.email, 'address was changed')
    t.equal((await fetch(/http\S+/.exec(mail.text)![0])).status, 200, 'its page uses nothing up')
    const token = tokenIn(mail)
    const factorLink = tokenIn(await service.mailTo(owner.email, 'factor was added'))
    for (const other of [factorLink, reset, 'x', `${token}x`]) t.match(await undo(other), dead)
    t.match(await post('otp/undo', { token }), dead)

    const answers = await Promise.all(Array.from({ length: 50 }, () => undo(token)))
    t.equal(answers.filter(({ status }) => status === 200).length, 1)
    for (const answer of answers.filter(({ status }) => status !== 200)) t.match(answer, dead)
    t.match(await thief.get(me), { status: 401, body: { code: 'session_revoked' } })
    t.equal((await post('login', { ...owner, email })).status, 401)
    t.match(await post('password/reset/confirm', { token: reset, password: 'a new harbour' }), dead)
    t.match(await confirm(tokenIn(await service.mailTo(email, 'Confirm'))), dead)
    const back = await service.logIn(owner)
    t.match((await back.get(me)).body, { email: owner.email, email_verified: true, mfa_enabled: false })
    t.match((await back.get(`/api/v1/users/${back.id}/`)).body, { email: owner.email }, 'also in the list')
    const { results } = await expect(200, back.get('/api/v1/audit-log/?action=profile:undo'))
    t.match(results, [{ changes: { email: { before: email, after: owner.email } } }])
    t.equal(await updates(back), 2)
  },
)

t.test(
  'the link also removes an app that was confirmed after the change, though its set-up began before',
  async (t) => {
    const owner = await longProven(service)
    const thief = await service.logIn(owner)
    const { secret } = await expect(200, thief.post('/api/v1/auth/otp/totp/setup/', {}))
    service.advance(minute)
    await move(thief, `thief.${owner.email}`)
    const code = codeAt(secret, service.now())
    await expect(200, thief.post('/api/v1/auth/otp/totp/confirm/', { code }))
    service.advance(25 * hour)
    await expect(200, undo(await undoLink(owner.email)))
    t.match((await (await service.logIn(owner)).get(me)).body, { mfa_enabled: false })
  },
)

t.test(
  'the link takes the old address from an account that never proved it, but from no other account',
  async (t) => {
    for (const proven of [false, true]) {
      const owner = await longProven(service)
      const thief = await service.logIn(owner)
      await move(thief, `thief.${owner.email}`)
      const squatter = await service.signUp(proven ? {} : { email: owner.email })
      if (proven) await move(squatter, owner.email)
      if (proven) await expect(200, confirm(tokenIn(await service.mailTo(owner.email, 'someone asked'))))
      const answer = await undo(await undoLink(owner.email))
      if (proven) {
        t.match(answer, dead)
        t.equal((await squatter.get(me)).status, 200)
      } else {
        t.equal(answer.status, 200)
        t.equal((await squatter.get(me)).status, 401, 'the account is deleted, as by “This was not me”')
        t.match((await (await service.logIn(owner)).get(me)).body, { id: owner.id, email_verified: true })
      }
    }
  },
)

t.test('links of earlier changes stay valid after later ones are used, and last 72 hours', async (t) => {
  const owner = await longProven(service)
  const thief = await service.logIn(owner)
  const [second, third] = [`second.${owner.email}`, `third.${owner.email}`]
  await move(thief, second)
  await expect(200, confirm(tokenIn(await service.mailTo(second, 'Confirm'))))
  await move(thief, third)
  const [ours, theirs] = [await undoLink(owner.email), await undoLink(second)]
  t.equal((await undo(theirs)).status, 200, 'the thief undoes the last change')
  const again = await service.logIn({ ...owner, email: second })
  service.advance(1_000)
  await move(again, `fourth.${owner.email}`)
  const { rows } = await superuser.query(
    "select count(*)::int as alive from link_tokens where user_id = $1 and purpose = 'email_undo' and used_at is null",
    [owner.id],
  )
  t.match(rows, [{ alive: 2 }])
  service.advance(72 * hour - 1_001)
  t.equal((await undo(ours)).status, 200)
  const left = await superuser.query(
    "select from link_tokens where user_id = $1 and purpose = 'email_undo' and used_at is null",
    [owner.id],
  )
  t.equal(left.rowCount, 0, 'the link of the later change ended with it')
  t.match(await undo(theirs), dead)
  const back = await service.logIn(owner)
  await superuser.query('delete from captured_mails where recipient = $1', [owner.email])
  await move(back, second)
  const late = await undoLink(owner.email)
  service.advance(72 * hour)
  t.match(await undo(late), { status: 400, body: { code: 'token_expired' } })
})
