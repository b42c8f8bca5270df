import pg from 'pg'
import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { deleteMemberships } from '../../helpers/query.ts'
import { loginOf, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

const service = await sharedService(t)
const superuser = new pg.Client({ connectionString: service.databases.superuser })
await superuser.connect()
t.teardown(() => superuser.end())

const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const events = async (userId: string) =>
  (await superuser.query('select type, tenant_id from events where subject = $1 order by id', [userId])).rows
const minute = 60_000

t.test('a changed password works, the old one does not, and only this session stays', async (t) => {
  const ada = await service.signUp()
  const other = await service.logIn(ada)
  await post('password/reset', { email: ada.email })
  const reset = tokenIn(await service.mailTo(ada.email, 'Reset'))
  await proveAddress(service, ada)
  const change = { current_password: ada.password, new_password: 'another quiet harbour' }
  t.match(await ada.post('/api/v1/auth/password/change/', change), {
    status: 200,
    body: { message: 'Password changed' },
  })
  t.equal((await ada.get('/api/v1/users/me/')).status, 200)
  t.match(await other.get('/api/v1/users/me/'), { status: 401, body: { code: 'session_revoked' } })
  t.match(await post('refresh', { refresh: other.refresh }), {
    status: 401,
    body: { code: 'session_revoked' },
  })
  t.match(await post('login', loginOf(ada)), { status: 401, body: { code: 'invalid_credentials' } })
  t.equal((await post('login', { ...loginOf(ada), password: change.new_password })).status, 200)
  t.match(await post('password/reset/confirm', { token: reset, password: 'yet another harbour' }), {
    status: 400,
    body: { code: 'token_invalid' },
  })
  t.match(await service.mailTo(ada.email, 'password was changed'), { text: /sessions were ended/ })
  const types = (await events(ada.id)).filter((event) => event.tenant_id === ada.tenantId).map((e) => e.type)
  t.equal(types.filter((type) => type === 'identity.password_changed').length, 1)
  t.equal(types.filter((type) => type === 'identity.session_revoked').length, 1)
})

t.test('a wrong current password, a weak new one and a missing field change nothing', async (t) => {
  const ada = await service.signUp({ first_name: 'Augusta-Ada' })
  const change = (body: unknown) => ada.post('/api/v1/auth/password/change/', body)
  const current_password = ada.password
  t.match(await change({ current_password: 'wrong wrong', new_password: 'another quiet harbour' }), {
    status: 400,
    body: { code: 'validation_error', current_password: [String] },
  })
  for (const new_password of ['password1', 'PassWord1', 'short', 'Augusta-Ada', ada.email, 'x'.repeat(129)])
    t.match(await change({ current_password, new_password }), {
      status: 400,
      body: { new_password: [String] },
    })
  t.match(await change({ new_password: 'another quiet harbour' }), {
    status: 400,
    body: { current_password: [String] },
  })
  t.equal((await post('login', loginOf(ada))).status, 200)
})

t.test('of two parallel changes one wins', async (t) => {
  const ada = await service.signUp()
  const answers = await Promise.all(
    ['first new harbour', 'second new harbour'].map((new_password) =>
      ada.post('/api/v1/auth/password/change/', { current_password: ada.password, new_password }),
    ),
  )
  t.same(answers.map((answer) => answer.status).sort(), [200, 400])
})

t.test('a reset sets the password once, ends every session, and verifies the address', async (t) => {
  const ada = await service.signUp()
  const asked = await post('password/reset', { email: ` ${ada.email.toUpperCase()} ` })
  t.match(asked, { status: 200, body: { message: /^If this address has an account/ } })
  t.equal(asked.headers.get('cache-control'), 'no-store')
  const mail = await service.mailTo(ada.email, 'Reset')
  t.match(mail.text, `${service.url}/reset-password?token=`)
  const confirm = (password: string, token = tokenIn(mail)) =>
    post('password/reset/confirm', { token, password })
  t.match(await confirm('password1'), { status: 400, body: { password: [String] } })
  t.match(await confirm(ada.email), { status: 400, body: { password: [String] } })
  const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => confirm(`a harbour number ${n}`)))
  t.equal(answers.filter((answer) => answer.status === 200).length, 1, 'one of five parallel resets')
  t.equal(answers.filter((answer) => answer.body.code === 'token_invalid').length, 4)
  const won = answers.findIndex((answer) => answer.status === 200) + 1
  t.same(answers[won - 1]!.body, { message: 'Password changed' }, 'the reset logs no person in')
  t.match(await confirm('a new harbour'), { status: 400, body: { code: 'token_invalid' } })
  t.match(await ada.get('/api/v1/users/me/'), { status: 401, body: { code: 'session_revoked' } })
  t.equal((await post('login', loginOf(ada))).status, 401)
  const again = await service.logIn({ ...ada, password: `a harbour number ${won}` })
  t.match((await again.get('/api/v1/users/me/')).body, { email_verified: true })
  const types = (await events(ada.id)).map((event) => event.type)
  for (const type of ['identity.password_changed', 'identity.email_verified', 'identity.session_revoked'])
    t.equal(types.filter((found) => found === type).length, 1, type)
  await service.mailTo(ada.email, 'was secured')
})

t.test('a reset answers the same for an unknown and an inactive address, and mails neither', async (t) => {
  const ada = await service.signUp()
  const gone = await service.signUp()
  await superuser.query('update users set is_active = false where id = $1', [gone.id])
  const before = (await superuser.query("select from link_tokens where purpose = 'password_reset'")).rowCount!
  const masked = async (email: string) => {
    const { status, body, headers } = await post('password/reset', { email })
    const names = [...headers.keys()].filter((name) => name !== 'date').sort()
    return { status, body, names, length: headers.get('content-length') }
  }
  const known = await masked(ada.email)
  t.same(await masked('nobody.at.all@example.com'), known)
  t.same(await masked(gone.email), known)
  const after = (await superuser.query("select from link_tokens where purpose = 'password_reset'")).rowCount!
  t.equal(after - before, 1)
  t.match(await post('password/reset', { email: 'no address' }), { status: 400, body: { email: [String] } })
})

t.test('a reset token expires after an hour, and using one ends the others', async (t) => {
  const ada = await service.signUp()
  await post('password/reset', { email: ada.email })
  const first = tokenIn(await service.mailTo(ada.email, 'Reset'))
  await superuser.query('delete from captured_mails where recipient = $1', [ada.email])
  await post('password/reset', { email: ada.email })
  const second = tokenIn(await service.mailTo(ada.email, 'Reset'))
  t.not(first, second)
  service.advance(59 * minute)
  t.equal((await post('password/reset/confirm', { token: first, password: 'a third harbour' })).status, 200)
  t.match(await post('password/reset/confirm', { token: second, password: 'a third harbour' }), {
    status: 400,
    body: { code: 'token_invalid' },
  })
  await superuser.query('delete from captured_mails where recipient = $1', [ada.email])
  await post('password/reset', { email: ada.email })
  const late = tokenIn(await service.mailTo(ada.email, 'Reset'))
  service.advance(61 * minute)
  t.match(await post('password/reset/confirm', { token: late, password: 'a fourth harbour' }), {
    status: 400,
    body: { code: 'token_expired' },
  })
  for (const token of ['x', `${late}x`, late.slice(1)])
    t.match(await post('password/reset/confirm', { token, password: 'a fourth harbour' }), {
      status: 400,
      body: { code: 'token_invalid' },
    })
})

t.test('a token for one purpose does not work for another', async (t) => {
  const ada = await service.signUp()
  const verify = tokenIn(await service.mailTo(ada.email, 'Confirm'))
  await post('password/reset', { email: ada.email })
  const reset = tokenIn(await service.mailTo(ada.email, 'Reset'))
  t.match(await post('password/reset/confirm', { token: verify, password: 'a new harbour' }), { status: 400 })
  t.match(await post('email/verify/confirm', { token: reset }), { status: 400 })
  t.equal((await post('email/verify/confirm', { token: verify })).status, 200)
})

t.test('a person removed from every tenant can still reset their password', async (t) => {
  const ada = await service.signUp()
  await deleteMemberships(superuser, ada.id)
  await post('password/reset', { email: ada.email })
  const token = tokenIn(await service.mailTo(ada.email, 'Reset'))
  t.equal((await post('password/reset/confirm', { token, password: 'a new harbour' })).status, 200)
  t.equal((await post('login', { email: ada.email, password: 'a new harbour' })).status, 200)
})
